"""Counts in agents' logs."""

from __future__ import annotations

from proctor.kernel.canonical import Json

__all__ = ["count"]

_MOST: int = 10**12
"""No call of any model uses more tokens; a larger number is a lie."""


def count(value: Json) -> int | None:
    """A number of tokens, ``None`` for what is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MOST else None
