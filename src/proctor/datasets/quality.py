"""What somebody must know of a version before they trust numbers on it: each a count, with the query that finds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor.datasets.alike import look_for_alike, look_for_leaks
from proctor.datasets.differing import version_files
from proctor.datasets.matching import fitting
from proctor.datasets.queries import (
    QUERY_CHARACTERS,
    Flaw,
    FlawTerm,
    as_text,
    field_query,
    flaw_query,
    kind_query,
)
from proctor.datasets.reading import tables
from proctor.datasets.splits import Split
from proctor.datasets.versions import DatasetVersion
from proctor.datasets.workbench import Files, Workbench, workbench
from proctor.kernel.kinds import AnswerKind, stored_kind
from proctor.objects.store import ObjectStore

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DatasetQuality",
    "ExampleCount",
    "FieldCoverage",
    "GroupCount",
    "KindCount",
    "Lengths",
    "SplitOverlap",
    "ValueCount",
    "quality_of",
]

FIELDS: int = 50
"""Of the metadata that are told, those that most examples have: more are no fields but data."""
VALUES: int = 5
"""Of a field that are told, the most common ones."""
VALUE_CHARACTERS: int = 200
"""Of a value that is told; of longer ones it is told how often they stand there."""
_READ: Sequence[str] = ("input", "input_is_json", "expected", "expected_is_json")


@dataclass(frozen=True, kw_only=True)
class ExampleCount:
    """How many examples of a version. ``query``: finds them; ``None`` where it is none that may be asked."""

    examples: int
    query: str | None


@dataclass(frozen=True, kw_only=True)
class GroupCount(ExampleCount):
    """How many examples, of how many inputs."""

    inputs: int


@dataclass(frozen=True, kw_only=True)
class KindCount(ExampleCount):
    """How many examples expect an output of that kind."""

    kind: AnswerKind


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Characters of texts; of other values, those of their RFC 8785 JSON.

    ``examples``: how many were measured; ``median``, ``p95``: the nearest rank, so a length that there is. All are
    ``None`` where nothing was measured.
    """

    examples: int
    min: int | None
    median: int | None
    p95: int | None
    max: int | None


@dataclass(frozen=True, kw_only=True)
class ValueCount(ExampleCount):
    """How many examples say a value. ``value``: its text, ``None`` of one beyond 200 characters."""

    value: str | None


@dataclass(frozen=True, kw_only=True)
class FieldCoverage(ExampleCount):
    """How many examples have a field. ``values``: how many different ones; ``common``: those of most examples."""

    name: str
    is_metadata: bool
    values: int
    common: tuple[ValueCount, ...]


@dataclass(frozen=True, kw_only=True)
class SplitOverlap(ExampleCount):
    """Of the ``size`` examples of a split, those whose input stands in another split too."""

    split: str
    size: int


@dataclass(frozen=True, kw_only=True)
class DatasetQuality:
    """A version's quality; every count is of its ``examples``.

    ``without_expected``: nothing is expected; ``empty_inputs``: blanks, or an empty list or object; ``duplicates``: one
    input, equal as it is stored, of several examples; ``contradictions``: of these, those whose expected outputs
    differ, without those that expect nothing; ``leaks``: one input in several splits, ``None`` without two splits.
    ``fields``: difficulty, source and tag, then the 50 fields of the metadata that most examples have, which are
    ``metadata_fields`` in all.
    """

    dataset: str
    version: str
    examples: int
    without_expected: ExampleCount
    empty_inputs: ExampleCount
    duplicates: GroupCount
    contradictions: GroupCount
    input_characters: Lengths
    expected_characters: Lengths
    kinds: tuple[KindCount, ...]
    fields: tuple[FieldCoverage, ...]
    metadata_fields: int
    leaks: GroupCount | None
    splits: tuple[SplitOverlap, ...]


def quality_of(objects: ObjectStore, version: DatasetVersion, splits: Sequence[Split], folder: Path) -> DatasetQuality:
    """Looks at every example, a row group at a time. Raises ``ObjectMissing``, ``ObjectDamaged``."""
    seen = _Seen()
    for table in tables(objects, version, _READ):
        seen.look(table)
    files = version_files(objects, version, folder)
    with workbench(folder) as asked:
        look_for_alike(asked, files)
        ((repeated, repeating, contradicted, contradicting),) = asked.rows("counted_alike")
        leaks, overlaps = _leaks(asked, files, splits)
        fields, metadata_fields = _fields(asked, files)
    return DatasetQuality(
        dataset=version.dataset,
        version=version.version,
        examples=version.rows,
        without_expected=ExampleCount(
            examples=version.rows - sum(seen.expected.values()), query=f"-{field_query('expected', None)}"
        ),
        empty_inputs=ExampleCount(examples=seen.empty, query=flaw_query(Flaw.EMPTY)),
        duplicates=GroupCount(inputs=repeated, examples=repeating, query=flaw_query(Flaw.DUPLICATE)),
        contradictions=GroupCount(inputs=contradicted, examples=contradicting, query=flaw_query(Flaw.CONTRADICTION)),
        input_characters=_lengths(seen.inputs),
        expected_characters=_lengths(seen.expected),
        kinds=tuple(
            KindCount(kind=kind, examples=count, query=kind_query(kind)) for kind, count in seen.kinds.most_common()
        ),
        fields=fields,
        metadata_fields=metadata_fields,
        leaks=leaks,
        splits=overlaps,
    )


