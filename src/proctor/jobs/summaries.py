"""What a job says: for each evaluator how many were scored, their mean with its error, and what the missing leave open.

The mean is over what is scored, clustered by example where there are repeats, and weighted by the inverse of the
probability where routing chose; the bounds are over all that was expected. The three are always told together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.analysis.intervals import Interval
from proctor.jobs.analyses.adding import added
from proctor.jobs.service import Gap
from proctor.jobs.values import Job
from proctor.results.reading import ResultReader
from proctor.results.views import Which

if TYPE_CHECKING:
    import duckdb

__all__ = ["EvaluatorSummary", "JobStanding", "summarised"]


@dataclass(frozen=True, kw_only=True)
class EvaluatorSummary:
    """One evaluator's numbers in a job. ``counts``: results by status; what has no result yet is in none.

    ``coverage``: scored of expected; ``bounds``: of the mean over all that is expected, whatever the missing scores
    are between 0 and 1. Both are ``None`` of a stream to which nothing came.
    """

    evaluator: str
    digest: str
    expected: int
    counts: Mapping[str, int]
    scored: int
    mean: float | None
    error: float | None
    interval: Interval | None
    coverage: float | None
    bounds: Interval | None


@dataclass(frozen=True, kw_only=True)
class JobStanding:
    """A job with its numbers. ``per_second``: evaluations now; ``left_sec``: at that rate; ``None``: not known."""

    job: Job
    expected: int
    done: int
    per_second: float | None
    left_sec: float | None
    evaluators: tuple[EvaluatorSummary, ...]
    gaps: tuple[Gap, ...]
    spent_nano: int = 0
    """Nano-dollars that its calls of models have cost so far."""


def summarised(reader: ResultReader, job: Job) -> list[EvaluatorSummary]:
    """The numbers of a job so far, in the order of its evaluators. Raises ``ObjectMissing``, ``StatsExtraMissing``."""
    with reader.opened(Which(jobs=(job.id,))) as results:
        return [_summary(results, job, name) for name in [judge.name for judge in job.judges]]


def _summary(results: duckdb.DuckDBPyConnection, job: Job, evaluator: str) -> EvaluatorSummary:
    judge = next(judge for judge in job.judges if judge.name == evaluator)
    sums = added(results, job, evaluator)
    found, expected = sums.mean, job.cut.rows * job.cut.repeats
    missing = expected - sums.scored
    return EvaluatorSummary(
        evaluator=evaluator,
        digest=judge.digest,
        expected=expected,
        counts=job.counts.get(evaluator, {}),
        scored=sums.scored,
        mean=None if found is None else found.value,
        error=None if found is None else found.error,
        interval=None if found is None else _possible(found.interval),
        coverage=sums.scored / expected if expected else None,
        bounds=Interval(sums.total / expected, (sums.total + missing) / expected) if expected else None,
    )


def _possible(found: Interval | None) -> Interval | None:
    """What of an interval a mean of scores from 0 to 1 can be."""
    return None if found is None else Interval(max(0.0, found.low), min(1.0, found.high))
