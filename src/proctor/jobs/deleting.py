"""Deletion by name and legal holds: what is removed is removed at once, and what is held is not.

The row that says that results or outputs are gone commits before their objects go: no reader is told of them any more.
A process that dies in between leaves objects that no longer count; the same command again removes them, and so does
the server (results: after two hours) or ``proctor gc`` (outputs: after a week).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.jobs.asking import LONGEST_REASON
from proctor.jobs.chunks import chunk_id
from proctor.jobs.claiming import KIND
from proctor.jobs.errors import JobHeld, JobInvalid, JobRunning, JobUnknown, SamplesUsed
from proctor.jobs.events import JobEvent, tell
from proctor.jobs.pieces import pieces_prefix
from proctor.jobs.service import find, find_samples
from proctor.jobs.values import Job, JobState, SampleSet, job_of
from proctor.objects.store import ObjectStore
from proctor.queue import removing
from proctor.queue import service as queue
from proctor.results import service as results

__all__ = ["JobKeeper", "erase"]

_run = partial(run_query, "proctor.jobs")
_DROPPED: int = 10_000
"""Rows of the queue to a statement: its list of ids stays under a megabyte."""


class JobKeeper:
    """Deletes and holds jobs of one tenant, and deletes outputs."""

    def __init__(self, database: Database, objects: ObjectStore, tenant: UUID) -> None:
        self._database, self._objects, self._tenant = database, objects, tenant

    def delete(self, reference: str, *, by: UUID | None = None) -> Job:
        """Delete a job's results for good; what is left says what it was, who deleted it and when. Safe to repeat.

        Raises ``JobUnknown``, ``JobRunning`` of one that has not ended, ``JobHeld``.
        """

        def work(connection: Connection) -> Job:
            job = self._locked(connection, reference)
            if job.hold is not None:
                raise JobHeld(f"It is held: {job.hold.reason}", where=job.name)
            if not job.state.has_ended or self._still_worked_on(connection, job):
                raise JobRunning(f"It is {job.state}, and chunks of it may be under way.", where=job.name)
            results.end_job(connection, self._tenant, job.id)
            _run(connection, "drop_stream", tenant=self._tenant, id=job.id)
            if _run(connection, "delete_job", tenant=self._tenant, id=job.id, by=by).rowcount:
                tell(connection, self._tenant, job.id, JobEvent.DELETED)
            return find(connection, self._tenant, str(job.id))

        deleted = self._database.as_tenant(self._tenant, work)
        results.remove_ended(self._database, self._objects, self._tenant, deleted.id)
        if deleted.stream:
            for key in self._objects.list(pieces_prefix(self._tenant, deleted.id)):
                self._objects.delete(key)
        return deleted

    def _still_worked_on(self, connection: Connection, job: Job) -> bool:
        """Remove its rows of the queue; whether somebody runs one of them."""
        return any(removing.drop(connection, self._tenant, KIND, ids) for ids in _chunk_ids(job))

    def hold(self, reference: str, reason: str, *, by: UUID | None = None) -> Job:
        """Let nothing remove a job or its results, present and to come. A first hold stays as it was put.

        Raises ``JobUnknown``, of a deleted one too; ``JobInvalid`` where the reason is empty or too long.
        """
        if not 0 < len(reason.strip()) <= LONGEST_REASON:
            raise JobInvalid(f"A hold has a reason of at most {LONGEST_REASON} characters.", where="reason")

        def work(connection: Connection) -> Job:
            job = self._locked(connection, reference)
            if job.state is JobState.DELETED:
                raise JobUnknown("It was deleted.", where=reference)
            _run(connection, "hold_job", tenant=self._tenant, id=job.id, by=by, reason=reason.strip())
            results.hold(connection, self._tenant, job.id, held=True)
            return find(connection, self._tenant, str(job.id))

        return self._database.as_tenant(self._tenant, work)

    def release(self, reference: str) -> Job:
        """End a legal hold; nothing is removed by that. Raises ``JobUnknown``."""

        def work(connection: Connection) -> Job:
            job = self._locked(connection, reference)
            _run(connection, "release_job", tenant=self._tenant, id=job.id)
            results.hold(connection, self._tenant, job.id, held=False)
            return find(connection, self._tenant, str(job.id))

        return self._database.as_tenant(self._tenant, work)

    def delete_samples(self, reference: str) -> SampleSet:
        """Delete outputs for good; what they were. Raises ``SamplesUnknown``, and ``SamplesUsed`` of a job's."""

        def work(connection: Connection) -> SampleSet:
            found = find_samples(connection, self._tenant, reference)
            key = {"tenant": self._tenant, "id": found.id}
            _run(connection, "lock_samples", tenant=str(self._tenant), id=str(found.id))
            if (job := _run(connection, "jobs_on_samples", **key).scalar_one_or_none()) is not None:
                raise SamplesUsed(f"The job {job} judged them.", where=found.name)
            _run(connection, "delete_samples", **key)
            return found

        gone = self._database.as_tenant(self._tenant, work)
        for part in gone.parts:
            self._objects.delete(part.key)
        return gone

    def _locked(self, connection: Connection, reference: str) -> Job:
        """The job, while nobody claims, settles or changes any of it."""
        found = find(connection, self._tenant, reference)
        queue.hold_claims(connection, KIND)
        return job_of(_run(connection, "lock_job", tenant=self._tenant, id=found.id).one())


def erase(connection: Connection, tenant: UUID) -> None:
    """Forget every job and all outputs of a tenant; the owner role alone may. Raises ``JobHeld``."""
    queue.hold_claims(connection, KIND)
    if (held := _run(connection, "held_jobs", tenant=tenant).scalar_one_or_none()) is not None:
        raise JobHeld(where=held)
    removing.erase(connection, tenant, KIND)
    _run(connection, "erase", tenant=tenant)


def _chunk_ids(job: Job) -> Iterator[list[UUID]]:
    for first in range(0, job.cut.chunks, _DROPPED):
        yield [chunk_id(job.id, index) for index in range(first, min(first + _DROPPED, job.cut.chunks))]
