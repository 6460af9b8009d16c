"""Evaluation jobs of a tenant's platform: outputs taken in, jobs submitted, worked on, looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.app import Platform, data_folder
from proctor.jobs.chunks import FEWEST, Cut, chunk_rows
from proctor.jobs.deleting import JobKeeper
from proctor.jobs.errors import JobInvalid
from proctor.jobs.service import JobService
from proctor.jobs.summaries import JobStanding, summarised
from proctor.jobs.values import Job, JobState, NewJob, SampleSet
from proctor.kernel.money import parse_usd
from proctor.queue.service import Band
from proctor.results.reading import ResultReader
from proctor.results.retention import Retention, retention, set_retention
from proctor.results.views import Which
from proctor.streaming.service import forget
from proctor.telemetry.context import trace_id_of_here

if TYPE_CHECKING:
    from proctor.datasets.versions import DatasetVersion
    from proctor.evaluators.service import EvaluatorDetail
    from proctor.jobs.asking import EvaluationRequest
    from proctor.jobs.outputs_files import OutputFields
    from proctor.jobs.scoring import Judge
    from proctor.jobs.targets import Target
    from proctor.jobs.worker import Settled
    from proctor.results.sql import Answer

__all__ = ["Evaluations", "JobSession", "OutputsTold"]


@dataclass(frozen=True, kw_only=True)
class OutputsTold:
    """What is said of a file of outputs. ``model``: what made them, where the rows don't say."""

    dataset: str
    name: str
    model: str | None = None
    source: str = ""


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
        from proctor.jobs.outputs_files import OutputFields, outputs_of
        from proctor.jobs.samples import SampleKeeper, Told

        version = self._platform.datasets.find(self._platform.tenant, told.dataset)
        keeper = SampleKeeper(self._platform.objects, version, data_folder(self._platform.settings, "tmp"))
        about = Told(name=told.name, source=told.source or path.name, model=told.model, creator=creator)
        kept = keeper.keep(about, outputs_of(path, fields or OutputFields()), on_rows)
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

        Raises ``JobInvalid``, ``DatasetUnknown``, ``SamplesUnknown``, ``EvaluatorUnknown``, ``EvaluatorForbidden``."""
        return self._service.submit(self._resolved(request, creator))

    def _resolved(self, request: EvaluationRequest, creator: UUID | None) -> NewJob:
        platform = self._platform
        version = platform.datasets.find(platform.tenant, request.dataset)
        samples, target = self._source(request, version)
        judges, seconds = self.judges(request.evaluators)
        repeats = request.repeats if samples is None else samples.repeats
        return NewJob(
            name=request.name or (samples.name if samples is not None else f"{version.dataset} by {_model(target)}"),
            dataset=version.reference,
            version=version.id,
            samples=samples,
            target=target,
            budget_nano=None if request.budget is None else _budget(request.budget),
            judges=judges,
            cut=Cut(rows=version.rows, repeats=repeats, size=chunk_rows(seconds) if target is None else FEWEST),
            band=Band[request.band.upper()],
            creator=creator,
            trace_id=trace_id_of_here(),
            kept=request.keep,
        )

    def _source(self, request: EvaluationRequest, version: DatasetVersion) -> tuple[SampleSet | None, Target | None]:
        """The outputs to judge, or what is to make them. Raises ``JobInvalid``, ``TargetInvalid``, ``PriceUnknown``."""
        if (request.samples is None) == (request.target is None):
            raise JobInvalid("Name outputs that are kept, or a target that makes them.", where="samples")
        if request.target is not None:
            self._check_target(request.target, has_budget=request.budget is not None)
            return None, request.target
        if request.repeats != 1 or request.budget is not None:
            raise JobInvalid("Outputs that are kept are neither repeated nor paid for.", where="repeats")
        samples = self._service.samples(request.samples or "")
        if samples.dataset_version != version.id:
            raise JobInvalid(
                f"{samples.name} holds outputs of another dataset version than {version.reference}.", where="samples"
            )
        return samples, None

    def _check_target(self, target: Target, *, has_budget: bool) -> None:
        from proctor.models.errors import PriceUnknown

        target.check()
        known = self._platform.known_models
        for model in (target.model, *target.fallbacks):
            known.catalogue.of(model)
            if has_budget and known.prices.of(model) is None:
                raise PriceUnknown(f"{model} has no known price.", where="target.model")

    def judges(self, references: list[str]) -> tuple[tuple[Judge, ...], float]:
        """The evaluators, and how long all of them together take for one example, as far as it was measured.

        Raises ``JobInvalid``, ``EvaluatorUnknown``, ``EvaluatorForbidden``."""
        found = [self._usable(reference) for reference in references]
        judges = tuple(_judge(one) for one in found)
        if len({judge.name for judge in judges}) < len(judges):
            raise JobInvalid("An evaluator is named twice.", where="evaluators")
        return judges, sum(one.row.latency_sec or 0.0 for one in found)

    def _usable(self, reference: str) -> EvaluatorDetail:
        from proctor.evaluators.catalogue import Kind, Means

        found = self._platform.evaluators.usable(self._platform.tenant, reference, Means())[0]
        if found.row.kind is not Kind.METRIC:
            raise JobInvalid(f"{reference} is no metric; jobs judge by metrics so far.", where="evaluators")
        return found

    def jobs(self, *, state: JobState | None = None, before: UUID | None = None, limit: int = 100) -> list[Job]:
        """A page, the newest first."""
        return self._service.jobs(state=state, before=before, limit=limit)

    def job(self, reference: str) -> Job:
        """A job by id, the beginning of one, or name. Raises ``JobUnknown``."""
        return self._service.job(reference)

    def standing(self, reference: str) -> JobStanding:
        """A job with its numbers so far. Raises ``JobUnknown``."""
        job = self._service.job(reference)
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
        )

    @property
    def reader(self) -> ResultReader:
        """Reads results."""
        platform = self._platform
        cache = platform.settings.home / "cache" / "results"
        return ResultReader(platform.database, platform.objects, platform.tenant, cache)

    def results(
        self, reference: str, *, status: str | None = None, after: int = -1, limit: int = 100
    ) -> list[dict[str, object]]:
        """A page of a job's results in the order of evaluator, repeat and row: those after the ``after``-th of them."""
        job = self._service.job(reference)
        wanted = "TRUE" if status is None else "status = ?"
        parameters = [] if status is None else [status]
        with self.reader.opened(Which(jobs=(job.id,))) as results:
            found = results.execute(
                f"SELECT * FROM results WHERE {wanted} ORDER BY evaluator, repeat, row LIMIT ? OFFSET ?",  # noqa: S608
                [*parameters, limit, after + 1],
            ).to_arrow_table()
        return [_told(row) for row in found.to_pylist()]

    @contextmanager
    def sql(self, query: str, jobs: Sequence[str] = ()) -> Iterator[Answer]:
        """The answer of one SELECT over the tenant's results, of those jobs or of all.

        Raises ``QueryRefused``, ``QueryFailed``, ``QueryTooLong``, ``JobUnknown``."""
        from proctor.results.sql import answer

        chosen = tuple(self._service.job(one).id for one in jobs) or None
        with answer(self.reader, Which(jobs=chosen), query, data_folder(self._platform.settings, "tmp")) as found:
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
        return JobSession(self._platform, job)


