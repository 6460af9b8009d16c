"""When a call is tried again, and after how long."""

from __future__ import annotations

import random

from proctor.models.calls import End

__all__ = ["AGAIN", "ELSEWHERE", "TRIES", "wait_before"]

TRIES: int = 4
"""Of one model: what a moment's trouble is got over by."""
WAITS_SEC: tuple[float, ...] = (1.0, 4.0, 16.0)
"""Between them, as elsewhere in Proctor, where the provider says nothing."""
JITTER: float = 0.2
LONGEST_SEC: float = 60.0
"""What a provider may ask to wait; asked for longer, the call fails and its cell waits in its lane, holding no slot."""

AGAIN: frozenset[End] = frozenset({End.RATE_LIMIT, End.UNAVAILABLE})
"""What another try may help with."""
ELSEWHERE: frozenset[End] = AGAIN | {End.AUTH, End.MODEL_UNKNOWN}
"""What a declared fallback may help with."""


def wait_before(number: int, said_sec: float | None) -> float | None:
    """Seconds before try ``number`` (2 is the first that is one again); ``None``: it is not made.

    ``said_sec``: what the provider said.
    """
    if number > TRIES:
        return None
    wait = WAITS_SEC[min(number - 2, len(WAITS_SEC) - 1)] * (1 + JITTER * random.uniform(-1, 1))  # noqa: S311
    wait = max(wait, said_sec) if said_sec is not None and said_sec > WAITS_SEC[0] else (said_sec or wait)
    return wait if wait <= LONGEST_SEC else None
