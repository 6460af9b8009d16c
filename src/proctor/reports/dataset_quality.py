"""A version's quality on a terminal: every count with its n, and the query that finds what it counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType

from proctor.kernel.words import counted
from proctor.reports.formats import UNKNOWN
from proctor.reports.tables import table

if TYPE_CHECKING:
    from proctor.datasets.quality import DatasetQuality, ExampleCount, FieldCoverage, Lengths

__all__ = ["quality_tables"]


def quality_tables(found: DatasetQuality) -> Sequence[RenderableType]:
    """Flaws, lengths, kinds of expected outputs, fields, splits."""
    reference = f"{found.dataset}@{found.version}"
    shown: list[RenderableType] = [
        f"{reference}: {counted(found.examples, 'example')}",
        _flaws(found),
        _characters(found),
        _kinds(found),
        _fields(found),
    ]
    told = min(found.metadata_fields, sum(one.is_metadata for one in found.fields))
    if told < found.metadata_fields:
        shown.append(f"{told} of {found.metadata_fields:,} metadata fields, those that most examples have")
    if found.splits:
        shown.append(_splits(found))
    shown.append(f"see them: proctor dataset examples {reference} --query QUERY")
    return shown


def _flaws(found: DatasetQuality) -> RenderableType:
    made = table("what", "examples", "inputs", "query", right=("examples", "inputs"), whole=("query",))
    counts = {
        "without expected output": found.without_expected,
        "empty input": found.empty_inputs,
        "duplicate input": found.duplicates,
        "contradictory expected outputs": found.contradictions,
        "input in more than one split": found.leaks,
    }
    for what, one in counts.items():
        if one is None:
            made.add_row(what, UNKNOWN, UNKNOWN, "it has no two splits")
        else:
            made.add_row(what, _of(one.examples, found.examples), _inputs(one), one.query or UNKNOWN)
    return made


def _characters(found: DatasetQuality) -> RenderableType:
    columns = ("min", "median", "p95", "max")
    made = table("characters", "examples", *columns, right=("examples", *columns))
    lengths: dict[str, Lengths] = {"input": found.input_characters, "expected output": found.expected_characters}
    for name, one in lengths.items():
        numbers = [UNKNOWN if number is None else f"{number:,}" for number in (one.min, one.median, one.p95, one.max)]
        made.add_row(name, _of(one.examples, found.examples), *numbers)
    return made


def _kinds(found: DatasetQuality) -> RenderableType:
    made = table("expected output", "examples", "query", right=("examples",), whole=("query",))
    for one in found.kinds:
        made.add_row(one.kind.replace("_", " "), _of(one.examples, found.examples), one.query)
    return made


def _fields(found: DatasetQuality) -> RenderableType:
    made = table("field", "examples", "values", "most common", right=("examples", "values"))
    for one in found.fields:
        made.add_row(one.name, _of(one.examples, found.examples), f"{one.values:,}", _common(one))
    return made


def _common(field: FieldCoverage) -> str:
    if field.values > 1 and field.common[0].examples == 1:
        return "each in one example"
    told = [f"{'a long text' if one.value is None else one.value} {one.examples:,}" for one in field.common]
    return ", ".join(told) or UNKNOWN


def _splits(found: DatasetQuality) -> RenderableType:
    made = table(
        "split", "examples", "input in another", "query", right=("examples", "input in another"), whole=("query",)
    )
    for one in found.splits:
        size = _of(one.size, found.examples)
        made.add_row(one.split, size, _of(one.examples, one.size), one.query or UNKNOWN)
    return made


def _inputs(count: ExampleCount) -> str:
    return f"{inputs:,}" if (inputs := getattr(count, "inputs", None)) is not None else ""


def _of(count: int, all_of_them: int) -> str:
    return f"{count:,} of {all_of_them:,}"
