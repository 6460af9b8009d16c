"""A worker of chunks: claims them, has them scored, settles what came of them in batches.

Claiming and settling are in one thread, heartbeats in another, scoring in processes of its own. Any of it may be
killed at any time: a chunk counts in the transaction that removes its claim, and another worker begins it anew.
"""

from __future__ import annotations

import json
import queue as queues
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import structlog
from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.jobs.claiming import KIND, Claimer
from proctor.jobs.events import JobEvent, JobKey, Untold, tell, tell_advance
from proctor.jobs.latencies import note_latencies
from proctor.jobs.orders import Order
from proctor.jobs.outside import Resources
from proctor.jobs.preparing import Preparer
from proctor.jobs.scorers import Ended, Scorers
from proctor.jobs.values import JobState
from proctor.jobs.waking import Ear
from proctor.objects.store import ObjectStore
from proctor.queue import service as queue
from proctor.queue import workers
from proctor.results import service as results
from proctor.results.batches import Batch

__all__ = ["ChunkWorker", "ChunkWorkerSettings", "Settled"]

AHEAD: int = 3
"""Chunks claimed for each process: one is scored while the next waits and the last is settled."""
TRIES: int = 3
"""Of one chunk, before it is a gap that is listed."""
RETRY_SEC: tuple[float, ...] = (1.0, 4.0)
"""Before the second and the third: a full disk or an object store away may pass."""
GATHER_SEC: float = 0.02
"""How long finished chunks wait for others, to be settled in one transaction: a commit is a few milliseconds."""
IDLE_SEC: tuple[float, float] = (0.1, 1.5)
"""Between looks for work, at first and once nothing was found for a while."""
QUIET_LOOKS: int = 50
REST_SEC: float = 30.0
"""Without work for so long, the processes are let go: nothing runs when nothing is asked."""

_log = structlog.get_logger(__name__)
_run = partial(run_query, "proctor.jobs")


