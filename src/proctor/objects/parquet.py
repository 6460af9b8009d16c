"""Rows kept as Parquet, in parts: written as they come, read by their position.

A part is one object. Every part but the last has ``PART_ROWS`` rows and every row group but the last of a part
``GROUP_ROWS``, so that a position tells its part and its group, and a reader touches nothing else.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.objects.store import ObjectDamaged, ObjectMissing, ObjectStore, StoredObject

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["GROUP_ROWS", "PART_ROWS", "Part", "PartWriter", "groups", "read_rows"]

GROUP_ROWS: int = 10_000
"""The most that a chunk of a job judges: it then reads one group of each column that it needs."""
PART_ROWS: int = 1_000_000
"""Some hundred megabytes of texts: few objects, and a footer of a hundred groups is read in milliseconds."""
FOOTERS: int = 256
"""Footers of parts that a process remembers: reading one anew takes longer than reading a small row group."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One object of rows. ``rows``: as many as its footer says; ``bytes``: of the object."""

    key: str
    rows: int
    bytes: int
    sha256: str

    @property
    def stored(self) -> StoredObject:
        """The same for the object store."""
        return StoredObject(key=self.key, sha256=self.sha256, size=self.bytes)


class PartWriter:
    """Writes rows of one schema as parts below a prefix. Nothing refers to them until whoever writes says so.

    Use it as a context manager: a temporary file is removed however it ends.
    """

    def __init__(self, objects: ObjectStore, prefix: str, schema: pa.Schema, *, folder: Path | None = None) -> None:
        """``folder``: for the part that is being written; ``None``: the system's."""
        self._objects, self._prefix, self._schema, self._folder = objects, prefix, schema, folder
        self._held: list[pa.Table] = []
        self._held_rows = self._part_rows = 0
        self._path: Path | None = None
        self._writer: pq.ParquetWriter | None = None
        self.parts: list[Part] = []

    def __enter__(self) -> PartWriter:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was not stored."""
        if self._writer is not None:
            self._writer.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    @property
    def rows(self) -> int:
        """Rows so far."""
        return sum(part.rows for part in self.parts) + self._part_rows + self._held_rows

    def write(self, table: pa.Table) -> None:
        """More rows, as many as there are. Raises ``ObjectStoreFull``."""
        self._held.append(table)
        self._held_rows += table.num_rows
        if self._held_rows >= GROUP_ROWS:
            self._flush(whole=False)

    def finish(self) -> list[Part]:
        """Write what is held, and say what there is."""
        self._flush(whole=True)
        if self._writer is not None:
            self._store()
        return self.parts

    def _flush(self, *, whole: bool) -> None:
        import pyarrow as pa

        if not self._held:
            return
        table = pa.concat_tables(self._held)
        end = table.num_rows if whole else table.num_rows // GROUP_ROWS * GROUP_ROWS
        for start in range(0, end, GROUP_ROWS):
            self._write_group(table.slice(start, min(GROUP_ROWS, end - start)))
        self._held = [table.slice(end)] if end < table.num_rows else []
        self._held_rows = table.num_rows - end

    def _write_group(self, group: pa.Table) -> None:
        self._opened().write_table(group, row_group_size=GROUP_ROWS)
        self._part_rows += group.num_rows
        if self._part_rows == PART_ROWS:
            self._store()

    def _opened(self) -> pq.ParquetWriter:
        import pyarrow.parquet as pq

        if self._writer is None:
            descriptor, name = tempfile.mkstemp(suffix=".parquet", dir=self._folder)
            os.close(descriptor)
            self._path = Path(name)
            self._writer = pq.ParquetWriter(
                self._path, self._schema, compression="zstd", compression_level=1, write_page_checksum=True
            )
        return self._writer

    def _store(self) -> None:
        assert self._writer is not None
        assert self._path is not None
        self._writer.close()
        key = f"{self._prefix}/{len(self.parts):05d}.parquet"
        stored = self._objects.put_file(key, self._path)
        self.parts.append(Part(key=key, rows=self._part_rows, bytes=stored.size, sha256=stored.sha256))
        self._path.unlink()
        self._path = self._writer = None
        self._part_rows = 0


def read_rows(objects: ObjectStore, parts: Sequence[Part], start: int, stop: int, columns: Sequence[str]) -> pa.Table:
    """The rows from position ``start`` up to ``stop`` of all parts together, at least one of which there must be.

    Safe in many threads and processes at once. Raises ``ObjectMissing``, ``ObjectDamaged`` and, for a column there is
    not, ``KeyError``.
    """
    import pyarrow as pa

    found = []
    for number in range(start // PART_ROWS, (stop - 1) // PART_ROWS + 1):
        first, part = number * PART_ROWS, parts[number]
        found.append(_of_part(objects, part, max(0, start - first), min(part.rows, stop - first), columns))
    return pa.concat_tables(found)


def groups(objects: ObjectStore, parts: Sequence[Part], columns: Sequence[str]) -> Iterator[pa.Table]:
    """All rows in their order, a row group at a time."""
    rows = sum(part.rows for part in parts)
    for start in range(0, rows, GROUP_ROWS):
        yield read_rows(objects, parts, start, min(start + GROUP_ROWS, rows), columns)


def _of_part(objects: ObjectStore, part: Part, start: int, stop: int, columns: Sequence[str]) -> pa.Table:
    wanted = range(start // GROUP_ROWS, (stop - 1) // GROUP_ROWS + 1)
    with _telling(part):
        footer = _footer(objects, part)
        with _opened(objects, part, footer) as file:
            rows = file.read_row_groups(list(wanted), columns=list(columns), use_threads=False)
    return rows.select(list(columns)).slice(start - wanted.start * GROUP_ROWS, stop - start)


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
