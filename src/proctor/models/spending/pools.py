"""What a process has in hand of budgets, in memory: slices, what of them is free, and who waits for some."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from proctor.models.calls import Payer
from proctor.models.ports import Reservation
from proctor.models.spending.rows import Account, Settlement

__all__ = ["Open", "Pool", "Slice", "Unwritten", "Waiter"]


@dataclass(kw_only=True, eq=False)
class Slice:
    """Of what it has, some is free, some is reserved for calls that run, some is on its way to the database.

    ``amount`` is what the database has it at, always ``free + loose`` and all that is reserved or not yet written.
    """

    id: UUID
    accounts: tuple[Account, ...]
    amount: int
    hard: bool
    drawn_at: float
    used_at: float
    free: int
    loose: int = 0
    """Given back here, and soon there."""
    running: int = 0
    current: bool = True
    taken: int = 0
    """In all."""

    def take(self, nano: int, now: float) -> None:
        """Reserve some of what is free."""
        self.free -= nano
        self.taken += nano
        self.running += 1
        self.used_at = now

    def put(self, nano: int, charged: int) -> int:
        """A call for which so much was reserved has ended, and costs so much; what it takes from the slice with it.

        More than was reserved comes out of what is free, as far as that goes. The rest of a reservation is free again,
        or leaves with the call where the slice is used no more.
        """
        self.running -= 1
        if not self.current:
            return nano
        leaving = min(charged, nano + self.free)
        self.free += nano - leaving
        return leaving

    def retire(self) -> None:
        """Use it no more: what is free goes back."""
        self.current = False
        self.loose += self.free
        self.free = 0


@dataclass(kw_only=True, eq=False)
class Waiter:
    """Somebody who waits for room."""

    payer: Payer
    worst: int | None
    model: str
    deadline: float
    granted: asyncio.Future[Reservation]


@dataclass(kw_only=True, eq=False)
class Pool:
    """What is in hand for one payer: one who comes under the same budgets."""

    slice: Slice | None = None
    waiting: deque[Waiter] = field(default_factory=deque)
    serving: asyncio.Task[None] | None = None
    asked: UUID | None = None
    """A slice of which it is not known whether it was drawn."""

    def has(self, worst: int | None, fresh_since: float) -> bool:
        """Whether there is room at once, in a slice that is not too old to know its limits by."""
        current = self.slice
        return current is not None and current.drawn_at >= fresh_since and (worst or 0) <= current.free

    def retire(self) -> None:
        """Give back what is free."""
        if self.slice is not None:
            self.slice.retire()
            self.slice = None


@dataclass(frozen=True, kw_only=True)
class Open:
    """A call that runs."""

    reservation: Reservation
    slice: Slice
    model: str
    begun_at: datetime


@dataclass(frozen=True, kw_only=True)
class Unwritten:
    """A call that ended and is not in the database yet. ``leaving``: what its slice shrinks by with it."""

    reservation: int
    slice: Slice
    leaving: int
    settlement: Settlement
