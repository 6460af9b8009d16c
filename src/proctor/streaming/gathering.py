"""Gathering what is sent at about the same time: one chunk and one transaction for all of it.

Whoever sends waits until their rows are durable. A thousand small requests a second are some ten transactions so, and
ten chunks, each long enough to be worth its claim.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import cache
from uuid import UUID

from proctor.streaming.appending import Appender
from proctor.streaming.errors import KeyReused, StreamBusy
from proctor.streaming.values import Appended, Entry, Fate, Refusal

__all__ = ["Gatherer", "answer"]

GATHER_SEC: float = 0.08
"""How long rows wait for others: unnoticed by who sends, and far below the second in which results are to be seen."""
MOST_ROWS: int = 10_000
"""Of one commit: a whole chunk."""
MOST_WAITING: int = 100_000
"""Rows of all senders of a process that wait to be written: some hundred megabytes."""

_Waiting = tuple[Sequence[Entry], "Future[list[Fate]]"]


class Gatherer:
    """Appends for all senders of a process. Its methods may be called from any thread."""

    def __init__(self, appender: Callable[[UUID], Appender]) -> None:
        """``appender``: a tenant's; made once, since it remembers when it last woke a worker."""
        self._appender = cache(appender)
        self._lock = threading.Lock()
        self._lines: dict[tuple[UUID, str], _Line] = {}
        self._rows = 0

    def submit(self, tenant: UUID, reference: str, entries: Sequence[Entry]) -> Future[list[Fate]]:
        """Have entries added to a stream; what became of each, once they are durable. Raises ``StreamBusy``."""
        rows = _rows(entries)
        fates: Future[list[Fate]] = Future()
        fates.set_running_or_notify_cancel()  # what is durable is no less so for one who waits no more
        with self._lock:
            if self._rows and self._rows + rows > MOST_WAITING:
                raise StreamBusy(where=reference)
            self._rows += rows
            line = self._lines.get((tenant, reference))
            if line is None:
                line = self._lines[tenant, reference] = _Line()
                arguments = (self._appender(tenant), tenant, reference, line)
                threading.Thread(target=self._work, args=arguments, name="stream", daemon=True).start()
            line.add((entries, fates))
        return fates

    def append(self, tenant: UUID, reference: str, entries: Sequence[Entry]) -> Appended:
        """As ``submit``, waited for. Raises what ``Appender.append`` does, and ``KeyReused``."""
        return answer(entries, self.submit(tenant, reference, entries).result())

    def _work(self, appender: Appender, tenant: UUID, reference: str, line: _Line) -> None:
        """Of one stream, until nobody waits."""
        while True:
            line.full.wait(GATHER_SEC)
            with self._lock:
                batch = line.take()
                if not batch:
                    del self._lines[tenant, reference]
                    return
            _append(appender, reference, batch)
            with self._lock:
                self._rows -= sum(_rows(entries) for entries, _ in batch)


class _Line:
    """Who waits for one stream."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._rows = 0
        self.full = threading.Event()
        """There is enough for a whole chunk."""

    def add(self, one: _Waiting) -> None:
        self._waiting.append(one)
        self._rows += _rows(one[0])
        if self._rows >= MOST_ROWS:
            self.full.set()

    def take(self) -> list[_Waiting]:
        """As many as make a commit, at least one if there is one."""
        taken, rows = list[_Waiting](), 0
        while self._waiting and (not taken or rows + _rows(self._waiting[0][0]) <= MOST_ROWS):
            taken.append(self._waiting.pop(0))
            rows += _rows(taken[-1][0])
        self._rows -= rows
        if self._rows < MOST_ROWS:
            self.full.clear()
        return taken


def _rows(entries: Sequence[Entry]) -> int:
    return sum(len(one.rows) + len(one.refusals) for one in entries)


def _append(appender: Appender, reference: str, batch: Sequence[_Waiting]) -> None:
    try:
        fates = appender.append(reference, [one for entries, _ in batch for one in entries])
    except BaseException as error:  # noqa: BLE001  whoever waits is told
        if len(batch) == 1:
            batch[0][1].set_exception(error)
            return
        for one in batch:  # to whom something is wrong with another's, or whose rows are there already, it is no fault
            _append(appender, reference, [one])
        return
    start = 0
    for entries, told in batch:
        told.set_result(fates[start : start + len(entries)])
        start += len(entries)


def answer(entries: Sequence[Entry], fates: Sequence[Fate]) -> Appended:
    """What a sender is told. Raises ``KeyReused`` where the key of the whole came with other rows before."""
    refusals: list[Refusal] = []
    rows = 0
    for one, fate in zip(entries, fates, strict=True):
        if fate is Fate.CLASHED and not one.is_row:
            raise KeyReused(where="Idempotency-Key")
        if fate is Fate.CLASHED:
            refusals.append(
                Refusal(row=one.first, line=one.line, field="key", reason="it came with another row before")
            )
        else:
            rows += len(one.rows)
            refusals += one.refusals
    refusals.sort(key=lambda one: one.row)
    return Appended(rows=rows, refused=len(refusals), refusals=tuple(refusals))
