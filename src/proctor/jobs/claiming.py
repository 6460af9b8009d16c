"""Claiming chunks, and all that is needed to do them. What jobs and outputs are never changes, so it is kept."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.datasets import registry
from proctor.jobs.chunks import Chunk, Cut
from proctor.jobs.events import JobEvent, tell
from proctor.jobs.orders import Judge, Order
from proctor.jobs.pieces import Piece, pieces_of
from proctor.jobs.targets import Target
from proctor.jobs.values import cut_of, judges_of, sample_set_of
from proctor.objects.parquet import Part
from proctor.objects.store import ObjectStore
from proctor.queue import service as queue
from proctor.queue.service import Claim
from proctor.results.batches import Place

__all__ = ["KIND", "Claimer"]

KIND: str = "chunk"
"""Of a chunk's row in the queue."""
_KEPT: int = 256
"""Jobs that a worker remembers: it works for a few at a time."""
_run = partial(run_query, "proctor.jobs")


@dataclass(frozen=True, kw_only=True)
class _Job:
    """What of a job every chunk needs."""

    cut: Cut
    version: UUID | None
    """``None``: a stream, each chunk of which has its own parts."""
    examples: tuple[Part, ...]
    outputs: tuple[Part, ...]
    judges: tuple[Judge, ...]
    target: Target | None
    creator: str
    model: str | None
    trace_id: str


class Claimer:
    """Takes chunks for one worker."""

    def __init__(
        self, database: Database, objects: ObjectStore, worker: UUID, scope: UUID | None, *, lease_sec: float
    ) -> None:
        self._database, self._store, self._worker = database, objects.root, worker
        self._scope, self._lease = scope, lease_sec
        self._jobs: OrderedDict[UUID, _Job] = OrderedDict()

    def claim(self, limit: int, known: Sequence[int]) -> list[Order]:
        """Up to ``limit`` chunks. ``known``: tokens that are held already, should a claim's answer have been lost."""
        tries = 0

        def work(connection: Connection) -> list[Order]:
            nonlocal tries
            tries += 1
            claims = queue.held_by(connection, KIND, self._worker, known=known) if tries > 1 else []
            claims = claims or queue.claim(
                connection,
                KIND,
                worker_id=self._worker,
                limit=limit,
                slots=limit,
                scope=self._scope,
                lease_sec=self._lease,
            )
            orders = (self._orders(connection, tenant, own) for tenant, own in _by_tenant(claims).items())
            return [order for of_tenant in orders for order in of_tenant]

        return self._database.as_scheduler(work)

    def _orders(self, connection: Connection, tenant: UUID, claims: Sequence[Claim]) -> list[Order]:
        self._database.set_tenant(connection, tenant)
        places = [_place(claim) for claim in claims]
        self._learn(connection, tenant, {place.job for place in places})
        streamed = [(place.job, place.chunk) for place in places if self._jobs[place.job].version is None]
        pieces = pieces_of(connection, tenant, streamed)
        return [
            self._order(place, claim.tries, pieces.get((place.job, place.chunk)))
            for place, claim in zip(places, claims, strict=True)
        ]

    def _learn(self, connection: Connection, tenant: UUID, jobs: set[UUID]) -> None:
        unknown = [job for job in jobs if job not in self._jobs]
        if not unknown:
            return
        for job in _run(connection, "begin_jobs", tenant=tenant, ids=unknown).scalars().all():
            tell(connection, tenant, job, JobEvent.STARTED)
        for row in _run(connection, "jobs_of", tenant=tenant, ids=unknown).all():
            self._jobs[row.id] = _known(connection, tenant, row)
        while len(self._jobs) > _KEPT:
            self._jobs.popitem(last=False)

    def _order(self, place: Place, tries: int, piece: Piece | None) -> Order:
        job = self._jobs[place.job]
        examples, outputs = (job.examples, job.outputs) if piece is None else ((piece.examples,), (piece.outputs,))
        chunk = _chunk(job, place, piece)
        return Order(
            place=place,
            tries=tries,
            chunk=chunk,
            first=0 if job.version is not None else chunk.start,
            store=self._store,
            rows=job.cut.rows,
            version=job.version,
            examples=examples,
            outputs=outputs,
            judges=job.judges,
            target=None if job.target is None else job.target.model_dump(mode="json", exclude_defaults=True),
            target_digest=None if job.target is None else job.target.digest,
            made=None,
            judged={},
            creator=job.creator,
            model=job.model,
            trace_id=job.trace_id,
        )


def _chunk(job: _Job, place: Place, piece: Piece | None) -> Chunk:
    """What is to be done; of a stream's rows that were let go nothing, which its scoring tells."""
    if piece is not None:
        return piece.as_chunk
    if job.version is None:
        return Chunk(index=place.chunk, repeat=0, start=0, stop=0)
    return job.cut.chunk(place.chunk)


def _place(claim: Claim) -> Place:
    payload: Mapping[str, Any] = json.loads(claim.payload)
    return Place(
        tenant=claim.tenant_id, claim=claim.id, job=UUID(payload["job"]), chunk=payload["chunk"], token=claim.token
    )


def _known(connection: Connection, tenant: UUID, row: Row[Any]) -> _Job:
    kept = row.sample_set and sample_set_of(_run(connection, "samples_of", tenant=tenant, ids=[row.sample_set]).one())
    target = row.spec.get("target")
    return _Job(
        cut=cut_of(row),
        version=row.dataset_version,
        examples=() if row.stream else registry.find(connection, tenant, str(row.dataset_version)).parts,
        outputs=kept.parts if kept else (),
        judges=judges_of(row.spec),
        target=None if target is None else Target.model_validate(target),
        creator=str(row.creator or ""),
        model=kept.model if kept else None,
        trace_id=row.trace_id,
    )


def _by_tenant(claims: Iterable[Claim]) -> dict[UUID, list[Claim]]:
    found: dict[UUID, list[Claim]] = defaultdict(list)
    for claim in claims:
        found[claim.tenant_id].append(claim)
    return found
