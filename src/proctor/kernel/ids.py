"""Ids: derived from content where a repeat must be harmless, ordered by time otherwise."""

from __future__ import annotations

import hashlib
import os
import time
from uuid import UUID

__all__ = ["derived_id", "new_id", "short_id"]

_SEPARATOR = b"\x00"


def derived_id(kind: str, *parts: str | int | UUID) -> UUID:
    """The same id for the same parts, always: the first 122 bits of a sha256, as a version 8 UUID (RFC 9562)."""
    fields = [kind, *(str(part) for part in parts)]
    raw = hashlib.sha256(_SEPARATOR.join(field.encode() for field in fields)).digest()[:16]
    return _stamped(int.from_bytes(raw, "big"), version=8)


def new_id() -> UUID:
    """A new id that sorts by its time of birth: a version 7 UUID (RFC 9562)."""
    milliseconds = time.time_ns() // 1_000_000
    return _stamped(milliseconds << 80 | int.from_bytes(os.urandom(10), "big"), version=7)


def _stamped(number: int, *, version: int) -> UUID:
    number &= ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=number | version << 76 | 0x2 << 62)


def short_id(identity: UUID) -> str:
    """The beginning of an id that holds the millisecond in which it was made: jobs of one minute differ in it."""
    return str(identity)[:13]
