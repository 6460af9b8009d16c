"""Jobs that grow: a stream is a job whose rows come while it runs, and that ends once nobody may send any more.

Its row is locked while rows are added to it, so that what comes from many processes at once gets positions one after
the other, and nothing is added once it is closed. A chunk is queued in the transaction that adds it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.jobs.chunks import chunk_id
from proctor.jobs.claiming import KIND
from proctor.jobs.errors import StreamClosed
from proctor.jobs.events import JobEvent, tell
from proctor.jobs.pieces import Piece
from proctor.jobs.service import enqueue, find
from proctor.jobs.values import Job, JobState, job_of
from proctor.jobs.waking import CHANNEL
from proctor.jobs.worker import close_gaps
from proctor.objects.store import ObjectStore
from proctor.queue import removing
from proctor.queue import service as queue

__all__ = ["close", "grow", "let_pieces_go", "lock_stream", "named_pieces"]

_PAGE: int = 500
"""Pieces that are let go at a time: a second of removing objects."""
_BEGINNING = (datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0), -1)

_run = partial(run_query, "proctor.jobs")


def lock_stream(connection: Connection, tenant: UUID, job: Job) -> Job:
    """The stream as it is, while nobody else adds to it or changes it. Raises ``StreamClosed`` where it is no stream.

    Whether it is open has to be looked at.
    """
    if not job.stream:
        raise StreamClosed("It is a job over a dataset.", where=job.name)
    if job.state is JobState.PAUSED:
        queue.hold_claims(connection, KIND)  # before the row, as whoever pauses and resumes does
    return job_of(_run(connection, "lock_job", tenant=tenant, id=job.id).one())


def grow(connection: Connection, tenant: UUID, stream: Job, pieces: Sequence[Piece], *, wake: bool) -> None:
    """Add chunks to a stream that is locked, and queue them; of a paused one they wait. ``wake``: workers that rest.

    ``pieces`` are numbered and placed after what the stream holds already. Raises ``StreamClosed``.
    """
    if not stream.open:
        raise StreamClosed("It is closed.", where=stream.name)
    said = [
        {
            "chunk": one.chunk,
            "start": one.start,
            "rows": one.examples.rows,
            "examples": asdict(one.examples),
            "outputs": asdict(one.outputs),
        }
        for one in pieces
    ]
    _run(connection, "insert_pieces", tenant=tenant, id=stream.id, pieces=json.dumps(said))
    rows = sum(one.examples.rows for one in pieces)
    _run(connection, "grow_job", tenant=tenant, id=stream.id, rows=rows, chunks=len(pieces))
    enqueue(connection, tenant, stream, [one.chunk for one in pieces])
    if stream.state is JobState.PAUSED:
        queue.let_go(connection, tenant, KIND, stream.id, drop=False)
    elif wake:
        _run(connection, "wake_workers", channel=CHANNEL)


def close(connection: Connection, tenant: UUID, reference: str) -> Job:
    """Take no more rows; it ends with the last of those that came. Safe to repeat. Raises ``JobUnknown``,
    ``StreamClosed`` where it is no stream."""
    stream = lock_stream(connection, tenant, find(connection, tenant, reference))
    if stream.open:
        _run(connection, "close_stream", tenant=tenant, id=stream.id)
        is_done = stream.chunks_done == stream.cut.chunks
        tell(connection, tenant, stream.id, JobEvent.COMPLETE if is_done else JobEvent.CLOSED)
        close_gaps(connection, tenant, stream.id)
    return find(connection, tenant, str(stream.id))


def named_pieces(connection: Connection, tenant: UUID, jobs: Sequence[UUID], keys: Sequence[str]) -> set[str]:
    """Which of these objects hold rows of those streams."""
    return set(_run(connection, "named_pieces", tenant=tenant, jobs=list(jobs), keys=list(keys)).scalars())


def let_pieces_go(database: Database, objects: ObjectStore, tenant: UUID, jobs: Sequence[UUID], days: int) -> int:
    """Of those streams, remove rows that came so many days ago and were judged; how many chunks. Safe to repeat.

    What is queued still, or failed and is listed as a gap, stays. The row that names objects goes before they do: what
    dies in between leaves objects that nobody names, which are swept.
    """
    gone = 0
    for rows in _aged(database, tenant, jobs, days):
        ids = {chunk_id(row.job_id, row.chunk): row for row in rows}
        waiting = database.as_tenant(tenant, partial(removing.queued, tenant_id=tenant, kind=KIND, ids=list(ids)))
        done = [row for identity, row in ids.items() if identity not in waiting]
        database.as_tenant(tenant, partial(_drop, tenant=tenant, rows=done))
        for row in done:
            objects.delete(row.examples)
            objects.delete(row.outputs)
        gone += len(done)
    return gone


def _aged(database: Database, tenant: UUID, jobs: Sequence[UUID], days: int) -> Iterator[Sequence[Row[Any]]]:
    """Pieces that are so old, page by page."""
    at, job, chunk = _BEGINNING
    while True:
        wanted = {"jobs": list(jobs), "days": days, "limit": _PAGE, "since": at, "job": job, "chunk": chunk}
        rows = database.as_tenant(tenant, partial(_look, tenant=tenant, wanted=wanted))
        if not rows:
            return
        yield rows
        at, job, chunk = rows[-1].created_at, rows[-1].job_id, rows[-1].chunk


def _look(connection: Connection, *, tenant: UUID, wanted: Mapping[str, object]) -> Sequence[Row[Any]]:
    return _run(connection, "aged_pieces", tenant=tenant, **wanted).all()


def _drop(connection: Connection, *, tenant: UUID, rows: Sequence[Row[Any]]) -> None:
    pairs = {"jobs": [row.job_id for row in rows], "chunks": [row.chunk for row in rows]}
    _run(connection, "drop_pieces", tenant=tenant, **pairs)
