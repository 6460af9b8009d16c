"""``results``: what a query sees, as a view over files and rows. Imports little: each user's query starts anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.results.schema import COLUMNS

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["Which", "attach", "attach_rollups"]


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
    for file in files:
        file.stat()
    names = ", ".join(COLUMNS)
    sources = []
    if rows.num_rows or not files:
        connection.register("staged_results", rows)
        sources.append(f"SELECT {names} FROM staged_results")  # noqa: S608  names of our own
    if files:
        listed = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
        sources.append(f"SELECT {names} FROM read_parquet([{listed}])")  # noqa: S608  paths of our own
    within = _within(which)
    connection.execute(f"CREATE VIEW results AS SELECT * FROM ({' UNION ALL '.join(sources)}){within}")  # noqa: S608


def attach_rollups(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Make ``rollups`` a view of a file."""
    listed = str(file).replace("'", "''")
    connection.execute(f"CREATE VIEW rollups AS SELECT * FROM read_parquet('{listed}')")  # noqa: S608  of our own


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
