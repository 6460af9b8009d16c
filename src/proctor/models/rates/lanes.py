"""What one process has in hand for one key: leave to ask, how much at once, and whether it rests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from proctor.models.ports import RateLimit
from proctor.models.rates.buckets import SLICE_SEC, Grant, KeyName

__all__ = ["Lane"]

FIRST_REST_SEC: float = 1.0
LAST_REST_SEC: float = 60.0
"""Where a provider does not say how long: doubled each time, at most the minute that its limits are counted in."""


@dataclass(kw_only=True, eq=False)
class Lane:
    """One key. Times are the event loop's."""

    key: KeyName
    requests: int = 0
    tokens: float = 0.0
    drawn_at: float = 0.0
    next_draw: float = 0.0
    """There is nothing in the bucket before."""
    rests_until: float = 0.0
    running: int = 0
    at_once: int | None = None
    """How many may run; ``None``: it was never too much."""
    most: int | None = None
    """How many may run, whatever the provider says."""
    done_since: int = 0
    refusals: int = 0
    drawing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def may_start(self, now: float) -> bool:
        """Whether it neither rests nor has as much to do as it bears."""
        return now >= self.rests_until and not self.is_full

    @property
    def is_full(self) -> bool:
        """Whether one has to end before another may start."""
        return _reached(self.running, self.at_once) or _reached(self.running, self.most)

    def has(self, tokens: int, limit: RateLimit, now: float) -> bool:
        """Whether there is leave in hand for a request of so many tokens."""
        if limit.requests is None and limit.tokens is None:
            return True
        if now - self.drawn_at > SLICE_SEC:
            self.requests, self.tokens = 0, min(self.tokens, 0.0)
        enough = limit.tokens is None or self.tokens >= tokens
        return enough and (limit.requests is None or self.requests >= 1)

    def take(self, tokens: int, *, metered: bool) -> None:
        """A request starts; ``metered``: there is a limit that it counts towards."""
        self.running += 1
        if metered:
            self.requests -= 1
            self.tokens -= tokens

    def put(self, grant: Grant, now: float) -> None:
        """What was drawn, beside what is in hand, which is no younger for it."""
        if not grant.requests:
            self.next_draw = now + grant.wait_sec
            return
        if self.requests < 1 and self.tokens <= 0:
            self.drawn_at = now
        self.requests += grant.requests
        self.tokens += grant.tokens
        self.next_draw = 0.0

    def ended(self, off: int) -> None:
        """A request has ended, with so many tokens fewer than estimated; a window of requests without trouble allows
        one more at once."""
        self.running -= 1
        self.tokens += off
        self.refusals = 0
        self.done_since += 1
        if self.at_once is not None and self.done_since >= self.at_once:
            self.at_once += 1
            self.done_since = 0

    def refused(self, seconds: float | None, now: float) -> float:
        """It was too much: half as many at once from now on, after a rest; how long that is.

        Of those that were under way together only the first halves: the others say nothing new.
        """
        self.running -= 1
        if now >= self.rests_until:
            self.at_once = max(1, (self.running + 1) // 2)
            self.done_since = 0
            self.refusals += 1
        pause = seconds or min(LAST_REST_SEC, FIRST_REST_SEC * 2 ** (self.refusals - 1))
        self.rest(pause, now)
        return pause

    def rest(self, seconds: float, now: float) -> None:
        """Ask nothing for so long."""
        self.rests_until = max(self.rests_until, now + seconds)
        self.requests = 0


def _reached(running: int, most: int | None) -> bool:
    return most is not None and running >= most
