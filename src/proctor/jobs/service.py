"""Evaluation jobs: submitted, looked at, paused, resumed, cancelled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.jobs.chunks import Chunk, chunk_id
from proctor.jobs.claiming import KIND
from proctor.jobs.errors import JobEnded, JobUnknown, SamplesUnknown
from proctor.jobs.events import JobEvent, tell
from proctor.jobs.pieces import pieces_of
from proctor.jobs.values import Job, JobState, NewJob, SampleSet, job_of, sample_set_of
from proctor.kernel.ids import new_id
from proctor.queue import service as queue
from proctor.results import service as results
from proctor.results.service import Pace

__all__ = ["Gap", "JobService", "enqueue", "find", "known_parts", "unkept", "unkept_streams"]

_run = partial(run_query, "proctor.jobs")

PACE_SEC: float = 10.0
"""How far back is looked to say how fast a job goes: several chunks of the aimed length."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A chunk that failed each time, and why: its rows have no results."""

    chunk: int
    repeat: int
    start: int
    stop: int
    reason: str


class JobService:
    """Jobs of one tenant."""

    def __init__(self, database: Database, tenant: UUID) -> None:
        self._database, self._tenant = database, tenant

    def submit(self, new: NewJob) -> Job:
        """Ask for a job: it is durable, with all its chunks queued, when this returns."""
        identity, tenant = new_id(), self._tenant

        def work(connection: Connection) -> Job:
            if new.samples is not None:
                _stay(connection, tenant, new.samples)
            _run(
                connection,
                "insert_job",
                tenant=tenant,
                id=identity,
                name=new.name,
                spec=json.dumps(new.document()),
                dataset_version=new.version,
                sample_set=None if new.samples is None else new.samples.id,
                budget_nano=new.budget_nano,
                band=new.band,
                rows=new.cut.rows,
                repeats=new.cut.repeats,
                chunk_rows=new.cut.size,
                chunks=new.cut.chunks,
                creator=new.creator,
                trace_id=new.trace_id,
                kept=new.kept,
                stream=new.version is None,
            )
            job = find(connection, tenant, str(identity))
            enqueue(connection, tenant, job, range(job.cut.chunks))
            tell(connection, tenant, job.id, JobEvent.SUBMITTED)
            return job

        return self._database.as_tenant(tenant, work)

    def job(self, reference: str) -> Job:
        """A job by its id, the beginning of one, or its name (the newest). Raises ``JobUnknown``."""
        return self._database.as_tenant(self._tenant, lambda c: find(c, self._tenant, reference))

    def jobs(
        self,
        *,
        state: JobState | None = None,
        words: str | None = None,
        before: UUID | None = None,
        limit: int = 100,
    ) -> list[Job]:
        """A page, the newest first. ``words``: that stand in the name, whatever the case of a to z."""
        wanted = {"tenant": self._tenant, "state": state, "words": words, "before": before, "limit": limit}
        return self._database.as_tenant(self._tenant, lambda c: [job_of(row) for row in _run(c, "list_jobs", **wanted)])

    def named(self, name: str, *, limit: int) -> list[Job]:
        """The newest jobs of that name."""
        wanted = {"tenant": self._tenant, "name": name, "limit": limit}
        return self._database.as_tenant(
            self._tenant, lambda c: [job_of(row) for row in _run(c, "jobs_named", **wanted)]
        )

    def pace(self, job: Job) -> Pace:
        """How fast its results come now."""
        return self._database.as_tenant(self._tenant, lambda c: results.pace(c, self._tenant, job.id, within=PACE_SEC))

    def gaps(self, job: Job) -> list[Gap]:
        """Its chunks that failed each time."""
        letters = self._database.as_tenant(
            self._tenant, lambda c: queue.dead_letters(c, self._tenant, KIND, holder=job.id)
        )
        failed = [int(json.loads(letter.payload)["chunk"]) for letter in letters]
        chunks = self._database.as_tenant(self._tenant, lambda c: _chunks(c, self._tenant, job, failed))
        found = []
        for letter, index in zip(letters, failed, strict=True):
            if (chunk := chunks.get(index)) is None:
                continue  # of a stream whose rows were let go meanwhile
            place = {"chunk": chunk.index, "repeat": chunk.repeat, "start": chunk.start, "stop": chunk.stop}
            found.append(Gap(**place, reason=letter.reason))
        return sorted(found, key=lambda gap: gap.chunk)

    # --- what may be done with one ------------------------------------------------------------------------------------

    def pause(self, reference: str) -> Job:
        """No new chunks; running ones finish. Raises ``JobUnknown``, ``JobEnded``."""

        def work(connection: Connection, job: Job) -> None:
            queue.let_go(connection, self._tenant, KIND, job.id, drop=False)
            _set(connection, self._tenant, job, JobState.PAUSED)

        return self._change(reference, work)

    def cancel(self, reference: str) -> Job:
        """No new chunks, ever; what is there stays. Raises ``JobUnknown``, ``JobEnded``."""

        def work(connection: Connection, job: Job) -> None:
            queue.let_go(connection, self._tenant, KIND, job.id, drop=True)
            _set(connection, self._tenant, job, JobState.CANCELLED)

        return self._change(reference, work)

    def resume(self, reference: str) -> Job:
        """Queue what has no results yet, with fresh tries: of a paused job, or one with gaps or cancelled.

        Raises ``JobUnknown``, ``JobEnded`` where every chunk has its results.
        """

        def work(connection: Connection, job: Job) -> None:
            done = results.chunks_done(connection, self._tenant, job.id)
            left = [one for one in range(job.cut.chunks) if one not in done]
            if job.state.has_ended and not left:
                raise JobEnded("Every chunk has its results.", where=job.name)
            enqueue(connection, self._tenant, job, left)
            _set(connection, self._tenant, job, JobState.RUNNING if job.started_at else JobState.QUEUED)

        return self._change(reference, work, ended=True)

    def _change(self, reference: str, work: Any, *, ended: bool = False) -> Job:
        def whole(connection: Connection) -> Job:
            found = find(connection, self._tenant, reference)
            queue.hold_claims(connection, KIND)
            job = job_of(_run(connection, "lock_job", tenant=self._tenant, id=found.id).one())
            if job.state in (JobState.COMPLETE, JobState.DELETED) or (job.state.has_ended and not ended):
                raise JobEnded(f"It is {job.state}.", where=job.name)
            work(connection, job)
            return find(connection, self._tenant, str(job.id))

        return self._database.as_tenant(self._tenant, whole)

    # --- outputs ------------------------------------------------------------------------------------------------------

    def add_samples(self, new: SampleSet) -> tuple[SampleSet, bool]:
        """Keep outputs whose parts are stored; what is kept, and whether it was not there before."""
        lists = {name: json.dumps([asdict(one) for one in getattr(new, name)]) for name in ("parts", "problems")}
        fields = {**asdict(new), **lists, "model": new.model or ""}
        fields.pop("created_at")

        def work(connection: Connection) -> tuple[SampleSet, bool]:
            fresh = _run(connection, "insert_samples", tenant=self._tenant, **fields).one_or_none() is not None
            return find_samples(connection, self._tenant, str(new.id)), fresh

        return self._database.as_tenant(self._tenant, work)

    def samples(self, reference: str) -> SampleSet:
        """Outputs by id, the beginning of one, or name (the newest). Raises ``SamplesUnknown``."""
        return self._database.as_tenant(self._tenant, lambda c: find_samples(c, self._tenant, reference))

    def sample_sets(self, *, before: UUID | None = None, limit: int = 100) -> list[SampleSet]:
        """A page, the newest first."""
        wanted = {"tenant": self._tenant, "before": before, "limit": limit}
        return self._database.as_tenant(
            self._tenant, lambda c: [sample_set_of(row) for row in _run(c, "list_samples", **wanted)]
        )


