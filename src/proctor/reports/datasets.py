"""Datasets on a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType

from proctor.kernel.words import counted
from proctor.reports.formats import UNKNOWN, ago
from proctor.reports.tables import table

if TYPE_CHECKING:
    from proctor.datasets.browsing import ListedExample
    from proctor.datasets.differing import Change, Difference
    from proctor.datasets.registry import DatasetRow
    from proctor.datasets.splits import Split
    from proctor.datasets.versions import DatasetVersion
    from proctor.kernel.canonical import Json

__all__ = [
    "changes_table",
    "datasets_table",
    "difference_line",
    "examples_table",
    "splits_line",
    "version_lines",
    "versions_table",
]

CHARACTERS: int = 80
"""Of an input in a list: enough to know it by. ``--json`` has all of it."""


def datasets_table(rows: Sequence[DatasetRow]) -> RenderableType:
    """Datasets with their newest versions."""
    made = table("dataset", "version", "examples", "versions", "changed", right=("examples", "versions"))
    for row in rows:
        made.add_row(row.name, row.version, f"{row.rows:,}", f"{row.versions:,}", ago(row.changed_at))
    return made


def version_lines(version: DatasetVersion) -> Sequence[str]:
    """What is known of a version."""
    lineage = version.lineage
    parents = ", ".join(f"{one.dataset}@{one.version}" for one in lineage.parents)
    size = sum(part.bytes for part in version.parts)
    lines = [
        f"{version.reference}: {counted(version.rows, 'example')}, {size:,} bytes, id {version.id}",
        f"content {version.content_hash}",
        f"{lineage.operation} by {version.creator}" + (f" of {parents}" if parents else ""),
    ]
    lines += [f"{name}: {_said(value)}" for name, value in {**lineage.parameters, **version.metadata}.items()]
    return lines


def splits_line(splits: Sequence[Split]) -> Sequence[str]:
    """The splits with their shares; no line of none."""
    told = ", ".join(f"{one.name} {(one.high_ppm - one.low_ppm) / 10_000:g} % (seed {one.seed})" for one in splits)
    return [f"splits: {told}"] if told else []


def versions_table(versions: Sequence[DatasetVersion]) -> RenderableType:
    """A dataset's versions."""
    made = table("version", "examples", "made by", "creator", "made", right=("examples",), whole=("version",))
    for one in versions:
        made.add_row(one.version, f"{one.rows:,}", one.lineage.operation, one.creator, ago(one.created_at))
    return made


def examples_table(examples: Sequence[ListedExample]) -> RenderableType:
    """Examples, their texts cut."""
    made = table("position", "id", "input", "expected", "difficulty", "tags", right=("position",))
    for one in examples:
        texts = [_said(value) for value in (one.input, one.expected)]
        made.add_row(str(one.position), one.id, *texts, one.difficulty or UNKNOWN, ", ".join(one.tags))
    return made


def difference_line(difference: Difference) -> str:
    """Counts of what became of examples."""
    counts = {"added": difference.added, "changed": difference.changed, "removed": difference.removed}
    return ", ".join(f"{number:,} {word}" for word, number in {**counts, "the same": difference.same}.items())


def changes_table(changes: Sequence[Change]) -> RenderableType:
    """What became of each example."""
    made = table("example", "what", "fields")
    for one in changes:
        made.add_row(one.id, one.kind, ", ".join(one.fields))
    return made


def _said(value: Json) -> str:
    if value is None:
        return UNKNOWN
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS - 1]}…"
