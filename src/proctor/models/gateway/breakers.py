"""Breakers: a model that fails again and again is not asked for a while, then by one request, which tells.

One per provider and model, in each process. What an attempt that ended so means for others is the engine's to say.
"""

from __future__ import annotations

from dataclasses import dataclass

from proctor.kernel.clock import Clock

__all__ = ["Breakers"]

IN_A_ROW: int = 5
"""Failures without a success in between that open a breaker: fewer are a moment's trouble, which retries get over."""
FIRST_SEC: float = 30.0
LONGEST_SEC: float = 900.0
"""It stays open for half a minute, doubling to a quarter of an hour."""


@dataclass
class _State:
    failures: int = 0
    opened: int = 0
    closed_until: float = 0.0
    probing: bool = False


class Breakers:
    """Of one process; used from one loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._states: dict[str, _State] = {}

    def wait_of(self, model: str) -> float:
        """Seconds until a model may be asked; 0: now, and then whoever asks has to say how it went."""
        state = self._states.get(model)
        if state is None or not state.opened:
            return 0.0
        left = state.closed_until - self._clock.monotonic()
        if left > 0:
            return left
        if state.probing:
            return 1.0
        state.probing = True
        return 0.0

    def worked(self, model: str) -> None:
        """It answered."""
        self._states.pop(model, None)

    def unknown(self, model: str) -> None:
        """What was asked says nothing of it: the next may find out."""
        if (state := self._states.get(model)) is not None:
            state.probing = False

    def failed(self, model: str, *, retry_after: float | None = None) -> None:
        """It did not answer; ``retry_after``: what it said itself, in seconds."""
        state = self._states.setdefault(model, _State())
        state.failures += 1
        if state.failures < IN_A_ROW and not state.opened:
            return
        rest = retry_after if retry_after is not None else min(LONGEST_SEC, FIRST_SEC * 2**state.opened)
        state.opened, state.probing = state.opened + 1, False
        state.closed_until = self._clock.monotonic() + min(LONGEST_SEC, rest)
