"""Numbers with their nouns, as a reader expects them."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str) -> str:
    """``1 cell``, ``1,200 cells``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
