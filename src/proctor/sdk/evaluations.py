"""Evaluation jobs of a tenant's platform: outputs taken in, jobs submitted, worked on, looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.app import Platform, data_folder
from proctor.evaluators.statuses import Status
from proctor.jobs.asking import ResultChoice
from proctor.jobs.deleting import JobKeeper
from proctor.jobs.errors import JobInvalid
from proctor.jobs.service import JobService
from proctor.jobs.summaries import JobStanding, summarised
from proctor.jobs.values import Job, JobState, SampleSet
from proctor.results.reading import ResultReader
from proctor.results.retention import Retention, retention, set_retention
from proctor.results.views import Which
from proctor.streaming.service import forget

if TYPE_CHECKING:
    from proctor.jobs.asking import EvaluationRequest
    from proctor.jobs.outputs_files import OutputFields
    from proctor.results.sql import Answer, QueryLimits
    from proctor.sdk.job_sessions import JobSession

__all__ = ["Evaluations", "OutputsTold"]


@dataclass(frozen=True, kw_only=True)
class OutputsTold:
    """What is said of a file of outputs. ``model``: what made them, where the rows don't say."""

    dataset: str
    name: str
    model: str | None = None
    source: str = ""
    skip_malformed: bool = False
    """Whether rows that are no outputs of an example are left out, and told."""