def _stay(connection: Connection, tenant: UUID, samples: SampleSet) -> None:
    """Nobody deletes the outputs before this transaction ends. Raises ``SamplesUnknown`` where somebody just did."""
    _run(connection, "keep_samples", tenant=str(tenant), id=str(samples.id))
    if _run(connection, "samples_of", tenant=tenant, ids=[samples.id]).one_or_none() is None:
        raise SamplesUnknown("They were deleted just now.", where=samples.name)


def find(connection: Connection, tenant: UUID, reference: str) -> Job:
    """A job. Raises ``JobUnknown``."""
    rows = _run(connection, "find_jobs", tenant=tenant, **_referred(reference)).all()
    return job_of(_one(rows, reference, JobUnknown))


def find_samples(connection: Connection, tenant: UUID, reference: str) -> SampleSet:
    """Outputs. Raises ``SamplesUnknown``."""
    rows = _run(connection, "find_samples", tenant=tenant, **_referred(reference)).all()
    return sample_set_of(_one(rows, reference, SamplesUnknown))


def unkept_streams(connection: Connection, tenant: UUID) -> list[UUID]:
    """Streams whose rows go when they are as old as the tenant says."""
    return list(_run(connection, "unkept_streams", tenant=tenant).scalars())


def unkept(connection: Connection, tenant: UUID) -> list[UUID]:
    """Jobs whose results go when they are as old as the tenant says."""
    return list(_run(connection, "unkept_jobs", tenant=tenant).scalars())


