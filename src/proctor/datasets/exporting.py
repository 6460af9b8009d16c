"""A version written to a file: JSONL and Parquet read back as the same version, CSV as far as text goes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor.datasets.errors import FormatUnclear
from proctor.datasets.examples import unstored
from proctor.datasets.reading import tables
from proctor.datasets.schema import schema
from proctor.datasets.versions import DatasetVersion
from proctor.kernel.canonical import Json, canonical_json
from proctor.objects.store import ObjectStore

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ExportFormat", "export_format", "write_version"]

_CELLS = ("id", "input", "expected", "difficulty", "source", "tags", "embedding", "metadata")


class ExportFormat(StrEnum):
    """What is written."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


def export_format(path: Path, wanted: ExportFormat | None) -> ExportFormat:
    """The format that is wanted, else what the file's name says. Raises ``FormatUnclear``."""
    if wanted is not None:
        return wanted
    try:
        return ExportFormat(path.suffix.lower().removeprefix("."))
    except ValueError:
        raise FormatUnclear(where=str(path), remedy="Name it with --format: jsonl, csv or parquet.") from None


def write_version(
    objects: ObjectStore, version: DatasetVersion, path: Path, kind: ExportFormat, on_rows: Callable[[int], None]
) -> None:
    """Write all rows to a new file. Raises ``ObjectMissing``, ``ObjectDamaged`` and what the file system says."""
    _WRITERS[kind](_told(tables(objects, version), on_rows), path)


def _told(rows: Iterator[pa.Table], on_rows: Callable[[int], None]) -> Iterator[pa.Table]:
    for table in rows:
        yield table
        on_rows(table.num_rows)


def _rows(rows: Iterator[pa.Table]) -> Iterator[Mapping[str, Any]]:
    for table in rows:
        for batch in table.to_batches(max_chunksize=1000):
            yield from map(unstored, batch.to_pylist())


def _write_jsonl(rows: Iterator[pa.Table], path: Path) -> None:
    with path.open("x", encoding="utf-8") as file:
        for row in _rows(rows):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_csv(rows: Iterator[pa.Table], path: Path) -> None:
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _CELLS)
        writer.writeheader()
        for row in _rows(rows):
            writer.writerow({name: _cell(value) for name, value in row.items()})


def _cell(value: Json) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()


def _write_parquet(rows: Iterator[pa.Table], path: Path) -> None:
    import pyarrow.parquet as pq

    with path.open("xb") as file, pq.ParquetWriter(file, schema(), compression="zstd") as writer:
        for table in rows:
            writer.write_table(table)


_WRITERS: Mapping[ExportFormat, Callable[[Iterator[pa.Table], Path], None]] = {
    ExportFormat.JSONL: _write_jsonl,
    ExportFormat.CSV: _write_csv,
    ExportFormat.PARQUET: _write_parquet,
}
