"""Examples of a version, a page at a time: narrow columns are looked at first, the rest is read where they fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proctor.datasets.examples import value_of
from proctor.datasets.matching import SEARCHED, Marks, columns_of, fitting, with_words
from proctor.datasets.queries import Term
from proctor.datasets.reading import read_rows
from proctor.datasets.schema import COLUMNS
from proctor.datasets.splits import Split
from proctor.datasets.versions import DatasetVersion
from proctor.kernel.canonical import Json
from proctor.objects.parquet import GROUP_ROWS
from proctor.objects.store import ObjectStore

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ExamplePage", "FitCount", "ListedExample", "Wanted", "count_of", "page_of", "positions_of"]

_SHOWN: Sequence[str] = tuple(name for name in COLUMNS if name != "embedding")
"""Of a list: an embedding has thousands of numbers, and exports have it."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which examples: with all of the tags and none of the others, of a difficulty, a source and a split.

    ``words``: that stand in the id, the input or the expected output, whatever their case. What is ``None`` or empty
    fits all. ``terms``: of a query, with the version's ``splits`` by name and the ``marks`` of the flaws they name.
    """

    tags: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()
    difficulty: str | None = None
    source: str | None = None
    split: Split | None = None
    words: str | None = None
    terms: tuple[Term, ...] = ()
    splits: Mapping[str, Split] = field(default_factory=dict)
    marks: Marks = field(default_factory=dict)

    def columns(self) -> Sequence[str]:
        """What has to be read to know."""
        asked: Mapping[str, object] = {
            "tags": self.tags or self.without_tags,
            "difficulty": self.difficulty,
            "source": self.source,
            "id": self.split,
        }
        return [name for name, value in asked.items() if value]

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Whether a row with those columns is one."""
        if self.tags or self.without_tags:
            tags = set(row["tags"])
            if not tags.issuperset(self.tags) or not tags.isdisjoint(self.without_tags):
                return False
        if self.difficulty is not None and row["difficulty"] != self.difficulty:
            return False
        if self.source is not None and row["source"] != self.source:
            return False
        return self.split is None or self.split.holds(row["id"])


@dataclass(frozen=True, kw_only=True)
class ListedExample:
    """One example as it is read by people and programs. ``position``: in its version, from 0; no embedding."""

    position: int
    id: str
    input: Json
    expected: Json
    difficulty: str | None
    source: str | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Json] | None
    digest: str


@dataclass(frozen=True, kw_only=True)
class ExamplePage:
    """A page. ``next``: the position to go on from; ``None`` at the end."""

    examples: tuple[ListedExample, ...]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class FitCount:
    """How many of a version's ``examples`` fit what is wanted."""

    fit: int
    examples: int


def page_of(objects: ObjectStore, version: DatasetVersion, wanted: Wanted, *, start: int, limit: int) -> ExamplePage:
    """The first examples that are wanted from position ``start`` on. Raises ``ObjectMissing``, ``ObjectDamaged``."""
    found: list[ListedExample] = []
    while start < version.rows:
        stop = min(version.rows, (start // GROUP_ROWS + 1) * GROUP_ROWS)
        places = _places(objects, version, wanted, start, stop)[: limit - len(found)]
        if places:
            found += _listed(objects, version, places)
        if len(found) == limit:
            after = found[-1].position + 1
            return ExamplePage(examples=tuple(found), next=after if after < version.rows else None)
        start = stop
    return ExamplePage(examples=tuple(found), next=None)


def positions_of(objects: ObjectStore, version: DatasetVersion, wanted: Wanted) -> Iterator[int]:
    """Where all examples that are wanted are, in order."""
    for start in range(0, version.rows, GROUP_ROWS):
        yield from _places(objects, version, wanted, start, min(version.rows, start + GROUP_ROWS))


def count_of(objects: ObjectStore, version: DatasetVersion, wanted: Wanted) -> FitCount:
    """How many examples are wanted. Raises ``ObjectMissing``, ``ObjectDamaged``."""
    return FitCount(fit=sum(1 for _ in positions_of(objects, version, wanted)), examples=version.rows)


def _places(objects: ObjectStore, version: DatasetVersion, wanted: Wanted, start: int, stop: int) -> Sequence[int]:
    columns = wanted.columns()
    places = _found(objects, version, wanted, start, stop) if wanted.words or wanted.terms else range(start, stop)
    if not columns or not places:
        return places
    rows = read_rows(objects, version, start, stop, columns).to_pylist()
    return [place for place in places if wanted.fits(rows[place - start])]


def _found(objects: ObjectStore, version: DatasetVersion, wanted: Wanted, start: int, stop: int) -> Sequence[int]:
    """Where the words and the terms fit. Columns are looked through where they are: a version may have millions."""
    import pyarrow.compute as pc

    columns = dict.fromkeys(SEARCHED if wanted.words else ())
    for term in wanted.terms:
        columns |= dict.fromkeys(columns_of(term))
    table = read_rows(objects, version, start, stop, list(columns) or ["id"])
    fits = fitting(table, start, wanted.terms, wanted.splits, wanted.marks) if wanted.terms else None
    if wanted.words:
        said = with_words(table, wanted.words)
        fits = said if fits is None else pc.and_(fits, said)
    return [start + number for number in pc.indices_nonzero(fits).to_pylist()]


def _listed(objects: ObjectStore, version: DatasetVersion, places: Sequence[int]) -> list[ListedExample]:
    first = places[0]
    table: pa.Table = read_rows(objects, version, first, places[-1] + 1, _SHOWN)
    rows = table.take([place - first for place in places]).to_pylist()
    return [_example(row, place) for row, place in zip(rows, places, strict=True)]


def _example(row: Mapping[str, Any], position: int) -> ListedExample:
    metadata = value_of(row["metadata"], is_json=True)
    assert metadata is None or isinstance(metadata, Mapping)
    return ListedExample(
        position=position,
        id=row["id"],
        input=value_of(row["input"], row["input_is_json"]),
        expected=value_of(row["expected"], row["expected_is_json"]),
        difficulty=row["difficulty"],
        source=row["source"],
        tags=tuple(row["tags"]),
        metadata=metadata,
        digest=row["digest"].hex(),
    )
