"""JSON where each call of a model passes: in C where that is installed, a fifth of the time for a long conversation.

What the fast reader refuses and Python's own takes (half of a surrogate pair, as terminals' output has it; ``NaN``) is
read by Python's own, so that the same is accepted with either. What is written is the same JSON, not the same bytes:
no digest is taken over it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor.kernel.canonical import Json

__all__ = ["read_json", "write_json"]


def _slow_read(data: bytes | str) -> Json:
    value: Json = json.loads(data)
    return value


def _said(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, default=_said).encode


def _slow_write(value: object) -> bytes:
    return _encode(value).encode("utf-8", "backslashreplace")


try:
    import msgspec
except ModuleNotFoundError:
    read_json: Callable[[bytes | str], Json] = _slow_read
    write_json: Callable[[Any], bytes] = _slow_write
else:
    _fast_read, _fast_write = msgspec.json.decode, msgspec.json.Encoder().encode

    def read_json(data: bytes | str) -> Json:
        """A JSON text. Raises ``ValueError`` or ``RecursionError`` where it is none."""
        try:
            value: Json = _fast_read(data)
        except (msgspec.MsgspecError, ValueError):
            return _slow_read(data)
        return value

    def write_json(value: Any) -> bytes:
        """JSON as it is sent and kept, with UUIDs and times as their texts. Half of a surrogate pair, which UTF-8 can't
        say, goes as the escape that JSON has for it."""
        try:
            return _fast_write(value)
        except (TypeError, ValueError):
            return _slow_write(value)
