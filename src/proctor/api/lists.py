"""Lists: pages with a cursor, and only the fields that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Generic, TypeVar, get_args

from fastapi import Depends, Query, Request
from pydantic import BaseModel, Field

from proctor.kernel.errors import UsageError
from proctor.sdk.cursors import CursorInvalid, Listing

__all__ = ["DEFAULT_PAGE", "Chosen", "CursorInvalid", "Fields", "Limit", "Page", "PageCursor", "Paging", "WordsOfName"]

T = TypeVar("T")

DEFAULT_PAGE: int = 100
LARGEST_PAGE: int = 1000
"""Items of a page: a few hundred kilobytes at the most."""

Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Items of a page.")]
PageCursor = Annotated[str | None, Query(max_length=500, description="`next` of the page before.")]
Fields = Annotated[str | None, Query(max_length=500, description="Fields of each item, commas between; all without.")]
WordsOfName = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=100,
        pattern=r"^[^\x00]+$",
        description="Only those in whose name this stands, whatever the case of a to z.",
    ),
]
_NO_FILTERS = frozenset({"limit", "cursor", "fields"})


class FieldUnknown(UsageError):
    """An item has no such field."""

    code = "field-unknown"
    remedy = "Leave `fields` out to see them all."


Chosen = Annotated[dict[str, Any], Field(title="Chosen fields", description="An item's, where `fields` names them.")]


class Page(BaseModel, Generic[T]):
    """A page of a list."""

    items: list[T | Chosen]
    next: str | None = Field(description="The cursor of the next page; null at the end.")


@dataclass(frozen=True, kw_only=True)
class _Paging:
    """Which page of a list is asked for, and which fields of its items."""

    request: Request
    limit: int
    cursor: str | None
    fields: str | None

    @property
    def listing(self) -> Listing:
        """Which list, by its path and what it is narrowed by: only its own cursors lead on in it."""
        asked = self.request.query_params.multi_items()
        return Listing(self.request.scope["path"], tuple(pair for pair in asked if pair[0] not in _NO_FILTERS))

    def place(self, *kinds: Callable[[Any], Any]) -> tuple[Any, ...] | None:
        """What the page begins after, each part read by its kind; ``None``: the first. Raises ``CursorInvalid``."""
        return None if self.cursor is None else self.listing.place(self.cursor, *kinds)

    def page(self, items: Sequence[Any], place: Callable[[Any], Sequence[object]]) -> dict[str, Any]:
        """The page of ``items``, which are at most ``limit``. ``place``: what the next page begins after."""
        full = len(items) == self.limit
        following = self.listing.cursor(place(items[-1])) if full and items else None
        return {"items": self.narrowed(items), "next": following}

    def narrowed(self, items: Sequence[Any]) -> Sequence[Any]:
        """Items with the fields that were asked for; without any, as they are. Raises ``FieldUnknown``."""
        if self.fields is None:
            return items
        names = _checked(self.fields, _fields_of(self.request.scope["route"].response_model))
        return [_chosen(item, names) for item in items]

    def cut(self, items: Sequence[Any], key: Callable[[Any], object]) -> dict[str, Any]:
        """The page of a list that is all there, after the item of that key, or of its number if it is gone since."""
        seen, after = self.place(_count, str) or (0, None)
        keys = (number for number, item in enumerate(items, 1) if str(key(item)) == after)
        begin = seen if after is None else next(keys, seen)
        found = list(islice(items, begin, begin + self.limit))
        return self.page(found, lambda last: [begin + len(found), key(last)])


async def _paging(
    request: Request, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None, fields: Fields = None
) -> _Paging:
    return _Paging(request=request, limit=limit, cursor=cursor, fields=fields)


Paging = Annotated[_Paging, Depends(_paging)]
"""What every list is asked with."""


def _count(part: object) -> int:
    if not isinstance(part, int) or part < 0:
        raise ValueError(part)
    return part


def _fields_of(page: Any) -> Sequence[str]:
    """The names of the fields that an item of a page has, by the model of the page."""
    (items,) = get_args(page.model_fields["items"].annotation)
    item = get_args(items)[0]
    return tuple(getattr(item, "__dataclass_fields__", None) or item.model_fields)


def _checked(fields: str, known: Sequence[str]) -> Sequence[str]:
    wanted = [name.strip() for name in fields.split(",") if name.strip()]
    if not wanted:
        raise FieldUnknown("No field is named.", where="fields")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise FieldUnknown(f"There is no {unknown[0]!r}; there are {', '.join(known)}.", where="fields")
    return wanted


def _chosen(item: Any, names: Sequence[str]) -> Mapping[str, Any]:
    return {name: item[name] if isinstance(item, Mapping) else getattr(item, name) for name in names}
