"""Which tasks a shell pattern means."""

from __future__ import annotations

from fnmatch import fnmatch

__all__ = ["matches"]


def matches(name: str, glob: str) -> bool:
    """Whether a task's name, or its last part, fits a shell pattern."""
    return fnmatch(name, glob) or fnmatch(name.rsplit("/", 1)[-1], glob)
