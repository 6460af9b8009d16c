"""Who works at once: few threads for answers that take milliseconds, others for those that may take seconds.

Python runs one thread at a time: with many at work each answer waits for all the others, and all cost more. So quick
answers take turns on a few threads, and slow ones have threads of their own, so that none waits for a leaderboard.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache, partial, wraps
from typing import Any, ParamSpec, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter

from proctor.database.engine import POOL_OVERFLOW, POOL_SIZE

__all__ = ["QUICK_THREADS", "slowly"]

P = ParamSpec("P")
T = TypeVar("T")
QUICK_THREADS: int = 5
SLOW_THREADS: int = POOL_SIZE + POOL_OVERFLOW - QUICK_THREADS
"""Together as many as there are connections for them; the others wait for their turn before they take one."""


@cache
def _slow() -> CapacityLimiter:
    """Of this process."""
    return CapacityLimiter(SLOW_THREADS)


def slowly(endpoint: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """A route's function whose answer may take seconds."""

    @wraps(endpoint)
    async def working(*words: P.args, **named: P.kwargs) -> T:
        return await anyio.to_thread.run_sync(partial(endpoint, *words, **named), limiter=_slow())

    return working
