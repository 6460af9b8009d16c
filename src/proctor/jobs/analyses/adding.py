"""The mean of an evaluator's scores in a job: added up by DuckDB, since a hundred million fit no column of numpy's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proctor.database.queries import query_text
from proctor.jobs.values import Job

if TYPE_CHECKING:
    import duckdb

    from proctor.analysis.means import Mean

__all__ = ["Added", "added"]


@dataclass(frozen=True, kw_only=True)
class Added:
    """Scores of an evaluator: how many, their sum, and their mean, ``None`` where there is none."""

    scored: int
    total: float
    mean: Mean | None


def added(results: duckdb.DuckDBPyConnection, job: Job, evaluator: str) -> Added:
    """The mean is clustered by example where there are repeats, and weighted by the inverse of the probability where
    routing chose.

    ``results`` are opened for reading; of a stream that has grown since ``job`` was read the rows of then count. Raises
    ``ObjectMissing``, ``StatsExtraMissing``.
    """
    from proctor.analysis.means import Sums, mean_of_sums

    judge = next(judge for judge in job.judges if judge.name == evaluator)
    clustered, weighted = job.cut.repeats > 1, judge.route is not None
    query = "add_up_clusters" if clustered else "add_up_weighted" if weighted else "add_up"
    told = {"job": str(job.id), "evaluator": evaluator, "rows": job.cut.rows}
    items, clusters, mean, spread, effective, binary, total = _row(results, query, told)
    if not items:
        return Added(scored=0, total=0.0, mean=None)
    sums = Sums(
        items=items,
        clusters=clusters,
        effective_clusters=effective if weighted else float(clusters),
        mean=mean,
        spread=spread,
        binary=binary,
        clustered=clustered,
        weighted=weighted,
    )
    return Added(scored=items, total=total, mean=mean_of_sums(sums))


def _row(results: duckdb.DuckDBPyConnection, query: str, told: dict[str, object]) -> tuple[Any, ...]:
    """The same numbers each time. Threads add in an order of their own, which shows in a sum's last digits, unless all
    that is added are whole numbers: passes and fails, each for itself."""
    text = query_text("proctor.jobs.analyses", query)
    if query == "add_up":
        (row,) = results.execute(text, told).fetchall()
        if row[5] is not False:  # all are 0 or 1, or there are none
            return tuple(row)
    results.execute("SET threads = 1")
    try:
        (row,) = results.execute(text, told).fetchall()
    finally:
        results.execute("RESET threads")
    return tuple(row)
