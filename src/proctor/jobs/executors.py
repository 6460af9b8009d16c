"""Where chunks are scored: processes of their own, so that no evaluator holds a heartbeat up or takes a worker along.

A process that dies takes the chunks of all processes with it, as far as anybody can tell. Those are scored again one
by one; the one that does it again is the culprit, and has used up a try.
"""

from __future__ import annotations

import multiprocessing
import queue as queues
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import structlog

from proctor.jobs.scoring import Order, score
from proctor.results.batches import Batch

__all__ = ["Ended", "Scorers"]

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What became of a chunk: its batch, or why it has none."""

    order: Order
    batch: Batch | None
    error: BaseException | None


class Scorers:
    """Scores chunks side by side and puts what became of each into ``ended``.

    One chunk alone is scored in a thread: a process takes half a second to come up, which pays from the second on.
    """

    def __init__(self, processes: int, ended: Callable[[Ended], None], work: Callable[[Order], Batch] = score) -> None:
        """``work`` is sent to the processes: a function of a module."""
        self._processes, self._ended, self._work = processes, ended, work
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="scorer")
        self._pool: ProcessPoolExecutor | None = None
        self._suspects: queues.SimpleQueue[Order] = queues.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, orders: list[Order], *, alone: bool) -> None:
        """Score them; ``alone``: nothing else is under way or waiting."""
        if alone and len(orders) == 1 and self._pool is None:
            self._start(self._thread, orders[0], self._settle)
            return
        pool = self._processes_up()
        for order in orders:
            self._start(pool, order, self._settle)

    def rest(self) -> None:
        """Nothing is to be done for a while: let the processes go."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    def close(self) -> None:
        """End when what is under way has ended."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)
        self._thread.shutdown(wait=True)

    def _processes_up(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self._processes, mp_context=multiprocessing.get_context("spawn"))
            return self._pool

    def _start(self, executor: Executor, order: Order, then: Callable[[Order, Future[Batch]], None]) -> None:
        try:
            future = executor.submit(self._work, order)
        except BrokenProcessPool as error:
            future = Future()
            future.set_exception(error)
        future.add_done_callback(lambda done: then(order, done))

    def _settle(self, order: Order, done: Future[Batch]) -> None:
        error = done.exception()
        if isinstance(error, BrokenProcessPool) and not self._closed:
            with self._lock:
                self._pool = None
            self._suspects.put(order)
            self._thread.submit(self._alone)
            return
        self._ended(Ended(order=order, batch=None if error else done.result(), error=error))

    def _alone(self) -> None:
        """Score one that may have ended a process, in one that nobody else is in."""
        order = self._suspects.get()
        _log.warning("chunk.process_died", job=str(order.place.job), chunk=order.place.chunk)
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                batch = pool.submit(self._work, order).result()
            except Exception as error:  # noqa: BLE001  whatever it was, it is told with the chunk
                self._ended(Ended(order=order, batch=None, error=error))
            else:
                self._ended(Ended(order=order, batch=batch, error=None))
