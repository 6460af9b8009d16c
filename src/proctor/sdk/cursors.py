"""Cursors of lists: the place of the last item, as it travels between a server and its clients.

A cursor says which list it is of, and by what that was narrowed; any other list refuses it, for there its place would
mean another page. It is opaque and bound to nothing secret: a made-up one leads to another page of what its caller may
see anyway, or is refused.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.kernel.errors import UsageError

__all__ = ["CursorInvalid", "Listing"]


class CursorInvalid(UsageError):
    """The cursor is none of this list's."""

    code = "cursor"
    remedy = "Send `next` of the page before as it was, with the same filters, or no cursor for the first page."


@dataclass(frozen=True)
class Listing:
    """A list as somebody asks for it. ``filters``: names and values, as text and in any order; ``None`` filters not."""

    path: str
    filters: tuple[tuple[str, str | None], ...] = ()

    def cursor(self, place: Sequence[object]) -> str:
        """The place of an item in this list as a cursor."""
        parts = [self._tag(), *(part if isinstance(part, int) else str(part) for part in place)]
        text = json.dumps(parts, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def place(self, cursor: str | None, *kinds: Callable[[Any], Any]) -> tuple[Any, ...] | None:
        """Where a cursor stands, each part read by its kind; ``None`` at the beginning. Raises ``CursorInvalid``."""
        if cursor is None:
            return None
        try:
            tag, *parts = json.loads(base64.urlsafe_b64decode(cursor.encode() + b"=="))
            if tag != self._tag():
                raise ValueError(cursor)
            return tuple(kind(part) for kind, part in zip(kinds, parts, strict=True))
        except (ValueError, TypeError, OverflowError, AttributeError) as error:
            raise CursorInvalid(where="cursor") from error

    def _tag(self) -> str:
        """Eight characters that another list, or this one narrowed by something else, does not have."""
        said = [self.path, sorted(pair for pair in self.filters if pair[1] is not None)]
        return hashlib.blake2b(json.dumps(said).encode(), digest_size=4).hexdigest()
