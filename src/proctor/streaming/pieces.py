"""Rows of a stream as the parts that its chunks are judged from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.jobs.pieces import Piece, pieces_prefix
from proctor.jobs.samples_schema import sample_digest, sample_schema
from proctor.kernel.extras import need_data_extra
from proctor.kernel.ids import new_id
from proctor.objects.parquet import GROUP_ROWS, Part, PartWriter
from proctor.objects.store import ObjectStore
from proctor.streaming.values import Row

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PIECE_CHARACTERS", "placed", "stored_pieces"]

PIECE_CHARACTERS: int = 32 << 20
"""Of texts in a chunk: a worker holds several at once."""


@cache
def row_schema() -> pa.Schema:
    """What was asked and expected: a dataset's columns, as far as they are judged by, and when the row was made."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("input", pa.string()),
            pa.field("input_is_json", pa.bool_(), nullable=False),
            pa.field("expected", pa.string()),
            pa.field("expected_is_json", pa.bool_(), nullable=False),
            pa.field("metadata", pa.string()),
            pa.field("digest", pa.binary(16), nullable=False),
            pa.field("time", pa.timestamp("us", tz="UTC")),
        ],
        metadata={"proctor.stream": "1"},
    )


def stored_pieces(
    objects: ObjectStore, tenant: UUID, job: UUID, rows: Sequence[Row], folder: Path
) -> list[tuple[Part, Part]]:
    """Write rows as the parts of as many chunks as they make; nothing names them yet. Raises ``ObjectStoreFull``."""
    need_data_extra()
    return [_stored(objects, tenant, job, some, folder) for some in _cut(rows)]


def placed(parts: Sequence[tuple[Part, Part]], *, chunk: int, start: int) -> list[Piece]:
    """The parts as pieces, numbered and placed one after the other."""
    pieces = []
    for examples, outputs in parts:
        pieces.append(Piece(chunk=chunk, start=start, examples=examples, outputs=outputs))
        chunk, start = chunk + 1, start + examples.rows
    return pieces


def _cut(rows: Sequence[Row]) -> list[list[Row]]:
    found: list[list[Row]] = []
    size = 0
    for row in rows:
        if not found or len(found[-1]) == GROUP_ROWS or size + row.size > PIECE_CHARACTERS:
            found.append([])
            size = 0
        found[-1].append(row)
        size += row.size
    return found


def _stored(objects: ObjectStore, tenant: UUID, job: UUID, rows: Sequence[Row], folder: Path) -> tuple[Part, Part]:
    prefix = f"{pieces_prefix(tenant, job)}{new_id()}"
    return (
        _written(objects, f"{prefix}/examples", _examples(rows), folder),
        _written(objects, f"{prefix}/outputs", _outputs(rows), folder),
    )


def _written(objects: ObjectStore, prefix: str, table: pa.Table, folder: Path) -> Part:
    with PartWriter(objects, prefix, table.schema, folder=folder) as writer:
        writer.write(table)
        (part,) = writer.finish()
    return part


def _examples(rows: Sequence[Row]) -> pa.Table:
    import pyarrow as pa

    schema = row_schema()
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in schema]
    return pa.table(columns, schema=schema)


def _outputs(rows: Sequence[Row]) -> pa.Table:
    """As outputs that are kept look; a row of a stream has one."""
    import pyarrow as pa

    schema = sample_schema()
    known = {
        "output": [row.output for row in rows],
        "output_is_json": [row.output_is_json for row in rows],
        "digest": [sample_digest(row.digest, row.output, is_json=row.output_is_json) for row in rows],
        "model": [row.model for row in rows],
    }
    nothing = [None] * len(rows)
    columns = [pa.array(known.get(field.name, nothing), field.type) for field in schema]
    return pa.table(columns, schema=schema)
