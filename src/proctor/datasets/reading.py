"""Rows of a version by their positions: only the row groups that hold them are read, and of those only the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.datasets.schema import schema
from proctor.datasets.versions import DatasetVersion
from proctor.objects import parquet
from proctor.objects.parquet import GROUP_ROWS, Part
from proctor.objects.store import ObjectMissing, ObjectStore

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["local_parts", "read_rows", "tables"]


def read_rows(
    objects: ObjectStore, version: DatasetVersion, start: int, stop: int, columns: Sequence[str] | None = None
) -> pa.Table:
    """The rows from position ``start`` up to ``stop``, as a slice: what is beyond the last row is left out.

    ``columns``: names of ``schema.COLUMNS``, in the order wanted; all of them without. Safe in many threads and
    processes at once. Raises ``ObjectMissing``, ``ObjectDamaged`` and, for a column there is not, ``KeyError``.
    """
    import pyarrow as pa

    wanted = schema() if columns is None else pa.schema([schema().field(name) for name in columns])
    start, stop = max(0, start), min(stop, version.rows)
    if start >= stop:
        return wanted.empty_table()
    return parquet.read_rows(objects, version.parts, start, stop, wanted.names)


def tables(objects: ObjectStore, version: DatasetVersion, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """All rows in their order, a row group at a time."""
    for start in range(0, version.rows, GROUP_ROWS):
        yield read_rows(objects, version, start, start + GROUP_ROWS, columns)


def local_parts(objects: ObjectStore, version: DatasetVersion, folder: Path) -> list[Path]:
    """The parts as files of this machine: the store's own, else fetched into ``folder`` and checked.

    Raises ``ObjectMissing``, ``ObjectDamaged``.
    """
    return [_local(objects, part, folder / f"{version.id.hex}-{number}") for number, part in enumerate(version.parts)]


def _local(objects: ObjectStore, part: Part, copy: Path) -> Path:
    kept = objects.path_of(part.key)
    if kept is None:
        objects.fetch(part.stored, copy)
        return copy
    if not kept.is_file():
        raise ObjectMissing(where=part.key)
    return kept
