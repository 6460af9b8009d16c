"""Answers of SQL, for a terminal and as files."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from proctor.kernel.paths import new_file
from proctor.reports.formats import UNKNOWN, one_line
from proctor.reports.tables import table

if TYPE_CHECKING:
    import pyarrow as pa

    from proctor.results.sql import Answer

__all__ = ["answer_table", "write_answer"]


def answer_table(answer: Answer, *, most: int) -> tuple[Table, bool]:
    """The first rows, and whether there are more."""
    names = list(answer.schema.names)
    made = table(*names, right=[name for name in names if _is_number(answer.schema.field(name).type)])
    rows = (row for batch in answer.batches for row in batch.to_pylist())
    for row in islice(rows, most):
        made.add_row(*(_cell(row[name]) for name in names))
    return made, next(rows, None) is not None


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _cell(value: Any) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value.hex() if isinstance(value, bytes) else one_line(str(value))


def write_answer(answer: Answer, path: Path) -> int:
    """Write all of it to a new file, of the kind that its ending says, or nothing; how many rows."""
    rows = 0
    with new_file(path) as filling, _writer(filling, path.suffix, answer.schema) as writer:
        for batch in answer.batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _writer(path: Path, suffix: str, schema: pa.Schema) -> Any:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    makers = {".parquet": pyarrow.parquet.ParquetWriter, ".csv": pyarrow.csv.CSVWriter, ".arrow": pa.ipc.new_file}
    return makers[suffix](str(path), schema)
