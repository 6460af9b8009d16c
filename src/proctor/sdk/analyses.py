"""What is computed of a tenant's evaluation jobs. Every call reads; nothing is changed by any."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from proctor.analysis.power import Design
from proctor.app import Platform, data_folder
from proctor.datasets.versions import DatasetVersion
from proctor.jobs.analyses.books import Shelf
from proctor.jobs.analyses.comparing import Sides, compared, moved
from proctor.jobs.analyses.describing import agreed, repeated, spread
from proctor.jobs.analyses.differences import JobComparison, MovedExample
from proctor.jobs.analyses.failing import failed
from proctor.jobs.analyses.figures import JobReport
from proctor.jobs.analyses.following import MOST_JOBS, followed
from proctor.jobs.analyses.planning import Plan, planned
from proctor.jobs.analyses.reporting import reported
from proctor.jobs.analyses.segmenting import parted
from proctor.jobs.analyses.values import (
    Agreement,
    By,
    History,
    JobFailures,
    Repeats,
    Segments,
    Spread,
)
from proctor.jobs.service import JobService
from proctor.jobs.values import Job
from proctor.results.reading import ResultReader

__all__ = ["JobAnalyses"]


class JobAnalyses:
    """What the client computes of evaluation jobs.

    A job is named by its id, the beginning of one, or its name; evaluators by their names, all of them without any.
    Every call raises ``JobUnknown``, ``JobInvalid`` for an evaluator that a job has not, ``DataExtraMissing`` and
    ``StatsExtraMissing`` where a library is not installed.
    """

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    @property
    def _jobs(self) -> JobService:
        return JobService(self._platform.database, self._platform.tenant)

    def compare(
        self,
        job: str,
        against: str,
        *,
        evaluators: Sequence[str] = (),
        margin: float | None = None,
        alpha: float = 0.05,
    ) -> JobComparison:
        """A job less another, example by example. ``margin``: asks for a verdict, and is how much worse is none.

        Raises ``ScoresInvalid`` for a margin or an alpha that can't be."""
        return compared(self._shelf, self._sides(job, against, evaluators), margin=margin, alpha=alpha)

    def moved(
        self, job: str, against: str, *, evaluator: str | None = None, after: int = -1, limit: int = 100
    ) -> list[MovedExample]:
        """A page of the examples that are scored differently, the largest drops first: after the ``after``-th.

        ``evaluator``: by which; needed where the two jobs have several in common."""
        sides = self._sides(job, against, [] if evaluator is None else [evaluator])
        return moved(self._shelf, sides, after=after, limit=limit)

    def segments(self, job: str, by: By = By.TAG, *, evaluators: Sequence[str] = ()) -> list[Segments]:
        """Each evaluator's scores by tag, difficulty or source of the examples, corrected (Holm)."""
        return parted(self._shelf, self._jobs.job(job), by, evaluators)

    def failures(self, job: str, *, evaluator: str | None = None) -> JobFailures:
        """What has no score: by status, and by what the errors say."""
        return failed(self._shelf, self._jobs.job(job), evaluator)

    def distribution(self, job: str, *, evaluators: Sequence[str] = ()) -> list[Spread]:
        """How each evaluator's scores are spread."""
        return spread(self._shelf, self._jobs.job(job), evaluators)

    def repeats(self, job: str, ks: Sequence[int] = (1,), *, evaluators: Sequence[str] = ()) -> list[Repeats]:
        """pass@k and pass^k. Raises ``StatisticUndefined``, ``ScoresInvalid`` where no evaluator has them."""
        return repeated(self._shelf, self._jobs.job(job), ks, evaluators)

    def agreement(
        self, job: str, *, evaluators: Sequence[str] = (), level: str | None = None, decimals: int | None = None
    ) -> Agreement:
        """How far evaluators agree beyond chance. ``decimals``: round scores first.

        Raises ``ScoresInvalid`` for more than 101 different scores."""
        return agreed(self._shelf, self._jobs.job(job), evaluators, level=level, decimals=decimals)

    def history(self, jobs: Sequence[str], *, evaluators: Sequence[str] = (), alpha: float = 0.01) -> History:
        """Means over time, and where the level changed. A name stands for all jobs that have it."""
        found = [one for reference in jobs for one in self._all(reference)]
        return followed(self._shelf, found, evaluators, alpha=alpha)

    def report(self, job: str, against: str | None = None) -> JobReport:
        """Numbers, comparison, distributions, segments and failures of a job, each figure with its SQL."""
        other = None if against is None else self._jobs.job(against)
        return reported(self._shelf, self._jobs.job(job), other)

    @staticmethod
    def power(design: Design, *, difference: float | None, items: int | None, power: float = 0.8) -> Plan:
        """What a comparison of that design takes, or shows. Raises ``StatisticUndefined``, ``ScoresInvalid``."""
        return planned(design, difference=difference, items=items, power=power)

    def _all(self, reference: str) -> list[Job]:
        return self._jobs.named(reference, limit=MOST_JOBS + 1) or [self._jobs.job(reference)]

    def _sides(self, job: str, against: str, evaluators: Sequence[str]) -> Sides:
        return Sides(a=self._jobs.job(job), b=self._jobs.job(against), evaluators=evaluators)

    @property
    def _shelf(self) -> Shelf:
        platform = self._platform
        cache = platform.settings.home / "cache" / "results"
        reader = ResultReader(platform.database, platform.objects, platform.tenant, cache)
        scratch = data_folder(platform.settings, "tmp")
        return Shelf(reader=reader, objects=platform.objects, version=self._version, scratch=scratch)

    def _version(self, identity: UUID) -> DatasetVersion:
        return self._platform.datasets.find(self._platform.tenant, str(identity))