class Evaluations:
    """What the client answers of evaluation jobs."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    @property
    def _service(self) -> JobService:
        return JobService(self._platform.database, self._platform.tenant)

    # --- outputs ------------------------------------------------------------------------------------------------------

    def add_outputs(
        self,
        path: Path,
        told: OutputsTold,
        fields: OutputFields | None = None,
        *,
        creator: UUID | None = None,
        on_rows: Callable[[int], None] = lambda _: None,
    ) -> tuple[SampleSet, bool]:
        """Keep the outputs of a file; what is kept, and whether it was not there before.

        Raises ``SamplesInvalid``, ``DatasetUnknown``."""
        from proctor.datasets.problems import Problems
        from proctor.jobs.outputs_files import OutputFields, outputs_of
        from proctor.jobs.samples import SampleKeeper, Told

        version = self._platform.datasets.find(self._platform.tenant, told.dataset)
        keeper = SampleKeeper(self._platform.objects, version, data_folder(self._platform.settings, "tmp"))
        about = Told(
            name=told.name,
            source=told.source or path.name,
            model=told.model,
            creator=creator,
            skip_malformed=told.skip_malformed,
        )
        problems = Problems()
        kept = keeper.keep(about, outputs_of(path, fields or OutputFields(), problems), problems, on_rows)
        return self._service.add_samples(kept)

    def sample_sets(self, *, before: UUID | None = None, limit: int = 100) -> list[SampleSet]:
        """A page of outputs, the newest first."""
        return self._service.sample_sets(before=before, limit=limit)

    def samples(self, reference: str) -> SampleSet:
        """Outputs by id, the beginning of one, or name. Raises ``SamplesUnknown``."""
        return self._service.samples(reference)

    # --- jobs ---------------------------------------------------------------------------------------------------------

    def submit(self, request: EvaluationRequest, *, creator: UUID | None = None) -> Job:
        """Ask for a job; it is durable when this returns.

        Raises ``JobInvalid``, ``DatasetUnknown``, ``SamplesUnknown``, ``TargetInvalid``, ``EvaluatorUnknown``,
        ``EvaluatorForbidden``, ``PriceUnknown``."""
        from proctor.sdk.evaluation_requests import resolved

        return self._service.submit(resolved(self._platform, request, creator))

    def jobs(
        self,
        *,
        state: JobState | None = None,
        words: str | None = None,
        before: UUID | None = None,
        limit: int = 100,
    ) -> list[Job]:
        """A page, the newest first. ``words``: that stand in the name, whatever the case of a to z."""
        return self._service.jobs(state=state, words=words, before=before, limit=limit)

    def job(self, reference: str) -> Job:
        """A job by id, the beginning of one, or name. Raises ``JobUnknown``."""
        return self._service.job(reference)

    def standing(self, reference: str) -> JobStanding:
        """A job with its numbers so far. Raises ``JobUnknown``."""
        from proctor.models.spending.reading import spent_by_job

        job, platform = self._service.job(reference), self._platform
        rate = None if job.state.has_ended else self._service.pace(job).per_second
        left = None if not rate or job.open else (job.expected - job.done) / rate
        return JobStanding(
            job=job,
            expected=job.expected,
            done=job.done,
            per_second=rate,
            left_sec=left,
            evaluators=tuple(summarised(self.reader, job)),
            gaps=tuple(self._service.gaps(job)),
            spent_nano=platform.database.as_tenant(platform.tenant, lambda c: spent_by_job(c, platform.tenant, job.id)),
        )

    @property
    def reader(self) -> ResultReader:
        """Reads results."""
        platform = self._platform
        cache = platform.settings.home / "cache" / "results"
        return ResultReader(platform.database, platform.objects, platform.tenant, cache)

    def results(
        self, reference: str, choice: ResultChoice | None = None, *, after: int = -1, limit: int = 100
    ) -> list[dict[str, object]]:
        """A page of a job's results in the order of evaluator, repeat and row: those after the ``after``-th of them.

        Raises ``JobUnknown``, ``JobInvalid`` for a status that there is not."""
        wanted = _wanted(choice or ResultChoice())
        job = self._service.job(reference)
        terms = " AND ".join(["TRUE", *wanted])
        with self.reader.opened(Which(jobs=(job.id,))) as results:
            found = results.execute(
                f"SELECT * FROM results WHERE {terms} ORDER BY evaluator, repeat, row LIMIT ? OFFSET ?",  # noqa: S608
                [*wanted.values(), limit, after + 1],
            ).to_arrow_table()
        return [_told(row) for row in found.to_pylist()]

    @contextmanager
    def sql(self, query: str, jobs: Sequence[str] = (), *, limits: QueryLimits | None = None) -> Iterator[Answer]:
        """The answer of one SELECT over the tenant's results, of those jobs or of all. ``limits``: of what it may take.

        Raises ``QueryRefused``, ``QueryFailed``, ``QueryTooLong``, ``JobUnknown``."""
        from proctor.results.sql import answer

        chosen = tuple(self._service.job(one).id for one in jobs) or None
        folder = data_folder(self._platform.settings, "tmp")
        with answer(self.reader, Which(jobs=chosen), query, folder, limits) as found:
            yield found

    def pause(self, reference: str) -> Job:
        """No new chunks; running ones finish. Raises ``JobUnknown``, ``JobEnded``."""
        return self._service.pause(reference)

    def resume(self, reference: str) -> Job:
        """Queue what has no results yet. Raises ``JobUnknown``, ``JobEnded``."""
        return self._service.resume(reference)

    def cancel(self, reference: str) -> Job:
        """End it; what is there stays. Raises ``JobUnknown``, ``JobEnded``."""
        return self._service.cancel(reference)

    # --- what is kept -------------------------------------------------------------------------------------------------

    def delete(self, reference: str, *, by: UUID | None = None) -> Job:
        """Delete a job's results for good; what it was stays on record. Safe to repeat, then by its id.

        Raises ``JobUnknown``, ``JobRunning``, ``JobHeld``."""
        deleted = self._keeper.delete(reference, by=by)
        if deleted.stream:
            forget(self._platform.database, self._platform.tenant, deleted.id)
        return deleted

    def delete_samples(self, reference: str) -> SampleSet:
        """Delete outputs for good. Raises ``SamplesUnknown``, and ``SamplesUsed`` where a job judged them."""
        return self._keeper.delete_samples(reference)

    def hold(self, reference: str, reason: str, *, by: UUID | None = None) -> Job:
        """Put a job under a legal hold. Raises ``JobUnknown``, ``JobInvalid``."""
        return self._keeper.hold(reference, reason, by=by)

    def release(self, reference: str) -> Job:
        """End a job's legal hold; nothing is removed by that. Raises ``JobUnknown``."""
        return self._keeper.release(reference)

    def retention(self) -> Retention:
        """For how many days results of jobs that are not kept stay, and their rollups."""
        platform = self._platform
        return platform.database.as_tenant(platform.tenant, lambda c: retention(c, platform.tenant))

    def set_retention(self, wanted: Retention) -> Retention:
        """Set it for the tenant."""
        platform = self._platform
        platform.database.as_tenant(platform.tenant, lambda c: set_retention(c, platform.tenant, wanted))
        return wanted

    @property
    def _keeper(self) -> JobKeeper:
        platform = self._platform
        return JobKeeper(platform.database, platform.objects, platform.tenant)

    def session(self, job: Job) -> JobSession:
        """A worker in this process for one job, not started."""
        from proctor.sdk.job_sessions import JobSession

        return JobSession(self._platform, job)


def _wanted(choice: ResultChoice) -> dict[str, str | float]:
    """Conditions in SQL with the value of each. Raises ``JobInvalid``."""
    known = [one.value for one in Status]
    if choice.status is not None and choice.status not in known:
        raise JobInvalid(f"There is no status {choice.status[:100]!r}; there are {', '.join(known)}.", where="status")
    said = {
        "status = ?": choice.status,
        "evaluator = ?": choice.evaluator,
        "score >= ?": choice.at_least,
        "score < ?": choice.below,
    }
    return {condition: value for condition, value in said.items() if value is not None}


def _told(row: dict[str, object]) -> dict[str, object]:
    sample = row["sample"]
    return {**row, "sample": sample.hex() if isinstance(sample, bytes) else None}


def pages(evaluations: Evaluations, reference: str, *, size: int = 1000) -> Iterator[dict[str, object]]:
    """All results of a job."""
    place = -1
    while page := evaluations.results(reference, after=place, limit=size):
        yield from page
        place += len(page)
