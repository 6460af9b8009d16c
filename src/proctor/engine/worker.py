"""The worker: claims cells, runs their attempts side by side, hands what they left to the settler.

Attempts run in one event loop; heartbeats and recovery run in a thread of their own and the settler in another, so
that no evaluation code can hold a lease's renewal up. Any of it may be killed at any time.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog
from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.engine.assignments import Assignment
from proctor.engine.attempts import AttemptRunner, RunnerParts, Standing
from proctor.engine.claiming import Claimer
from proctor.engine.faults.injecting import with_faults
from proctor.engine.recording import KIND, Decided, Moved, record_lost, record_progress
from proctor.engine.settling import Settler
from proctor.engine.tracing import attempt_span, telling_of
from proctor.headroom import HeldBack, Node, held_back_words
from proctor.queue import service as queue
from proctor.queue import workers
from proctor.sandboxes.errors import ExecChannelError

__all__ = ["Worker", "WorkerSettings", "recover"]

IDLE_SEC: float = 0.25
"""Between looks for work that is waiting for a time or for another worker."""

QUIET_SEC: float = 1.5
"""The same once a worker for any run set has found nothing for a while."""
QUIET_LOOKS: int = 40

HELD_TOLD_SEC: float = 60.0
"""Between two lines in the log on what waits for room."""
HELD_BACK_SEC: float = 2.0
"""Between looks for what waits for room on this node: it is only told, and the look reads every row that does."""

QUIET_TIMES: int = 5
"""How many times as long between them where nothing has been claimed for a while."""
REAP_BEATS: int = 8
"""Heartbeats, two leases long, between looks for sandboxes of the dead: a dead worker may have been seen first by one
of another backend, which can't remove what that one left."""

