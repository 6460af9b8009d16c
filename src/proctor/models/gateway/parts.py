"""What every call of one gateway shares."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from proctor.kernel.clock import Clock
from proctor.models.cache import ReplyCache
from proctor.models.gateway.breakers import Breakers
from proctor.models.gateway.upstreams import Upstream
from proctor.models.ports import Prices, Rates, Spending
from proctor.models.providers.catalogue import Catalogue, Provider

__all__ = ["GatewayParts"]


@dataclass(frozen=True, kw_only=True)
class GatewayParts:
    """What every call of one gateway shares."""

    catalogue: Catalogue
    prices: Prices
    spending: Spending
    rates: Rates
    upstream: Callable[[Provider], Upstream]
    """The way to a provider."""
    clock: Clock
    breakers: Breakers
    cache: ReplyCache | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits between tries."""
    patience_sec: float = 60.0
    """The longest that a call waits for room in a budget or a rate."""
