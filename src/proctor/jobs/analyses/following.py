"""Jobs over time: each evaluator's mean job by job, and from which job on the level is another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.jobs.analyses.books import Book, Shelf, reference_of
from proctor.jobs.analyses.segmenting import average_of
from proctor.jobs.analyses.values import Average, History, Moment, Series, Turn
from proctor.jobs.errors import JobInvalid
from proctor.jobs.values import Job

if TYPE_CHECKING:
    from proctor.analysis.changes import LevelChange

__all__ = ["MOST_JOBS", "followed"]

MOST_JOBS: int = 1_000
"""Of one history: the scores of each are read."""


def followed(shelf: Shelf, jobs: Sequence[Job], evaluators: Sequence[str] = (), *, alpha: float = 0.01) -> History:
    """Each evaluator's means in the order in which the jobs were submitted.

    ``alpha``: as ``analysis.changes.level_changes`` has it. Evaluators are all that any job has, without any named.
    Raises ``JobInvalid`` for one that none has, or too many jobs; ``ScoresInvalid``, ``StatsExtraMissing``,
    ``DataExtraMissing``, ``ObjectMissing``.
    """
    if len(jobs) > MOST_JOBS:
        raise JobInvalid(f"{len(jobs):,} jobs are more than {MOST_JOBS:,}.", where="job", remedy="Name fewer.")
    ordered = sorted({job.id: job for job in jobs}.values(), key=lambda job: (job.created_at, job.id))
    names = _names(ordered, evaluators)
    with shelf.opened(*ordered) as book:
        series = tuple(_series(book, ordered, name, alpha) for name in names)
    versions = {job.dataset_version for job in ordered}
    return History(series=series, same_version=len(versions) == 1 and None not in versions)


def _names(jobs: Sequence[Job], wanted: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(judge.name for job in jobs for judge in job.judges))
    for name in wanted:
        if name not in names:
            raise JobInvalid(f"None of the jobs was judged by {name[:100]!r}.", where="evaluator")
    return list(dict.fromkeys(wanted)) or names


def _series(book: Book, jobs: Sequence[Job], evaluator: str, alpha: float) -> Series:
    judged = [job for job in jobs if any(judge.name == evaluator for judge in job.judges)]
    moments = tuple(_moment(book, job, evaluator) for job in judged)
    known = [(one.job.id, one.average.mean) for one in moments if one.average is not None]
    return Series(evaluator=evaluator, moments=moments, changes=tuple(_turns(known, alpha)))


def _turns(known: Sequence[tuple[UUID, float]], alpha: float) -> list[Turn]:
    from proctor.analysis.changes import level_changes

    if not known:
        return []
    return [_turn(known, one) for one in level_changes([mean for _, mean in known], alpha=alpha)]


def _turn(known: Sequence[tuple[UUID, float]], found: LevelChange) -> Turn:
    return Turn(job=known[found.place][0], before=found.before, after=found.after, p=found.p)


def _moment(book: Book, job: Job, evaluator: str) -> Moment:
    average, scored = _average(book, job, evaluator)
    expected = job.cut.rows * job.cut.repeats
    coverage = scored / expected if expected else None
    return Moment(job=reference_of(job), created_at=job.created_at, average=average, coverage=coverage)


def _average(book: Book, job: Job, evaluator: str) -> tuple[Average | None, int]:
    found = book.added(job, evaluator)
    return None if found.mean is None else average_of(found.mean), found.scored
