"""Lists: pages with a cursor, and only the fields that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from proctor.kernel.errors import UsageError
from proctor.sdk.cursors import CursorInvalid, place_of, written_cursor
from proctor.sdk.documents import document

__all__ = ["Chosen", "CursorInvalid", "Fields", "Limit", "Page", "PageCursor", "narrowed", "page_of", "place_of"]

T = TypeVar("T")

DEFAULT_PAGE: int = 100
LARGEST_PAGE: int = 1000
"""Items of a page: a few hundred kilobytes at the most."""

Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Items of a page.")]
PageCursor = Annotated[str | None, Query(max_length=500, description="`next` of the page before.")]
Fields = Annotated[str | None, Query(max_length=500, description="Fields of each item, commas between; all without.")]


class FieldUnknown(UsageError):
    """An item has no such field."""

    code = "field-unknown"
    remedy = "Leave `fields` out to see them all."


Chosen = Annotated[dict[str, Any], Field(title="Chosen fields", description="An item's, where `fields` names them.")]


class Page(BaseModel, Generic[T]):
    """A page of a list."""

    items: list[T | Chosen]
    next: str | None = Field(description="The cursor of the next page; null at the end.")


def page_of(
    items: Sequence[Any], *, limit: int, place: Callable[[Any], Sequence[object]], fields: str | None
) -> dict[str, Any]:
    """The page of ``items``, which are at most ``limit``. ``place``: what the next page begins after."""
    full = len(items) == limit
    cursor = written_cursor(place(items[-1])) if full and items else None
    return {"items": narrowed(items, fields), "next": cursor}


def narrowed(items: Sequence[Any], fields: str | None) -> Sequence[Any]:
    """Items with the fields that were asked for; ``None``: as they are. Raises ``FieldUnknown``."""
    return items if fields is None else [_narrowed(document(item), fields) for item in items]


def _narrowed(item: Any, fields: str) -> Any:
    wanted = [name.strip() for name in fields.split(",") if name.strip()]
    if not wanted:
        raise FieldUnknown("No field is named.", where="fields")
    unknown = [name for name in wanted if name not in item]
    if unknown:
        raise FieldUnknown(f"There is no {unknown[0]!r}; there are {', '.join(item)}.", where="fields")
    return {name: item[name] for name in wanted}
