"""The writer thread: finished attempts are recorded one by one or in batches, and counted as they are."""

from __future__ import annotations

import queue as queues
import random
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from uuid import UUID

import structlog
from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.engine.assignments import Finished
from proctor.engine.pausing import pause_spent, pause_troubled
from proctor.engine.recording import Decided, decide, record_batch, recorded_before, refresh_statistics
from proctor.engine.tracing import seconds_of, settled_span, telling_of_run_set

__all__ = ["Settler"]

BATCH: int = 50
"""Attempts recorded in one transaction at most: one commit's fsync for all, and little to repeat if it breaks."""

STATISTICS_AFTER: tuple[int, ...] = (100, 1_000, 10_000)
"""Attempts recorded by this process after which the planner's statistics are refreshed: see the first migration."""

_log = structlog.get_logger(__name__)


class Settler:
    """Records what is given to it. In the writer thread ``on_settled`` is called with what was recorded, after
    ``on_done`` with every token that nothing more will be written under, recorded or discarded."""

    def __init__(
        self,
        database: Database,
        on_settled: Callable[[Sequence[Decided]], None],
        on_done: Callable[[Sequence[int]], None],
    ) -> None:
        self._database, self._on_done = database, on_done
        self._on_settled = on_settled
        self._waiting: queues.SimpleQueue[Finished | None] = queues.SimpleQueue()
        self._rng = random.Random()  # noqa: S311  jitter, not a secret
        self._thread = threading.Thread(target=self._loop, name="settler", daemon=True)
        self._recorded = 0
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begin to record."""
        self._thread.start()

    def put(self, finished: Finished) -> None:
        """Hand a finished attempt over; never blocks."""
        self._waiting.put(finished)

    def close(self) -> None:
        """Record what is waiting and end."""
        self._waiting.put(None)
        self._thread.join()

    def _loop(self) -> None:
        try:
            while (first := self._waiting.get()) is not None:
                batch, closing = self._drain(first)
                self._record(batch)
                if closing:
                    return
        except BaseException as error:  # noqa: BLE001  kept for the worker, which stops and raises it
            self.failure = error
            _log.exception("settler.failed")

    def _drain(self, first: Finished) -> tuple[list[Finished], bool]:
        batch = [first]
        while len(batch) < BATCH:
            try:
                item = self._waiting.get_nowait()
            except queues.Empty:
                return batch, False
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    def _record(self, batch: Sequence[Finished]) -> None:
        by_tenant: dict[UUID, list[Decided]] = defaultdict(list)
        for finished in batch:
            by_tenant[finished.assignment.tenant].append(decide(finished, self._rng))
        for tenant, decided in by_tenant.items():
            written = self._write(tenant, decided)
            self._on_done([one.finished.assignment.token for one in decided])
            self._on_settled(written)
            for one in written:
                _tell(one)
            for row in pause_troubled(self._database, tenant, written):
                with telling_of_run_set(tenant, row):
                    _log.warning("run_set.paused", reason="too many attempts failed")
            for row in pause_spent(self._database, tenant, written):
                with telling_of_run_set(tenant, row):
                    _log.warning("run_set.paused", reason="a budget has no room")
            self._count(tenant, len(written))
            if len(written) < len(decided):
                _log.warning("attempts.discarded", count=len(decided) - len(written), reason="lease lost")

    def _write(self, tenant: UUID, decided: Sequence[Decided]) -> list[Decided]:
        """What is on record now because of us, at this try or at one whose answer was lost."""
        tries = 0

        def work(connection: Connection) -> list[Decided]:
            nonlocal tries
            tries += 1
            written = record_batch(connection, tenant, decided)
            if tries == 1:
                return written
            now = {one.finished.assignment.token for one in written}
            rest = [one for one in decided if one.finished.assignment.token not in now]
            return written + recorded_before(connection, tenant, rest)

        return self._database.as_tenant(tenant, work)

    def _count(self, tenant: UUID, recorded: int) -> None:
        before, self._recorded = self._recorded, self._recorded + recorded
        if any(before < mark <= self._recorded for mark in STATISTICS_AFTER):
            self._database.as_tenant(tenant, refresh_statistics)


def _tell(decided: Decided) -> None:
    outcome = decided.outcome
    facts = {"outcome": outcome.outcome.value, "owner": outcome.owner.value, "rule": outcome.rule}
    with settled_span(decided.finished, **facts):
        _log.info("attempt.settled", **facts, sec=seconds_of(decided.finished))
