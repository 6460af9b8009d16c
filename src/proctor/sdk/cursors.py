"""Cursors of lists: the place of the last item, as it travels between a server and its clients.

A cursor is opaque and bound to nothing secret: a made-up one leads to another page of what its caller may see anyway,
or is refused.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from proctor.kernel.errors import UsageError

__all__ = ["CursorInvalid", "place_of", "written_cursor"]


class CursorInvalid(UsageError):
    """The cursor is none of this list's."""

    code = "cursor"
    remedy = "Send `next` of the page before as it was, or no cursor for the first page."


def written_cursor(place: Sequence[object]) -> str:
    """A place as a cursor."""
    text = json.dumps([part if isinstance(part, int) else str(part) for part in place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place_of(cursor: str | None, *kinds: Callable[[Any], Any]) -> tuple[Any, ...] | None:
    """Where a cursor stands, each part read by its kind; ``None`` at the beginning. Raises ``CursorInvalid``."""
    if cursor is None:
        return None
    try:
        parts = json.loads(base64.urlsafe_b64decode(cursor.encode() + b"=="))
        if not isinstance(parts, list):
            raise ValueError(cursor)
        return tuple(kind(part) for kind, part in zip(kinds, parts, strict=True))
    except (ValueError, TypeError, OverflowError, AttributeError) as error:
        raise CursorInvalid(where="cursor") from error