@dataclass(frozen=True, kw_only=True)
class ChunkWorkerSettings:
    """How a worker works. ``scope``: the one job it works for, ``None`` for any."""

    processes: int
    scope: UUID | None = None
    lease_sec: float = queue.LEASE_SEC


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What was written down: how many results of which job, in how many chunks."""

    job: UUID
    rows: int
    chunks: int
    state: str
    told: bool
    """Whether an event says so."""


class ChunkWorker:
    """Works until ``work_left`` says there is no more, or ``stop``, which may come from any thread."""

    def __init__(
        self,
        database: Database,
        objects: ObjectStore,
        settings: ChunkWorkerSettings,
        *,
        recover: Callable[[Database, Sequence[UUID]], int],
        resources: Resources | None = None,
        on_settled: Callable[[Settled], None] = lambda _: None,
    ) -> None:
        """``recover`` ends the leases of dead workers, given those of this machine that are gone; ``resources``: what
        jobs may use of others; ``None``: no model is asked here and no sandbox made."""
        self._database, self._settings = database, settings
        self._recover, self._on_settled = recover, on_settled
        self._identity = workers.WorkerIdentity.of_this_process()
        self._claimer = Claimer(database, objects, self._identity.id, settings.scope, lease_sec=settings.lease_sec)
        self._ended: queues.SimpleQueue[Ended | None] = queues.SimpleQueue()
        self._scorers = Scorers(settings.processes, self._ended.put)
        self._preparer = Preparer(database, objects, self._scorers, resources, tries=TRIES)
        self._held: dict[int, Order] = {}
        self._untold = Untold()
        self._stopping, self._over = threading.Event(), threading.Event()
        self._idle, self._worked_at = 0, time.monotonic()

    @property
    def held(self) -> int:
        """Chunks that are claimed and not settled."""
        return len(self._held)

    def stop(self) -> None:
        """No new chunks; what is claimed is finished."""
        self._stopping.set()
        self._ended.put(None)

    def _woken(self) -> None:
        """There is work after a rest: look now, and often for a while."""
        self._idle = 0
        self._ended.put(None)

    def run(self, work_left: Callable[[], bool]) -> None:
        """Work. ``work_left`` is asked when nothing was claimed and nothing is under way."""
        self._database.as_scheduler(lambda c: workers.register(c, self._identity, slots=self._settings.processes))
        self._recover(self._database, self._database.as_scheduler(workers.dead_local_workers))
        heart = threading.Thread(target=self._heart, name="chunk-heart", daemon=True)
        heart.start()
        ear = Ear(self._database, self._woken)
        if self._settings.scope is None:  # else it looks often anyway
            ear.start()
        try:
            while not self._stopping.is_set() and self._step(work_left):
                pass
            while self._held:
                self._settle(self._gathered(None))
            self._tell(self._untold.all(), last=True)
        finally:
            self._over.set()
            ear.close()
            self._scorers.close()
            self._preparer.close()
            heart.join()
            self._database.as_scheduler(lambda c: workers.forget(c, [self._identity.id]))

    def _step(self, work_left: Callable[[], bool]) -> bool:
        """Claim, then wait for what ends; whether to go on."""
        self._tell(self._untold.due())
        most = self._settings.processes * AHEAD
        if len(self._held) <= most // 2:
            self._claim(most - len(self._held))
        if self._held:
            self._settle(self._gathered(self._untold.seconds))
            return True
        if not work_left():
            return False
        self._idle += 1
        if time.monotonic() - self._worked_at > REST_SEC:
            self._scorers.rest()
        self._settle(self._gathered(IDLE_SEC[self._idle > QUIET_LOOKS and self._settings.scope is None]))
        return True

    def _claim(self, limit: int) -> None:
        orders = self._claimer.claim(limit, list(self._held))
        if orders:
            self._idle, self._worked_at = 0, time.monotonic()
            alone = not self._held and len(orders) == 1
            self._held.update({order.place.token: order for order in orders})
            for order in orders:
                if not order.can_be_scored:
                    self._preparer.submit(order, self._prepared)
            if ready := [order for order in orders if order.can_be_scored]:
                self._scorers.submit(ready, alone=alone)

    def _prepared(self, order: Order, error: BaseException | None) -> None:
        """From the preparer's thread: what others had to say is there, or can't be had now."""
        if error is None:
            self._scorers.submit([order], alone=False)
        else:
            self._ended.put(Ended(order=order, batch=None, error=str(error) or type(error).__name__))

    def _gathered(self, timeout: float | None) -> list[Ended]:
        """What has ended, waiting for the first of it."""
        try:
            found = [self._ended.get(timeout=timeout)]
        except queues.Empty:
            return []
        until = time.monotonic() + GATHER_SEC
        while len(found) < len(self._held) and (left := until - time.monotonic()) > 0:
            try:
                found.append(self._ended.get(timeout=left))
            except queues.Empty:
                break
        return [one for one in found if one is not None]

    # --- settling -----------------------------------------------------------------------------------------------------

    def _settle(self, ended: Sequence[Ended]) -> None:
        for tenant, of_tenant in _by_tenant(ended).items():
            if done := {one.order.place.claim: one for one in of_tenant if one.batch is not None}:
                self._record(tenant, done)
            if failed := [one for one in of_tenant if one.batch is None]:
                self._fail(tenant, failed)
        for one in ended:
            self._held.pop(one.order.place.token, None)

    def _record(self, tenant: UUID, done: Mapping[UUID, Ended]) -> None:
        """Let batches count whose claims are still ours; the others' objects are swept one day."""
        claims = [(claim, one.order.place.token) for claim, one in done.items()]

        def work(connection: Connection) -> list[Settled]:
            ours = sorted(queue.complete(connection, tenant, KIND, claims))
            batches = [batch for claim in ours if (batch := done[claim].batch) is not None]
            results.record(connection, tenant, batches)
            note_latencies(connection, tenant, batches)
            return [
                advance(connection, tenant, job, of_job, say=self._untold.may_tell(JobKey(tenant, job)))
                for job, of_job in _by_job(batches).items()
            ]

        for settled in self._database.as_tenant(tenant, work):
            self._untold.advanced(JobKey(tenant, settled.job), told=settled.told)
            self._on_settled(settled)

    def _fail(self, tenant: UUID, failed: Sequence[Ended]) -> None:
        for one in failed:
            place = one.order.place
            log = _log.warning if one.order.tries + 1 >= TRIES else _log.info
            log("chunk.failed", job=str(place.job), chunk=place.chunk, error=one.error)
        backs = [_back(one) for one in failed]

        def work(connection: Connection) -> set[UUID]:
            queue.put_back(connection, tenant, KIND, backs)
            return {
                job for job in sorted({one.order.place.job for one in failed}) if close_gaps(connection, tenant, job)
            }

        ended = self._database.as_tenant(tenant, work)
        for job in {one.order.place.job for one, back in zip(failed, backs, strict=True) if back.dead} - ended:
            self._untold.advanced(JobKey(tenant, job), told=False)

    def _tell(self, jobs: Iterable[JobKey], *, last: bool = False) -> None:
        """Tell of what was done of these jobs since they were told of."""
        for one in jobs:
            work = partial(tell_advance, tenant=one.tenant, job=one.job, last=last)
            self._untold.advanced(one, told=self._database.as_tenant(one.tenant, work))

    # --- the heart ----------------------------------------------------------------------------------------------------

    def _heart(self) -> None:
        while not self._over.wait(self._settings.lease_sec / 4):
            try:
                self._beat()
            except Exception:  # noqa: BLE001  the next beat tries again; a lease outlives three
                _log.exception("heartbeat.failed")

    def _beat(self) -> None:
        tokens, lease = list(self._held), self._settings.lease_sec
        self._database.as_scheduler(lambda c: queue.heartbeat(c, self._identity.id, tokens, lease_sec=lease))
        dead = self._database.as_scheduler(workers.dead_local_workers)
        self._recover(self._database, dead)


