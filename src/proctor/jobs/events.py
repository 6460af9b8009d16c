"""Events of jobs, written in the transaction of what they tell of: how each begins and ends, and how far it has come.

A job's evaluations are far too many to be told of one by one, and so are its chunks: that some are done is told once a
second. A chunk that comes within a second of the last event is told of a little later, by the worker that did it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.kernel.ids import derived_id, new_id

__all__ = ["EVERY_SEC", "JobEvent", "JobKey", "Untold", "tell", "tell_advance"]

EVERY_SEC: float = 1.0
"""Between two events of one job's chunks: as often as somebody who looks on sees a figure change. A job that is worked
on all day has 86,400 of them then, some 25 MB."""

_run = partial(run_query, "proctor.jobs")


class JobEvent(StrEnum):
    """What is told of a job."""

    SUBMITTED = "job.submitted"
    STARTED = "job.started"
    """Its first chunk was claimed."""
    ADVANCED = "job.advanced"
    """Chunks of it are done, or failed for good."""
    PAUSED = "job.paused"
    RESUMED = "job.resumed"
    CLOSED = "job.closed"
    """It is a stream to which nothing is added any more; chunks of it are left."""
    COMPLETE = "job.complete"
    COMPLETE_WITH_GAPS = "job.complete_with_gaps"
    CANCELLED = "job.cancelled"
    DELETED = "job.deleted"


def tell(connection: Connection, tenant: UUID, job: UUID, event: JobEvent) -> None:
    """Tell of a job, as it stands in this transaction."""
    _insert(connection, tenant, job, event, new_id())


def tell_advance(connection: Connection, tenant: UUID, job: UUID, *, last: bool = False) -> bool:
    """Tell that chunks are done; whether it was told: another worker may have told of the job in this second already.

    ``last``: this worker has no other time to tell of it, so it is told whoever else did.
    """
    event = JobEvent.ADVANCED
    second = int(time.time() / EVERY_SEC)
    identity = new_id() if last else derived_id("event", event, tenant, job, second)
    return _insert(connection, tenant, job, event, identity)


def _insert(connection: Connection, tenant: UUID, job: UUID, event: JobEvent, identity: UUID) -> bool:
    return _run(connection, "insert_event", tenant=tenant, id=job, name=event.value, event=identity).rowcount > 0


class JobKey(NamedTuple):
    """Which job, of which tenant."""

    tenant: UUID
    job: UUID


class Untold:
    """What a worker has done of jobs and no event has told of yet. One thread uses it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[JobKey, float] = {}
        """From when on each may be told of again."""
        self._owed: set[JobKey] = set()

    def may_tell(self, one: JobKey) -> bool:
        """Whether enough time has passed since the last event of it."""
        return self._next.get(one, 0.0) <= self._clock()

    def advanced(self, one: JobKey, *, told: bool) -> None:
        """Chunks of it are done, and that was told or is to be."""
        now = self._clock()
        self._next = {each: at for each, at in self._next.items() if at > now}
        self._next.setdefault(one, now + EVERY_SEC)
        if told:
            self._owed.discard(one)
        else:
            self._owed.add(one)

    def due(self) -> list[JobKey]:
        """Of which it is time to tell."""
        return [one for one in self._owed if self.may_tell(one)]

    def all(self) -> list[JobKey]:
        """Of which something is to be told at all."""
        return list(self._owed)

    @property
    def seconds(self) -> float | None:
        """Until the first is due; ``None``: nothing is to be told."""
        first = min((self._next.get(one, 0.0) for one in self._owed), default=None)
        return None if first is None else max(0.0, first - self._clock())
