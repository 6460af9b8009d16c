"""Ids: derived from content where a repeat must be harmless, ordered by time otherwise."""

from __future__ import annotations

import hashlib
import os
import time
from datetime import datetime
from uuid import UUID

__all__ = ["dated_id", "derived_id", "new_id", "short_id"]

_SEPARATOR = "\x00"


def derived_id(kind: str, *parts: str | int | UUID) -> UUID:
    """The same id for the same parts, always: the first 122 bits of a sha256, as a version 8 UUID (RFC 9562)."""
    return _stamped(_drawn(kind, *parts), version=8)


def dated_id(moment: datetime, kind: str, *parts: str | int | UUID) -> UUID:
    """The same id for the same parts, always, that sorts among new ones by a moment that was."""
    milliseconds = int(moment.timestamp() * 1000)
    return _stamped(milliseconds << 80 | _drawn(kind, *parts) >> 48, version=7)


def new_id() -> UUID:
    """A new id that sorts by its time of birth: a version 7 UUID (RFC 9562)."""
    milliseconds = time.time_ns() // 1_000_000
    return _stamped(milliseconds << 80 | int.from_bytes(os.urandom(10), "big"), version=7)


def _drawn(kind: str, *parts: str | int | UUID) -> int:
    """The first 128 bits of a sha256 of them."""
    return int.from_bytes(hashlib.sha256(_SEPARATOR.join((kind, *map(str, parts))).encode()).digest()[:16], "big")


def _stamped(number: int, *, version: int) -> UUID:
    number &= ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=number | version << 76 | 0x2 << 62)


def short_id(identity: UUID) -> str:
    """The beginning of an id that holds the millisecond in which it was made: jobs of one minute differ in it."""
    return str(identity)[:13]
