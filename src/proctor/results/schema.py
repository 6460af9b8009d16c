"""The columns of a result, in the order of its Parquet files. docs/reference/results-schema.md says the same.

A result is identified by (tenant, sample, evaluator version, repeat), each a column: no digest is taken for a row.
Columns that are alike over a chunk are dictionaries, which cost nothing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["COLUMNS", "SCHEMA_VERSION", "encoded", "result_schema", "result_writer"]

SCHEMA_VERSION: int = 1

COLUMNS: Mapping[str, str] = {
    "job": "the job's id",
    "dataset_version": "the id of the version whose example it is; null: the row came through a stream",
    "row": "the example's position in that version or stream, from 0",
    "example": "the example's id",
    "sample": "the first 16 bytes of sha256 over the example and the output that was judged; null: there was no output",
    "target": "what made the output: digest of model, prompt version and parameters, or of a command; null: not known",
    "model": "the model that made the output, as it was told; null: nobody said",
    "evaluator": "name@version",
    "evaluator_version": "digest of the evaluator's type, its implementation's version and its configuration",
    "repeat": "from 0",
    "score": "null unless the status is scored",
    "label": "the evaluator's word for it, where it gives one",
    "status": "one of the score statuses",
    "error": "what was wrong, where the status is not scored",
    "seconds": "execution time of this evaluation: its share of the batch it was made in",
    "cost_nano": "nano-dollars that this evaluation cost; 0: it was local; null: not known",
    "probability": "with which it was chosen to be evaluated; 1 unless routing chose",
    "trace_id": "of the job",
    "time": "when it was evaluated, UTC",
}
"""Name and meaning of each."""

_DICTIONARIES: tuple[str, ...] = (
    "job",
    "dataset_version",
    "target",
    "model",
    "evaluator",
    "evaluator_version",
    "label",
    "status",
    "trace_id",
)

_NUMBERS: tuple[str, ...] = ("repeat", "score", "seconds", "cost_nano", "probability", "time")
_LONG: tuple[str, ...] = ("row", "example", "sample", "error")
"""What takes room, and few queries read. The others are small as their encodings leave them, and lz4 is read faster."""


@cache
def result_schema() -> pa.Schema:
    """The Arrow schema of a batch."""
    import pyarrow as pa

    word = pa.dictionary(pa.int32(), pa.string())
    types = {
        **dict.fromkeys(_DICTIONARIES, word),
        "status": pa.dictionary(pa.int8(), pa.string()),
        "row": pa.int64(),
        "example": pa.string(),
        "sample": pa.binary(16),
        "repeat": pa.int32(),
        "score": pa.float64(),
        "error": pa.string(),
        "seconds": pa.float32(),
        "cost_nano": pa.int64(),
        "probability": pa.float32(),
        "time": pa.timestamp("us", tz="UTC"),
    }
    nullable = {"dataset_version", "sample", "target", "model", "score", "label", "error", "cost_nano"}
    fields = [pa.field(name, types[name], nullable=name in nullable) for name in COLUMNS]
    return pa.schema(fields, metadata={"proctor.results": str(SCHEMA_VERSION)})


def encoded(table: pa.Table) -> bytes:
    """A batch as a Parquet file."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with result_writer(sink) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def result_writer(target: Path | pa.NativeFile) -> pq.ParquetWriter:
    """Writes batches: each column in the encoding that suits it, bounds for those that queries narrow by."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        target,
        result_schema(),
        compression={name: "zstd" if name in _LONG else "lz4" for name in COLUMNS},
        compression_level=dict.fromkeys(_LONG, 1),
        use_dictionary=[*_DICTIONARIES, *_NUMBERS, "error"],
        column_encoding={"row": "DELTA_BINARY_PACKED", "example": "DELTA_BYTE_ARRAY", "sample": "PLAIN"},
        write_statistics=["job", "model", "evaluator", "status", "row", "repeat", "time", "score"],
        store_schema=True,
    )