def known_parts(connection: Connection, tenant: UUID, keys: Sequence[str]) -> set[str]:
    """Which of these objects are parts of outputs that are kept."""
    return set(_run(connection, "known_parts", tenant=tenant, keys=list(keys)).scalars())


_SHORTEST: int = 8
"""Characters of an id that stand for it."""


def _referred(reference: str) -> dict[str, str]:
    is_id = len(reference) >= _SHORTEST and all(one in "0123456789abcdef-" for one in reference.lower())
    return {"reference": reference, "beginning": f"{reference.lower()}%" if is_id else ""}


def _one(rows: Sequence[Any], reference: str, error: type[JobUnknown | SamplesUnknown]) -> Any:
    if not rows:
        raise error(where=reference)
    if rows[0].name != reference and len(rows) > 1:
        raise error("Several ids begin so.", where=reference, remedy="Give more of the id.")
    return rows[0]


def enqueue(connection: Connection, tenant: UUID, job: Job, chunks: Iterable[int]) -> None:
    """Queue chunks of a job, with fresh tries."""
    band = queue.Band(job.band)
    items = [
        queue.Item(id=chunk_id(job.id, index), band=band, payload=json.dumps({"job": str(job.id), "chunk": index}))
        for index in chunks
    ]
    queue.enqueue(connection, tenant, KIND, items, holder=job.id, revive=True)


def _chunks(connection: Connection, tenant: UUID, job: Job, indices: Sequence[int]) -> Mapping[int, Chunk]:
    """What numbers of chunks stand for."""
    if not job.stream:
        return {index: job.cut.chunk(index) for index in indices}
    found = pieces_of(connection, tenant, [(job.id, index) for index in indices])
    return {index: piece.as_chunk for (_, index), piece in found.items()}


_CHANGES: Mapping[JobState, JobEvent] = {
    JobState.PAUSED: JobEvent.PAUSED,
    JobState.CANCELLED: JobEvent.CANCELLED,
}
"""What is told of a job that somebody brought into a state; into any other it is resumed."""


def _set(connection: Connection, tenant: UUID, job: Job, state: JobState) -> None:
    _run(connection, "set_state", tenant=tenant, id=job.id, state=state.value, ended=state.has_ended)
    if state is not job.state:
        tell(connection, tenant, job.id, _CHANGES.get(state, JobEvent.RESUMED))