class JobSession:
    """Works on one job in a thread of this process, until nothing of it is left or it is stopped."""

    def __init__(self, platform: Platform, job: Job) -> None:
        from proctor.engine.worker import recover
        from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
        from proctor.sdk.judging import asking_of, environment_keys

        self.job = job
        self.done = job.done
        """Evaluations that have a result."""
        self._service = JobService(platform.database, platform.tenant)
        settings = ChunkWorkerSettings(
            processes=platform.settings.evaluation_processes, scope=job.id, lease_sec=platform.settings.lease_sec
        )
        asking = asking_of(platform, lambda _tenant: environment_keys)
        self._worker = ChunkWorker(
            platform.database, platform.objects, settings, recover=recover, asking=asking, on_settled=self._settled
        )
        self._thread = threading.Thread(target=self._run, name="evaluator", daemon=True)
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wait(self, timeout: float) -> bool:
        """Wait for the end, at most so many seconds; whether it ended. Raises what ended the worker."""
        self._thread.join(timeout)
        if self._failure is not None:
            raise self._failure
        return not self._thread.is_alive()

    def stop(self) -> None:
        """No new chunks; those under way are finished."""
        self._worker.stop()

    def _run(self) -> None:
        try:
            self._worker.run(lambda: not self._service.job(str(self.job.id)).state.has_ended)
        except BaseException as error:  # noqa: BLE001  kept for whoever waits
            self._failure = error

    def _settled(self, settled: Settled) -> None:
        self.done += settled.rows


def _model(target: Target | None) -> str:
    assert target is not None  # there is one where there are no outputs
    return target.model


def _budget(text: str) -> int:
    """Raises ``JobInvalid``."""
    try:
        return parse_usd(text)
    except ValueError as error:
        raise JobInvalid(f"{text!r} is no amount such as '5 USD'.", where="budget") from error


def _judge(found: EvaluatorDetail) -> Judge:
    from proctor.jobs.scoring import Judge

    row = found.row
    assert row.digest is not None  # it is usable
    return Judge(
        name=row.reference,
        digest=row.digest,
        type=row.type,
        implementation=row.implementation,
        configuration=found.said,
    )


def _told(row: dict[str, object]) -> dict[str, object]:
    sample = row["sample"]
    return {**row, "sample": sample.hex() if isinstance(sample, bytes) else None}


def pages(evaluations: Evaluations, reference: str, *, size: int = 1000) -> Iterator[dict[str, object]]:
    """All results of a job."""
    place = -1
    while page := evaluations.results(reference, after=place, limit=size):
        yield from page
        place += len(page)
