"""Turns at a registry: when the next image may be pulled, so that none is asked for more a minute than it bears."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from typing import Protocol

__all__ = ["PULLS_PER_MINUTE", "OwnTurns", "PullTurns"]

PULLS_PER_MINUTE: int = 60
"""Of one registry. Only what is not here is pulled at all."""
_MINUTE = 60.0


class PullTurns(Protocol):
    """Counts the pulls of everybody who shares a registry's limit."""

    async def take(self, registry: str) -> float:
        """Seconds after which to ask again; 0: it is your turn, and that is counted. To wait costs nobody anything."""
        ...


class OwnTurns:
    """Implements ``PullTurns`` for this process alone, where there is no database to share."""

    def __init__(self) -> None:
        self._pulls: defaultdict[str, deque[float]] = defaultdict(deque)

    async def take(self, registry: str) -> float:
        """See the port."""
        pulls, now = self._pulls[registry], time.monotonic()
        while pulls and pulls[0] <= now - _MINUTE:
            pulls.popleft()
        if len(pulls) >= PULLS_PER_MINUTE:
            return pulls[0] + _MINUTE - now
        pulls.append(now)
        return 0.0