REAP_SEC: float = 60.0
"""As long sandboxes of the dead may keep a worker."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """How a worker works. ``scope``: the one run set it works for, ``None`` for any."""

    slots: int
    scope: UUID | None = None
    lease_sec: float = queue.LEASE_SEC
    node: Node | None = None
    """What attempts have to fit into; ``None``: they take no room of any."""

    @property
    def batch(self) -> int:
        """Free slots worth a claim: a quarter of many, the first of few. One row costs a claim as much as ten do."""
        return max(1, self.slots // 4)

    @property
    def heartbeat_sec(self) -> float:
        """A quarter of the lease: three may be lost."""
        return self.lease_sec / 4


@dataclass(kw_only=True)
class _Running:
    """An attempt from its start to its end. A task that was cancelled before its first step would never run at all
    and record nothing, so until then the wish is kept."""

    runner: AttemptRunner
    task: asyncio.Task[None] | None = None
    begun: bool = False
    unwanted: bool = False

    def cancel(self) -> None:
        if self.begun and not self.unwanted and self.task is not None:
            self.task.cancel()
        self.unwanted = True


class Worker:
    """Runs attempts until ``work_left`` says there is no more. ``stop`` and ``cancel`` may come from any thread."""

    def __init__(
        self,
        database: Database,
        parts: RunnerParts,
        identity: workers.WorkerIdentity,
        settings: WorkerSettings,
        on_settled: Callable[[Sequence[Decided]], None],
    ) -> None:
        self._database, self._parts, self._identity, self._settings = database, parts, identity, settings
        self._claimer = Claimer(
            database,
            identity.id,
            backend=parts.backend.name,
            slots=settings.slots,
            scope=settings.scope,
            lease_sec=settings.lease_sec,
            host=identity.node,
            node=settings.node,
        )
        self._settler = Settler(database, on_settled, self._let_go)
        self._running: dict[int, _Running] = {}
        self._held: set[int] = set()
        self._reported: dict[int, Standing] = {}
        self._beats = self._idle = 0
        self._looked, self._told = -HELD_BACK_SEC, -HELD_TOLD_SEC
        self.held_back: HeldBack | None = None
        """What waits for room on this node, as far as it was looked for."""
        self._stopping = threading.Event()
        self._cancelling = False
        self._ended = threading.Event()
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def running(self) -> int:
        """Attempts running now."""
        return len(self._running)

    def stop(self) -> None:
        """No new attempts; running ones finish."""
        self._stopping.set()
        self._call(self._wake.set)

    def cancel(self) -> None:
        """No new attempts, and running ones end now, as cancelled."""
        self._stopping.set()
        self._call(self._cancel_running)

    def _call(self, function: Callable[[], None]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)

    def _cancel_running(self) -> None:
        self._cancelling = True
        for running in self._running.values():
            running.cancel()
        self._wake.set()

    async def run(self, work_left: Callable[[], bool]) -> None:
        """Work until there is none left or ``stop``. ``work_left`` is asked, in a thread, when nothing was claimed."""
        self._loop = asyncio.get_running_loop()
        self._database.as_scheduler(lambda c: workers.register(c, self._identity, slots=self._settings.slots))
        await self._reap()
        self._settler.start()
        heart = threading.Thread(target=self._heart, name="heart", daemon=True)
        heart.start()
        try:
            await self._work(work_left)
        finally:
            while self._running:
                await asyncio.wait([running.task for running in self._running.values() if running.task is not None])
            await asyncio.to_thread(self._settler.close)
            if self._parts.models is not None:
                await asyncio.to_thread(self._parts.models.close)
            self.held_back = None
            self._ended.set()
            await asyncio.to_thread(heart.join)
            self._database.as_scheduler(lambda c: workers.forget(c, [self._identity.id]))
        if self._settler.failure is not None:
            raise self._settler.failure

    async def _work(self, work_left: Callable[[], bool]) -> None:
        while not self._stopping.is_set() and self._settler.failure is None:
            claimed = await self._claim()
            for assignment in claimed:
                self._start(assignment)
            if claimed and len(self._running) < self._settings.slots:
                continue
            if not claimed and not self._running and not await asyncio.to_thread(work_left):
                return
            self._idle = 0 if claimed or self._running else self._idle + 1
            free = self._settings.slots - len(self._running)
            await self._pause(busy=free < self._settings.batch)

    async def _claim(self) -> list[Assignment]:
        free = self._settings.slots - len(self._running)
        if free < self._settings.batch and self._running:
            return []
        claimed = await asyncio.to_thread(self._claimer.claim, free, lambda: list(self._held), self._begun)
        await self._look_at_node(full=len(claimed) == free)
        return claimed

    async def _look_at_node(self, *, full: bool) -> None:
        """After a claim that left slots free: whether something waits for room on this node."""
        if self._settings.node is None:
            return
        now = self._parts.clock.monotonic()
        if full:
            self.held_back = None
        elif now - self._looked >= HELD_BACK_SEC * (QUIET_TIMES if self._idle > QUIET_LOOKS else 1):
            self._looked = now
            self.held_back = await asyncio.to_thread(self._claimer.held_back, self._begun())
            if self.held_back is not None and now - self._told >= HELD_TOLD_SEC:
                self._told = now
                _log.info("worker.held_back", reason=held_back_words(self.held_back))  # a command tells it by itself

    def _begun(self) -> list[int]:
        """Tokens of the attempts whose sandboxes are there."""
        return [token for token, running in self._running.copy().items() if running.runner.has_sandbox]

    async def _pause(self, *, busy: bool) -> None:
        """Until an attempt ends; with free slots also for a while, since what waits may have come due."""
        self._wake.clear()
        try:
            quiet = self._settings.scope is None and self._idle > QUIET_LOOKS
            look = QUIET_SEC if quiet else IDLE_SEC
            await asyncio.wait_for(self._wake.wait(), timeout=None if busy else look)
        except TimeoutError:
            return

    def _start(self, assignment: Assignment) -> None:
        token = assignment.token
        running = _Running(
            runner=AttemptRunner(assignment, with_faults(self._parts, assignment)), unwanted=self._cancelling
        )
        self._held.add(token)
        self._running[token] = running
        running.task = asyncio.get_running_loop().create_task(self._attempt(running))
        running.task.add_done_callback(_tell_broken_off)

    async def _attempt(self, running: _Running) -> None:
        assignment = running.runner.assignment
        token = assignment.token
        running.begun = True
        if running.unwanted and running.task is not None:
            running.task.cancel()
        try:
            with telling_of(assignment), attempt_span(assignment):
                _log.info("attempt.started", number=assignment.number)
                finished = await running.runner.run()
            self._settler.put(finished)
        except BaseException:
            self._held.discard(token)  # nothing will be recorded: the lease is left to end
            raise
        finally:
            self._running.pop(token, None)
            self._reported.pop(token, None)
            self._wake.set()

    def _let_go(self, tokens: Sequence[int]) -> None:
        """These are written down or discarded; until then a lease is renewed, however long the writing takes."""
        self._held.difference_update(tokens)
        if self._settings.node is not None:
            self._call(self._wake.set)  # until now what they were promised was not there for others

    # --- the heart: leases, progress, recovery ------------------------------------------------------------------------

    def _heart(self) -> None:
        while not self._ended.wait(self._settings.heartbeat_sec):
            try:
                self._beat()
            except Exception:  # noqa: BLE001  the next beat tries again; a lease outlives three
                _log.exception("heartbeat.failed")

    def _beat(self) -> None:
        held, running = self._held.copy(), dict(self._running)
        lease = self._settings.lease_sec
        begun, worker = self._begun(), self._identity.id
        live, unwanted = self._database.as_scheduler(
            lambda c: (
                queue.heartbeat(c, worker, list(held), lease_sec=lease, begun=begun),
                workers.unwanted(c, worker, list(held)),
            )
        )
        for token in held - live:
            self._call(lambda token=token: self._end(token, "lease.lost"))  # type: ignore[misc]
        for token in unwanted:
            self._call(lambda token=token: self._end(token, "attempt.unwanted"))  # type: ignore[misc]
        self._report({token: one for token, one in running.items() if token in live})
        if dead := self._database.as_scheduler(workers.dead_local_workers):
            self._reap_soon()
        recover(self._database, dead)
        if dead and self._parts.models is not None:
            self._parts.models.recover()
        self._beats += 1
        if not dead and self._beats % REAP_BEATS == 0:
            self._reap_soon()

    def _reap_soon(self) -> None:
        """From the heart: have the loop remove dead workers' sandboxes, and wait no longer than a lease allows."""
        assert self._loop is not None
        reaped = asyncio.run_coroutine_threadsafe(self._reap_sandboxes(), self._loop)
        try:
            reaped.result(timeout=self._settings.heartbeat_sec)
        except (TimeoutError, ExecChannelError):  # it goes on; what it can't remove must not keep leases
            _log.warning("sandboxes.reap_is_slow")

    def _end(self, token: int, why: str) -> None:
        """The lease was lost while the attempt ran, so that it is somebody else's now; or all who wanted it left."""
        running = self._running.get(token)
        if running is not None and not running.unwanted:
            with telling_of(running.runner.assignment):
                _log.warning(why)
            running.cancel()

    def _report(self, running: dict[int, _Running]) -> None:
        """What has come further since the last beat; of the others nothing is written, so that it can be seen."""
        by_tenant: dict[UUID, list[Moved]] = defaultdict(list)
        for token, one in running.items():
            before, now, assignment = self._reported.get(token, Standing()), one.runner.standing, one.runner.assignment
            self._reported[token] = now
            if now != before:
                new = one.runner.evidence_so_far[before.phases_ended : now.phases_ended]
                moved = Moved(
                    assignment=assignment,
                    evidence=new,
                    segment=now.last_segment,
                    phase=now.phase,
                    entered=now.phases_ended if now.phase != before.phase else None,
                )
                by_tenant[assignment.tenant].append(moved)
        for tenant, rows in by_tenant.items():
            self._database.as_tenant(tenant, lambda c, t=tenant, r=rows: record_progress(c, t, r))  # type: ignore[misc]

    async def _reap(self) -> None:
        """Sandboxes of dead workers go before their cells may run again."""
        dead = await asyncio.to_thread(self._database.as_scheduler, workers.dead_local_workers)
        try:
            await self._reap_sandboxes()
        except (TimeoutError, ExecChannelError) as error:  # of what can't be removed the engine will have to be rid
            _log.warning("sandboxes.reap_gave_up", error=str(error) or "it took too long")
        await asyncio.to_thread(recover, self._database, dead)
        if self._parts.models is not None:
            await asyncio.to_thread(self._parts.models.recover)

    async def _reap_sandboxes(self) -> None:
        """Raises ``TimeoutError`` where that takes too long: one sandbox must not hold all work up."""

        async def never(_labels: object) -> bool:
            return False

        async with asyncio.timeout(REAP_SEC):
            count = await self._parts.backend.reap(never)
        if count:
            _log.info("sandboxes.reaped", count=count)


def _tell_broken_off(task: asyncio.Task[None]) -> None:
    """An attempt that nothing will be recorded of is at least told about."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.warning("attempt.broken_off", exc_info=error)


def recover(database: Database, dead: Sequence[UUID]) -> int:
    """End leases that ran out or whose worker is dead, and their attempts as ``lease_lost``; returns how many.

    ``dead``: local workers whose process is gone and whose sandboxes are too.
    """

    def work(connection: Connection) -> int:
        lost = queue.reap(connection, dead_workers=dead)
        by_tenant: dict[UUID, list[queue.Lost]] = defaultdict(list)
        for one in lost:
            if one.kind == KIND:
                by_tenant[one.tenant_id].append(one)
        for tenant, rows in by_tenant.items():
            database.set_tenant(connection, tenant)
            record_lost(connection, tenant, rows)
        if dead:
            workers.forget(connection, dead)
        return len(lost)

    return database.as_scheduler(work)
