"""What this process did with its spans and lines, counted: metrics tell it."""

from __future__ import annotations

import threading
from collections import Counter
from enum import StrEnum

__all__ = ["Tally", "count", "counts"]


class Tally(StrEnum):
    """What is counted."""

    SPANS_SENT = "spans sent"
    SPANS_DROPPED = "spans dropped"
    LINES_STORED = "lines stored"
    LINES_LOST = "lines lost"


_COUNTS: Counter[Tally] = Counter()
_LOCK = threading.Lock()


def count(what: Tally, number: int = 1) -> None:
    """Count so many more."""
    with _LOCK:
        _COUNTS[what] += number


def counts() -> dict[Tally, int]:
    """All of them, since this process began."""
    with _LOCK:
        return {what: _COUNTS[what] for what in Tally}
