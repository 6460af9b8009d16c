"""Where chunks are scored: processes of their own, so that no evaluator holds a heartbeat up or takes a worker along.

Each does one chunk at a time: where one dies, that chunk is the reason, and the next gets a new process.
"""

from __future__ import annotations

import queue as queues
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING

from proctor.jobs.orders import Order
from proctor.jobs.scoring import Choice, score
from proctor.results.batches import Batch

if TYPE_CHECKING:
    from proctor.jobs.scoring_process import Task

__all__ = ["Ended", "Scorers", "Unchosen"]

PROGRAM: tuple[str, ...] = ("-m", "proctor.jobs.scoring_process")
"""What each process runs."""

_Answer = Batch | Choice | str
"""What was asked for, or why there is none."""


class Unchosen(Exception):
    """Why nothing could be chosen."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What became of a chunk: its batch, or why it has none."""

    order: Order
    batch: Batch | None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """One thing that a process is to do, and who is told of it."""

    task: Task
    order: Order
    told: Callable[[_Answer], None]


class Scorers:
    """Scores chunks side by side and tells ``ended`` of each, from threads of its own.

    One chunk alone is scored in this process: another takes half a second to come up, which pays from the second on.
    """

    def __init__(self, processes: int, ended: Callable[[Ended], None]) -> None:
        self._ended = ended
        self._waiting: queues.SimpleQueue[_Wanted | None] = queues.SimpleQueue()
        self._lines = [_Line(self._waiting) for _ in range(processes)]

    def submit(self, orders: Sequence[Order], *, alone: bool) -> None:
        """Score them; ``alone``: nothing else is under way or waiting."""
        if alone and len(orders) == 1 and not any(line.is_up for line in self._lines):
            threading.Thread(target=self._here, args=(orders[0],), name="scorer", daemon=True).start()
            return
        for order in orders:
            self._put(_Wanted(task="score", order=order, told=partial(self._scored, order)))

    def choose(self, order: Order) -> Future[Choice]:
        """Which rows its routed evaluators judge. The future raises ``Unchosen``."""
        found: Future[Choice] = Future()

        def told(answer: _Answer) -> None:
            if isinstance(answer, Choice):
                found.set_result(answer)
            else:
                found.set_exception(Unchosen(str(answer)))

        self._put(_Wanted(task="choose", order=order, told=told))
        return found

    def _put(self, wanted: _Wanted) -> None:
        for line in self._lines:
            line.start()
        self._waiting.put(wanted)

    def _here(self, order: Order) -> None:
        try:
            batch = score(order)
        except Exception as error:  # noqa: BLE001  whatever it was, it is told with the chunk
            self._ended(Ended(order=order, batch=None, error=f"{type(error).__name__}: {error}"))
        else:
            self._ended(Ended(order=order, batch=batch))

    def _scored(self, order: Order, answer: _Answer) -> None:
        batch = answer if isinstance(answer, Batch) else None
        self._ended(Ended(order=order, batch=batch, error="" if batch is not None else str(answer)))

    def rest(self) -> None:
        """Nothing is to be done for a while: let the processes go. What is waiting is done first."""
        up = [line for line in self._lines if line.is_up]
        for _ in up:
            self._waiting.put(None)
        for line in up:
            line.join()

    close = rest


class _Line:
    """One process and the thread that talks to it."""

    def __init__(self, waiting: queues.SimpleQueue[_Wanted | None]) -> None:
        self._waiting = waiting
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()

    @property
    def is_up(self) -> bool:
        """Whether it works."""
        return self._thread is not None

    def start(self) -> None:
        """Begin to work; again is fine, and from any thread."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="scorer", daemon=True)
                self._thread.start()

    def join(self) -> None:
        """Wait until it has let its process go."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (wanted := self._waiting.get()) is not None:
            wanted.told(self._answered(wanted))
        if self._process is not None:
            _ended(self._process)
            self._process = None

    def _answered(self, wanted: _Wanted) -> _Answer:
        from proctor.jobs.scoring_process import ANSWER, ORDER

        process = self._process = self._process or _started()
        try:
            stdin = _pipe(process.stdin)
            stdin.write(ORDER.dump_json((wanted.task, wanted.order)) + b"\n")
            stdin.flush()
            answer = _pipe(process.stdout).readline()
        except OSError:
            answer = b""
        if not answer:
            self._process = None
            return f"Its process ended with {_ended(process)}."
        return ANSWER.validate_json(answer)


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
        start_new_session=True,  # Ctrl-C is for the worker, which lets what is under way finish
    )


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Let a process end, and say how it did."""
    with suppress(BrokenPipeError):
        _pipe(process.stdin).close()
    code = process.wait()
    _pipe(process.stdout).close()
    return code


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
