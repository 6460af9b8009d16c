"""Rows of a version by their positions: only the row groups that hold them are read, and of those only the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.datasets.schema import GROUP_ROWS, PART_ROWS, schema
from proctor.datasets.versions import DatasetVersion, Part
from proctor.objects.store import ObjectDamaged, ObjectMissing, ObjectStore

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["local_parts", "read_rows", "tables"]

FOOTERS: int = 256
"""Footers of parts that a process remembers: reading one anew takes longer than reading a small row group."""


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
    found = []
    for number in range(start // PART_ROWS, (stop - 1) // PART_ROWS + 1):
        first = number * PART_ROWS
        part = version.parts[number]
        found.append(_of_part(objects, part, max(0, start - first), min(part.rows, stop - first), wanted.names))
    return pa.concat_tables(found)


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


def _of_part(objects: ObjectStore, part: Part, start: int, stop: int, columns: Sequence[str]) -> pa.Table:
    groups = range(start // GROUP_ROWS, (stop - 1) // GROUP_ROWS + 1)
    with _telling(part):
        footer = _footer(objects, part)
        with _opened(objects, part, footer) as file:
            rows = file.read_row_groups(list(groups), columns=list(columns), use_threads=False)
    return rows.select(list(columns)).slice(start - groups.start * GROUP_ROWS, stop - start)


@lru_cache(maxsize=FOOTERS)
def _footer(objects: ObjectStore, part: Part) -> pq.FileMetaData:
    """What a part says of its row groups. Raises ``ObjectDamaged`` where that is not what was stored."""
    with _opened(objects, part, None) as file:
        footer = file.metadata
    if footer.num_rows != part.rows:
        raise ObjectDamaged(f"It has {footer.num_rows:,} rows and not {part.rows:,}.", where=part.key)
    return footer


@contextmanager
def _opened(objects: ObjectStore, part: Part, footer: pq.FileMetaData | None) -> Iterator[pq.ParquetFile]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = objects.path_of(part.key)
    source = pa.PythonFile(objects.open(part.stored), mode="r") if path is None else pa.OSFile(str(path))
    with source, pq.ParquetFile(source, metadata=footer, page_checksum_verification=True) as file:
        yield file


@contextmanager
def _telling(part: Part) -> Iterator[None]:
    """What can't be opened or read is ours to tell: each page has a checksum."""
    try:
        yield
    except FileNotFoundError as error:
        raise ObjectMissing(where=part.key) from error
    except (OSError, ValueError) as error:  # pyarrow's own errors are kinds of these
        raise ObjectDamaged(f"Its rows can't be read: {str(error).splitlines()[0][:200]}", where=part.key) from error
