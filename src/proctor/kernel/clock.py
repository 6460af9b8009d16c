"""Time as a parameter: UTC and aware for what is stored, monotonic for what is measured."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

__all__ = ["Clock", "FakeClock", "SystemClock"]


class Clock(Protocol):
    """Where the time comes from. Leases are decided by the database's clock, never by this one."""

    def now(self) -> datetime:
        """The wall time, UTC and aware."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        """The wall time, UTC and aware."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()


class FakeClock:
    """A clock that moves only when told, for tests."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._seconds = 0.0

    def now(self) -> datetime:
        """The wall time, UTC and aware."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return self._seconds

    def advance(self, seconds: float) -> None:
        """Move both clocks forward."""
        self._now += timedelta(seconds=seconds)
        self._seconds += seconds
