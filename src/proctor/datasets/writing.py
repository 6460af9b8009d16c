"""A version's parts as files: rows come in any portions and go out in exact row groups."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from proctor.datasets.errors import DatasetEmpty, SourceInvalid
from proctor.datasets.examples import DIGEST_BYTES
from proctor.datasets.schema import schema
from proctor.objects.parquet import GROUP_ROWS, PART_ROWS

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["VersionWriter", "Written", "WrittenPart"]

GROUP_BYTES: int = 256 << 20
"""Of one row group before it is compressed: it is held twice while it is written, and with a gigabyte of memory that
must leave room for the rest."""
_REPEATING: Sequence[str] = ("difficulty", "source", "tags.list.element", "expected")
"""Columns whose values come again and again: a dictionary saves room in these alone."""


@dataclass(frozen=True, kw_only=True)
class WrittenPart:
    """One file of a version, complete."""

    path: Path
    rows: int


@dataclass(frozen=True, kw_only=True)
class Written:
    """All files of a version. ``content_hash``: as ``DatasetVersion`` has it."""

    parts: tuple[WrittenPart, ...]
    rows: int
    content_hash: str
    has_embeddings: bool


class VersionWriter:
    """Writes into a folder of its own; closed without ``finish``, what it wrote is of no use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = self._pending_bytes = 0
        self._parts: list[WrittenPart] = []
        self._writer: pq.ParquetWriter | None = None
        self._part_rows = self._rows = 0
        self._hasher = hashlib.sha256()
        self._has_embeddings = False

    def __enter__(self) -> VersionWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()

    def add(self, rows: pa.Table) -> None:
        """More rows of ``schema()``. Raises ``SourceInvalid`` where a row group would not fit into memory."""
        self._count(rows)
        self._pending.extend(rows.to_batches())
        self._pending_rows += rows.num_rows
        self._pending_bytes += rows.nbytes
        if self._pending_bytes > GROUP_BYTES:
            raise SourceInvalid(
                f"The {self._pending_rows:,} rows up to row {self._rows:,} take more than {GROUP_BYTES >> 20} MiB; "
                f"{GROUP_ROWS:,} rows are read at once.",
                remedy="Keep long texts elsewhere, and their addresses in the dataset.",
            )
        while self._pending_rows >= GROUP_ROWS:
            self._write_group()

    def finish(self) -> Written:
        """Complete the last part. Raises ``DatasetEmpty``."""
        if self._pending_rows:
            self._write_group()
        if self._writer is not None:
            self._end_part()
        if not self._rows:
            raise DatasetEmpty()
        return Written(
            parts=tuple(self._parts),
            rows=self._rows,
            content_hash=self._hasher.hexdigest(),
            has_embeddings=self._has_embeddings,
        )

    def _count(self, rows: pa.Table) -> None:
        for chunk in rows.column("digest").chunks:
            first = chunk.offset * DIGEST_BYTES
            self._hasher.update(memoryview(chunk.buffers()[1])[first : first + len(chunk) * DIGEST_BYTES])
        embeddings = rows.column("embedding")
        self._has_embeddings |= embeddings.null_count < len(embeddings)
        self._rows += rows.num_rows

    def _write_group(self) -> None:
        import pyarrow as pa

        table = pa.Table.from_batches(self._pending, schema=schema())
        group, rest = table.slice(0, GROUP_ROWS), table.slice(GROUP_ROWS)
        self._opened().write_table(group, row_group_size=GROUP_ROWS)
        self._part_rows += group.num_rows
        self._pending = rest.to_batches()
        self._pending_rows, self._pending_bytes = rest.num_rows, rest.nbytes
        if self._part_rows == PART_ROWS:
            self._end_part()

    def _opened(self) -> pq.ParquetWriter:
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._path(),
                schema(),
                compression="zstd",
                compression_level=1,
                use_dictionary=list(_REPEATING),
                write_statistics=False,
                write_page_checksum=True,
            )
        return self._writer

    def _end_part(self) -> None:
        assert self._writer is not None
        self._writer.close()
        self._parts.append(WrittenPart(path=self._path(), rows=self._part_rows))
        self._writer, self._part_rows = None, 0

    def _path(self) -> Path:
        return self._folder / f"{len(self._parts):05}.parquet"
