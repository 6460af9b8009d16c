"""``results`` and ``daily``: what a query sees, as views over files and rows.

Imports little: each user's query starts anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.results.schema import COLUMNS
from proctor.results.sums import ROLLUP_COLUMNS, SUMS

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["Which", "attach", "attach_daily", "attach_rollups", "parquet"]


@dataclass(frozen=True, kw_only=True)
class Which:
    """Which results: of these jobs (``None``: of all), evaluated within an interval."""

    jobs: tuple[UUID, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None


def attach(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], rows: pa.Table, which: Which | None = None
) -> None:
    """Make ``results`` a view of files and of rows, in the order of the documented columns.

    Raises ``FileNotFoundError`` where a file is not there.
    """
    _attach(connection, "results", files, rows, which)


def attach_daily(
    connection: duckdb.DuckDBPyConnection,
    sums: str,
    files: Sequence[Path],
    rows: pa.Table,
    which: Which | None = None,
) -> None:
    """Make ``daily`` a view of results added up.

    ``sums``: a relation that holds those that are added up already; files and rows: of the others. Raises
    ``FileNotFoundError`` where a file is not there.
    """
    _attach(connection, "results_not_summed", files, rows, which)
    own = SUMS.format(source="results_not_summed")
    connection.execute(_DAILY.format(columns=", ".join(ROLLUP_COLUMNS), sums=sums, own=own))


_DAILY = """
CREATE VIEW daily AS
SELECT day, evaluator, model, status, sum(n)::BIGINT AS n, sum(scored)::BIGINT AS scored, sum(score_sum) AS score_sum,
       sum(score_squares) AS score_squares, min(score_min) AS score_min, max(score_max) AS score_max
FROM (SELECT {columns} FROM {sums} UNION ALL SELECT * REPLACE (CAST(day AS DATE) AS day) FROM ({own}))
GROUP BY day, evaluator, model, status
"""


def _attach(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], rows: pa.Table, which: Which | None
) -> None:
    for file in files:
        file.stat()
    names = ", ".join(COLUMNS)
    sources = []
    if rows.num_rows or not files:
        connection.register(f"staged_{name}", rows)
        sources.append(f"SELECT {names} FROM staged_{name}")  # noqa: S608  names of our own
    if files:
        sources.append(f"SELECT {names} FROM {parquet(*files)}")  # noqa: S608  paths of our own
    within = _within(which)
    connection.execute(f"CREATE VIEW {name} AS SELECT * FROM ({' UNION ALL '.join(sources)}){within}")  # noqa: S608


def attach_rollups(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Make ``rollups`` a view of a file."""
    connection.execute(f"CREATE VIEW rollups AS SELECT * FROM {parquet(file)}")  # noqa: S608  of our own


def parquet(*files: Path) -> str:
    """Files as a relation of DuckDB's."""
    listed = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
    return f"read_parquet([{listed}])"


def _within(which: Which | None) -> str:
    """The condition on times, for batches that reach beyond an interval."""
    if which is None or (which.since is None and which.until is None):
        return ""
    bounds = []
    if which.since is not None:
        bounds.append(f"time >= TIMESTAMPTZ '{which.since.isoformat()}'")
    if which.until is not None:
        bounds.append(f"time < TIMESTAMPTZ '{which.until.isoformat()}'")
    return f" WHERE {' AND '.join(bounds)}"
