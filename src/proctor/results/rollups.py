"""Rollups: what is left of results that were not kept, by day, evaluator, model and status.

They are sums that can be added up: of several days, and with what comes late. From ``n``, ``scored``, ``score_sum`` and
``score_squares`` follow means and variances over any of them together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.kernel.ids import derived_id

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["ROLLUP_COLUMNS", "add", "rollup_schema", "rollups", "summed"]

_run = partial(run_query, "proctor.results")

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

_SUMS = """
SELECT CAST(time AT TIME ZONE 'UTC' AS DATE)::VARCHAR AS day, evaluator, model, status, count(*) AS n,
       count(score) AS scored, coalesce(sum(score), 0) AS score_sum, coalesce(sum(score * score), 0) AS score_squares,
       min(score) AS score_min, max(score) AS score_max
FROM results GROUP BY ALL
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
    found = results.execute(_SUMS).to_arrow_table().to_pylist()
    return [{"id": str(_identity(row)), **row} for row in found]


def _identity(row: Mapping[str, Any]) -> UUID:
    return derived_id("rollup", row["day"], row["evaluator"], json.dumps(row["model"]), row["status"])


def add(connection: Connection, tenant: UUID, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add sums, in the transaction in which what they are of stops counting."""
    _run(connection, "add_rollups", tenant=tenant, rows=json.dumps(rows))


def rollups(connection: Connection, tenant: UUID) -> pa.Table:
    """A tenant's rollups."""
    import pyarrow as pa

    rows = [dict(row._mapping) for row in _run(connection, "rollups", tenant=tenant)]
    return pa.Table.from_pylist(rows, schema=rollup_schema())
