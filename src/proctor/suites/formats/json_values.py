"""Values of a parsed TOML or YAML file as JSON, which is what a digest and a database row can carry."""

from __future__ import annotations

import datetime
import math

from pydantic import JsonValue

__all__ = ["MAX_DEPTH", "MAX_INTEGER", "NotJson", "as_json"]

MAX_DEPTH: int = 32
"""Tables within tables; dotted keys of TOML could otherwise nest without end."""
MAX_INTEGER: int = 2**53 - 1
"""The largest integer that JSON, and so a digest, carries exactly."""


class NotJson(Exception):
    """A value that JSON lacks; ``field`` is its place in the file."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field, self.reason = field, reason


def as_json(value: object, field: str, depth: int) -> JsonValue:
    """The value with dates as text. Raises ``NotJson`` naming the place, such as ``environment.env.X``."""
    if depth > MAX_DEPTH:
        raise NotJson(field[:100], f"is nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {_key(key, field): as_json(item, f"{field}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item, f"{field}[{index}]", depth + 1) for index, item in enumerate(value)]
    if isinstance(value, str):
        return _checked_text(value, field)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return None if value is None else _checked_number(value, field)


def _key(key: object, field: str) -> str:
    if not isinstance(key, str):
        raise NotJson(f"{field}.{key}"[:100], "is a key that is no text; put it in quotes")
    return _checked_text(key, field)


def _checked_text(value: str, field: str) -> str:
    if "\x00" in value:
        raise NotJson(field, "holds a NUL character")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise NotJson(field, "holds half of a surrogate pair, which UTF-8 can't carry")
    return value


def _checked_number(value: object, field: str) -> JsonValue:
    if isinstance(value, float) and not math.isfinite(value):
        raise NotJson(field, f"{value} is not a finite number")
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise NotJson(field, "is an integer beyond 2**53")
    if not isinstance(value, bool | int | float):
        raise NotJson(field, "has a type that JSON lacks")
    return value
