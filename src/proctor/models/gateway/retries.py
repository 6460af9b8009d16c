"""When a call is tried again, and after how long."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from proctor.models.calls import End

__all__ = ["AGAIN", "ELSEWHERE", "TRIES", "retry_after", "wait_before"]

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


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that an answer says to wait (``retry-after-ms``, ``retry-after`` as seconds or a date, RFC 9110 10.2.3);
    ``None``: it says nothing that can be meant."""
    said = _number(headers.get("retry-after-ms"))
    if said is not None:
        return said / 1000
    text = headers.get("retry-after")
    if (said := _number(text)) is not None or text is None:
        return said
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, ((then if then.tzinfo else then.replace(tzinfo=UTC)) - now).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None