class _Seen:
    """What one look at the rows counts."""

    def __init__(self) -> None:
        self.empty = 0
        self.inputs: Counter[int] = Counter()
        self.expected: Counter[int] = Counter()
        self.kinds: Counter[AnswerKind] = Counter()

    def look(self, table: pa.Table) -> None:
        import pyarrow.compute as pc

        self.empty += pc.sum(fitting(table, 0, [FlawTerm(flaw=Flaw.EMPTY)], {}, {})).as_py()
        for name, lengths in (("input", self.inputs), ("expected", self.expected)):
            for length, count in _counted(pc.utf8_length(table[name].drop_null())):
                lengths[length] += count
        for is_json in (False, True):
            for text, count in _counted(
                table["expected"].filter(pc.equal(table["expected_is_json"], is_json)).drop_null()
            ):
                self.kinds[stored_kind(text, is_json)] += count


def _counted(values: pa.ChunkedArray) -> Iterable[tuple[Any, int]]:
    import pyarrow.compute as pc

    found = pc.value_counts(values)
    return zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)


def _lengths(counts: Counter[int]) -> Lengths:
    total = sum(counts.values())
    ordered = sorted(counts)
    ranks = {"median": -(-total // 2), "p95": -(-total * 95 // 100)}
    found: dict[str, int] = {}
    upto = 0
    for length in ordered:
        upto += counts[length]
        found |= {name: length for name, rank in ranks.items() if name not in found and upto >= rank}
    return Lengths(
        examples=total,
        min=ordered[0] if ordered else None,
        median=found.get("median"),
        p95=found.get("p95"),
        max=ordered[-1] if ordered else None,
    )


def _leaks(
    asked: Workbench, files: Files, splits: Sequence[Split]
) -> tuple[GroupCount | None, tuple[SplitOverlap, ...]]:
    if not splits:
        return None, ()
    look_for_leaks(asked, files, splits)
    ((inputs, examples),) = asked.rows("counted_leaks")
    sizes = {number: (size, leaking) for number, size, leaking in asked.rows("counted_splits")}
    overlaps = [(split.name, *sizes.get(number, (0, 0))) for number, split in enumerate(splits)]
    leaks = GroupCount(inputs=inputs, examples=examples, query=flaw_query(Flaw.LEAKED)) if len(splits) > 1 else None
    return leaks, tuple(
        SplitOverlap(
            split=name, size=size, examples=leaking, query=f"{field_query('split', name)} {flaw_query(Flaw.LEAKED)}"
        )
        for name, size, leaking in overlaps
    )


def _fields(asked: Workbench, files: Files) -> tuple[tuple[FieldCoverage, ...], int]:
    """Of the fields that are told, and how many metadata fields there are."""
    asked.make("said_values", files, most=VALUE_CHARACTERS)
    ((tagged,),) = asked.rows("tagged", files=files.names)
    rows = {(own[0], own[1]): own[2:] for own in asked.rows("counted_fields", most=FIELDS + 3)}
    own = {name: rows.pop((False, name), (0, 0, 0)) for name in ("difficulty", "source", "tag")}
    metadata = [(name, *counts) for (_, name), counts in rows.items()][:FIELDS]
    in_all = metadata[0][3] - sum(1 for counts in own.values() if counts[0]) if metadata else 0
    found = [
        _field(asked, name, tagged if name == "tag" else size, values, is_metadata=False)
        for name, (size, values, _) in own.items()
    ]
    found += [_field(asked, name, size, values, is_metadata=True) for name, size, values, _ in metadata]
    return tuple(found), in_all


def _field(asked: Workbench, name: str, size: int, values: int, *, is_metadata: bool) -> FieldCoverage:
    common = asked.rows("common_values", name=name, is_metadata=is_metadata, most=VALUES) if values else ()
    return FieldCoverage(
        name=name,
        is_metadata=is_metadata,
        examples=size,
        query=_short(field_query(name, None, is_metadata=is_metadata)),
        values=values,
        common=tuple(
            ValueCount(
                value=None if is_long else value,
                examples=count,
                query=None if is_long else _short(_value_query(name, value, is_metadata=is_metadata, is_text=is_text)),
            )
            for value, is_long, is_text, count in common
        ),
    )


def _value_query(name: str, value: str, *, is_metadata: bool, is_text: bool) -> str:
    said = as_text(value) if is_metadata and is_text else value
    return field_query(name, said, is_metadata=is_metadata)


def _short(query: str) -> str | None:
    """One that may be asked: no longer than it may be, and without what no address can carry."""
    return query if len(query) <= QUERY_CHARACTERS and "\x00" not in query else None
