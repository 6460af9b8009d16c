"""The mean of an evaluator's scores in a job: added up by DuckDB, since a hundred million fit no column of numpy's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    (row,) = results.execute(query_text("proctor.jobs.analyses", query), told).fetchall()
    items, clusters, mean, spread, effective, binary, total = row
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
