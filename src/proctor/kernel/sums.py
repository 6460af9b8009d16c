"""Sums of counts that may not be known."""

from __future__ import annotations

__all__ = ["added"]


def added(*counts: int | None) -> int | None:
    """Their sum; ``None``, not known, where one of them is not. None at all come to 0."""
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total
