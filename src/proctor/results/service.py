"""The manifest: which batches of results count. What a reader sees is what a committed row here says, and no file."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.objects.store import ObjectStore
from proctor.results.batches import Batch
from proctor.results.schema import SCHEMA_VERSION

__all__ = [
    "Pace",
    "batch_of",
    "chunks_done",
    "end_job",
    "erase",
    "hold",
    "known_paths",
    "live",
    "pace",
    "record",
    "remove",
    "remove_ended",
]

_run = partial(run_query, "proctor.results")
_REMOVED: int = 1000
"""Batches to a transaction: seconds of removing objects, and nothing is locked meanwhile."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast results come: so many rows in so many seconds."""

    rows: int
    seconds: float

    @property
    def per_second(self) -> float | None:
        """Rows a second; ``None`` where too few came to say."""
        return self.rows / self.seconds if self.seconds > 0 else None


def record(connection: Connection, tenant: UUID, batches: Sequence[Batch], *, held: bool = False) -> None:
    """Let batches count, in the transaction that settles their claims. Safe to repeat. ``held``: by a legal hold."""
    rows = json.dumps([_row(batch) for batch in batches])
    _run(connection, "record", tenant=tenant, rows=rows, schema_version=SCHEMA_VERSION, held=held)


def live(
    connection: Connection,
    tenant: UUID,
    *,
    jobs: Iterable[UUID] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Batch]:
    """The batches that count, whose results may lie in an interval; ``jobs``: of these alone."""
    chosen = None if jobs is None else list(jobs)
    return [batch_of(row) for row in _run(connection, "live", tenant=tenant, jobs=chosen, since=since, until=until)]


def chunks_done(connection: Connection, tenant: UUID, job: UUID) -> frozenset[int]:
    """The chunks of a job that have results."""
    return frozenset(_run(connection, "chunks_done", tenant=tenant, job=job).scalars())


def known_paths(connection: Connection, tenant: UUID, paths: Sequence[str]) -> set[str]:
    """Which of these objects a batch refers to, whether it counts or will be removed in its time."""
    return set(_run(connection, "known_paths", tenant=tenant, paths=list(paths)).scalars())


def hold(connection: Connection, tenant: UUID, job: UUID, *, held: bool) -> None:
    """Put a job's results under a legal hold, or take it away."""
    _run(connection, "hold", tenant=tenant, job=job, held=held)


def end_job(connection: Connection, tenant: UUID, job: UUID) -> None:
    """A job's results count no more, but for those under a legal hold. ``remove_ended`` removes them."""
    _run(connection, "end_job", tenant=tenant, job=job)


def remove_ended(database: Database, objects: ObjectStore, tenant: UUID, job: UUID) -> int:
    """Remove at once what of a job's results counts no more; how many batches. Safe to be killed and to repeat.

    An object goes before its row says so: what dies in between leaves a row that names it.
    """
    removed = 0
    wanted = {"tenant": tenant, "job": job, "limit": _REMOVED}
    while rows := database.as_tenant(tenant, lambda c: _run(c, "ended_of", **wanted).all()):
        remove(database, objects, tenant, rows)
        removed += len(rows)
    return removed


def remove(database: Database, objects: ObjectStore, tenant: UUID, rows: Sequence[Row[Any]]) -> None:
    """Remove batches that count no more, each with its ``id`` and ``path``."""
    for row in rows:
        if row.path is not None:
            objects.delete(row.path)
    ids = [row.id for row in rows]
    database.as_tenant(tenant, lambda c: _run(c, "delete", tenant=tenant, ids=ids))


def erase(connection: Connection, tenant: UUID) -> None:
    """Forget every batch and rollup of a tenant, and for how long it keeps them; the owner role alone may."""
    _run(connection, "erase", tenant=tenant)


def pace(connection: Connection, tenant: UUID, job: UUID, *, within: float) -> Pace:
    """How fast a job's results came in the last ``within`` seconds."""
    row = _run(connection, "pace", tenant=tenant, job=job, within=within).one()
    return Pace(rows=row.rows, seconds=row.seconds)


def _row(batch: Batch) -> dict[str, Any]:
    return {
        "id": str(batch.id),
        "job": str(batch.job),
        "chunk": batch.chunk,
        "path": batch.path,
        "staged": None if batch.staged is None else base64.b64encode(batch.staged).decode("ascii"),
        "sha256": batch.sha256,
        "rows": batch.rows,
        "bytes": batch.bytes,
        "min_time": batch.min_time.isoformat(),
        "max_time": batch.max_time.isoformat(),
        "counts": batch.counts,
        "sums": batch.sums,
    }


def batch_of(row: Row[Any]) -> Batch:
    """A batch from its row."""
    fields = dict(row._mapping)
    staged = fields.pop("staged")
    return Batch(job=fields.pop("job_id"), staged=None if staged is None else bytes(staged), **fields)
