"""Streams of one tenant: opened, looked at, closed; what is known of them is let go with their results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.jobs import growing
from proctor.jobs.errors import StreamClosed, StreamTaken
from proctor.jobs.service import JobService, find, unkept_streams
from proctor.jobs.values import Job, NewJob
from proctor.objects.store import ObjectStore
from proctor.results.retention import retention
from proctor.streaming.values import KeptRefusal, Stream

__all__ = ["StreamService", "erase", "forget", "let_go"]

_run = partial(run_query, "proctor.streaming")
_OPEN_NAME = "ix_evaluation_job_tenant_id_name_open"
"""What holds the names of open streams apart."""


class StreamService:
    """Streams of one tenant."""

    def __init__(self, database: Database, tenant: UUID) -> None:
        self._database, self._tenant = database, tenant

    def open(self, new: NewJob) -> Job:
        """Open a stream. Raises ``StreamTaken`` while one of that name is open."""
        try:
            return JobService(self._database, self._tenant).submit(new)
        except IntegrityError as error:
            if _OPEN_NAME not in str(error.orig):
                raise
            raise StreamTaken(where=new.name) from error

    def stream(self, reference: str) -> Stream:
        """A stream by its id, the beginning of one, or its name (the newest). Raises ``JobUnknown``, ``StreamClosed``
        where it is no stream."""

        def work(connection: Connection) -> Stream:
            job = _found(connection, self._tenant, reference)
            refused = _run(connection, "refused", tenant=self._tenant, job=job.id).scalar_one()
            return Stream(job=job, refused=int(refused))

        return self._database.as_tenant(self._tenant, work)

    def close(self, reference: str) -> Job:
        """Take no more rows; it ends with the last of those that came. Safe to repeat. Raises as ``stream`` does."""
        return self._database.as_tenant(self._tenant, partial(growing.close, tenant=self._tenant, reference=reference))

    def refusals(self, reference: str, *, before: UUID | None = None, limit: int = 100) -> list[KeptRefusal]:
        """A page of rows that were refused, the newest first. Raises as ``stream`` does."""

        def work(connection: Connection) -> list[KeptRefusal]:
            job = _found(connection, self._tenant, reference)
            wanted = {"tenant": self._tenant, "job": job.id, "before": before, "limit": limit}
            return [KeptRefusal(**row._mapping) for row in _run(connection, "list_refusals", **wanted)]

        return self._database.as_tenant(self._tenant, work)


def _found(connection: Connection, tenant: UUID, reference: str) -> Job:
    job = find(connection, tenant, reference)
    if not job.stream:
        raise StreamClosed("It is a job over a dataset.", where=job.name)
    return job


def forget(database: Database, tenant: UUID, job: UUID) -> None:
    """Forget what was sent to a stream that was deleted, and what was refused."""
    database.as_tenant(tenant, lambda c: _run(c, "forget", tenant=tenant, job=job))


def let_go(database: Database, objects: ObjectStore, tenant: UUID) -> int:
    """Let rows, keys and refusals of streams go that are as old as their results may get; how many chunks.

    Those of streams that are kept or held stay. Safe to be killed at any point, and to run twice at once.
    """
    days = database.as_tenant(tenant, lambda c: retention(c, tenant)).result_days
    streams = database.as_tenant(tenant, lambda c: unkept_streams(c, tenant))
    if not streams:
        return 0
    database.as_tenant(tenant, partial(_forget_aged, tenant=tenant, streams=streams, days=days))
    return growing.let_pieces_go(database, objects, tenant, streams, days)


def _forget_aged(connection: Connection, *, tenant: UUID, streams: Sequence[UUID], days: int) -> None:
    for name in ("let_keys_go", "let_refusals_go"):
        _run(connection, name, tenant=tenant, jobs=list(streams), days=days)


def erase(connection: Connection, tenant: UUID) -> None:
    """Forget what is known of every stream of a tenant; the owner role alone may."""
    _run(connection, "erase", tenant=tenant)
