"""Results added up by day, evaluator, model and status: sums of several days, and of late rows, can be added up again.

From ``n``, ``scored``, ``score_sum`` and ``score_squares`` follow means and variances over any of them together.
Imports little: each user's query starts anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any
from uuid import UUID

from proctor.kernel.ids import derived_id

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["ROLLUP_COLUMNS", "SUMS", "as_table", "rollup_schema", "summed"]

ROLLUP_COLUMNS: Mapping[str, str] = {
    "day": "on which the results were evaluated, UTC",
    "evaluator": "name@version",
    "model": "the model that made the outputs, as it was told; null: nobody said",
    "status": "one of the score statuses",
    "n": "results",
    "scored": "of them those with a score",
    "score_sum": "sum of their scores",
    "score_squares": "sum of the squares of their scores",
    "score_min": "the least score; null: there is none",
    "score_max": "the largest score; null: there is none",
}
"""Name and meaning of each."""

SUMS: str = """
SELECT CAST(time AT TIME ZONE 'UTC' AS DATE)::VARCHAR AS day, evaluator, model, status, count(*) AS n,
       count(score) AS scored, coalesce(sum(score), 0) AS score_sum, coalesce(sum(score * score), 0) AS score_squares,
       min(score) AS score_min, max(score) AS score_max
FROM {source} GROUP BY ALL
"""


def rollup_schema() -> pa.Schema:
    """The Arrow schema of rollups."""
    import pyarrow as pa

    types = {"day": pa.date32(), "n": pa.int64(), "scored": pa.int64()}
    types |= {name: pa.string() for name in ("evaluator", "model", "status")}
    types |= {name: pa.float64() for name in ("score_sum", "score_squares", "score_min", "score_max")}
    nullable = {"model", "score_min", "score_max"}
    return pa.schema([pa.field(name, types[name], nullable=name in nullable) for name in ROLLUP_COLUMNS])


def summed(results: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """The rollups of the rows of ``results``, with their ids."""
    found = results.execute(SUMS.format(source="results")).to_arrow_table().to_pylist()
    return [{"id": str(_identity(row)), **row} for row in found]


def _identity(row: Mapping[str, Any]) -> UUID:
    return derived_id("rollup", row["day"], row["evaluator"], json.dumps(row["model"]), row["status"])


def as_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rollups as Arrow. A day is a date, or a text as 2026-12-01."""
    import pyarrow as pa

    return pa.Table.from_pylist(
        [{**row, "day": date.fromisoformat(str(row["day"]))} for row in rows], schema=rollup_schema()
    )
