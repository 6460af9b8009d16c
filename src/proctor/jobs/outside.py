"""Models and sandboxes, as the chunks of jobs reach them: opened when the first chunk needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.evaluators.catalogue import Means
from proctor.evaluators.code.rooms import Rooms
from proctor.jobs.orders import Order
from proctor.models.calls import Payer
from proctor.models.gateway.sessions import Declared, Session

if TYPE_CHECKING:
    from proctor.evaluators.interfaces import Embedder
    from proctor.models.gateway.gateway import Gateway

__all__ = ["Asking", "Outside", "Resources", "Unasked"]


ROOMS: int = 2
"""Sandboxes of a worker at once, for targets and evaluators together: each may take a core."""


class Unasked(Exception):
    """Some examples could not be asked, or some outputs not judged, now; what was answered is kept."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How models are asked for tenants. ``keys``: values of a provider's keys that a tenant has, by name."""

    gateway: Gateway
    keys: Callable[[UUID, str], Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What jobs may use in this process. ``rooms``: sandboxes, of a tenant's."""

    asking: Callable[[], Asking]
    rooms: Callable[[UUID], Rooms]


class Outside:
    """Used from one event loop. ``resources`` ``None``: nothing may be used here."""

    def __init__(self, resources: Resources | None) -> None:
        self._resources = resources
        self.turns = asyncio.Semaphore(ROOMS)
        """Of sandboxes."""
        self._asking: Asking | None = None

    @property
    def gateway(self) -> Gateway:
        """Asks models. Raises ``Unasked``."""
        return self._opened().gateway

    def session(self, order: Order, models: Sequence[str]) -> Session:
        """A session for a job's calls of the first of these models, the others in its place. Raises ``Unasked``."""
        asking, tenant = self._opened(), order.place.tenant
        keys: dict[str, str] = {}
        for model in models:
            keys |= asking.keys(tenant, model)
        payer = Payer(tenant=tenant, user=order.creator, job=order.place.job)
        return Session(payer, Declared(model=models[0], fallbacks=tuple(models[1:])), keys)

    def means(self, order: Order) -> Means:
        """What a job's evaluators may use."""

        def embedder(model: str) -> Embedder:
            from proctor.evaluators.embeddings.remote import GatewayEmbedder

            return GatewayEmbedder(self.gateway, self.session(order, [model]))

        return Means(rooms=lambda: self.rooms(order.place.tenant), embedder=embedder)

    def rooms(self, tenant: UUID) -> Rooms:
        """Sandboxes. Raises ``Unasked``."""
        return self._allowed().rooms(tenant)

    def close(self) -> None:
        """End; nothing is under way any more."""
        if self._asking is not None:
            self._asking.gateway.close()

    def _opened(self) -> Asking:
        self._asking = self._asking or self._allowed().asking()
        return self._asking

    def _allowed(self) -> Resources:
        if self._resources is None:
            raise Unasked("No model is asked and no sandbox made by this worker.")
        return self._resources
