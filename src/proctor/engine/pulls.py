"""Turns at registries, counted in the database for all workers of all tenants: a registry sees one address."""

from __future__ import annotations

import asyncio
import random
from uuid import UUID

from proctor.database.engine import Database
from proctor.engine.recording import KIND
from proctor.queue import service as queue
from proctor.sandboxes.pulls import PULLS_PER_MINUTE

__all__ = ["SharedTurns"]

AT_ONCE: int = 12
"""So that a small suite's images wait for nothing; the other 48 pulls of a minute come one every 1.25 s."""
APART_SEC: float = 0.5
"""Up to so much longer one who is turned away waits, at random: else the nearest to the database would win each turn.
No turn is lost by it, since one that is taken late does not move the next."""
_PACE = queue.Pace(per_minute=PULLS_PER_MINUTE, at_once=AT_ONCE)


class SharedTurns:
    """Implements ``PullTurns`` over the database."""

    def __init__(self, database: Database, tenant: UUID) -> None:
        """``tenant``: who is shown the wait."""
        self._database, self._tenant = database, tenant

    async def take(self, registry: str) -> float:
        """See the port."""
        wait = await asyncio.to_thread(self._take, f"{queue.PULLS}{registry}")
        return wait + random.uniform(0, APART_SEC) if wait else 0.0  # noqa: S311  no secret

    def _take(self, name: str) -> float:
        return self._database.as_scheduler(lambda c: queue.take_turn(c, self._tenant, KIND, name, _PACE))