def advance(connection: Connection, tenant: UUID, job: UUID, batches: Sequence[Batch], *, say: bool) -> Settled:
    """Add chunks that are done to their job, and end it with the last. ``say``: tell of them, too, if it goes on."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for batch in batches:
        for evaluator, statuses in batch.counts.items():
            for status, rows in statuses.items():
                counts[evaluator][status] += rows
    values = {"chunks": len(batches), "counts": json.dumps(counts)}
    row = _run(connection, "advance", tenant=tenant, id=job, **values).one()
    if row.held:
        results.hold(connection, tenant, job, held=True)
    return Settled(
        job=job,
        rows=sum(batch.rows for batch in batches),
        chunks=len(batches),
        state=row.state,
        told=_told(connection, tenant, job, row.state, say=say),
    )


def _told(connection: Connection, tenant: UUID, job: UUID, state: str, *, say: bool) -> bool:
    """Whether chunks that are done are told of: by the event that the job has ended, or by one of their own."""
    if state == JobState.COMPLETE:
        tell(connection, tenant, job, JobEvent.COMPLETE)
        return True
    return close_gaps(connection, tenant, job) or (say and tell_advance(connection, tenant, job))


def close_gaps(connection: Connection, tenant: UUID, job: UUID) -> bool:
    """End a job of which nothing is left but dead letters; whether it was that."""
    if not queue.dead_letters(connection, tenant, KIND, holder=job, limit=1):
        return False
    if set(queue.count_states(connection, tenant, KIND, job)) != {"dead"}:
        return False
    if _run(connection, "close_gaps", tenant=tenant, id=job).one_or_none() is None:
        return False
    tell(connection, tenant, job, JobEvent.COMPLETE_WITH_GAPS)
    return True


def _back(one: Ended) -> queue.PutBack:
    place, tries = one.order.place, one.order.tries + 1
    return queue.PutBack(
        id=place.claim,
        token=place.token,
        dead=tries >= TRIES,
        delay=RETRY_SEC[min(tries, len(RETRY_SEC)) - 1],
        used=1,
        reason=one.error[:500],
    )


def _by_tenant(ended: Iterable[Ended]) -> dict[UUID, list[Ended]]:
    found: dict[UUID, list[Ended]] = defaultdict(list)
    for one in ended:
        found[one.order.place.tenant].append(one)
    return found


def _by_job(batches: Iterable[Batch]) -> dict[UUID, list[Batch]]:
    found: dict[UUID, list[Batch]] = defaultdict(list)
    for batch in batches:
        found[batch.job].append(batch)
    return found
