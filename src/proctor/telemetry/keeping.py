"""Keeps log lines in the object store, in a thread of its own that sleeps as long as nothing is logged.

Who logs never waits and never fails because of it: lines wait in bounded memory, and what finds no room or can't be
written is lost and counted. A process that is killed loses what it logged in its last ``EVERY_SEC``; standard error
has it.
"""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from proctor.objects.store import ObjectStore
from proctor.telemetry.logs import Line, keeping
from proctor.telemetry.places import owner_of, segment_key
from proctor.telemetry.tallies import Tally, count

__all__ = ["Keeper", "kept"]

SEGMENT_BYTES: int = 64 * 1024
EVERY_SEC: float = 2.0
"""How long a line waits at the most: as long as somebody who follows at a terminal is patient."""
MOST_BYTES: int = 4 * 1024 * 1024
"""Of lines that wait: more than that in two seconds is a loop."""
_TOLD_EVERY_SEC: float = 60.0


@dataclass(slots=True)
class _Segment:
    lines: list[bytes] = field(default_factory=list)
    size: int = 0


class Keeper:
    """Takes lines from any thread. ``default``: the tenant of lines that name none; empty: they are operators' own."""

    def __init__(self, objects: ObjectStore, *, default: str = "", every_sec: float = EVERY_SEC) -> None:
        self._objects, self._default, self._every = objects, default, every_sec
        self._process = secrets.token_hex(6)
        self._number = 0
        self._waiting: dict[tuple[str, datetime], _Segment] = {}
        self._bytes = 0
        self._changed = threading.Condition()
        self._full = self._closing = False
        self._thread = threading.Thread(target=self._work, name="log-keeper", daemon=True)
        self._told = -_TOLD_EVERY_SEC
        self.stored = 0
        """Lines stored so far."""

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def take(self, line: Line) -> None:
        """Keep a line, or lose it where too many wait."""
        data = line.text.encode("utf-8", "replace") + b"\n"
        key = owner_of(line.tenant or self._default), line.at.replace(second=0, microsecond=0)
        with self._changed:
            if self._closing or self._bytes + len(data) > MOST_BYTES:
                count(Tally.LINES_LOST)
                return
            segment = self._waiting.setdefault(key, _Segment())
            segment.lines.append(data)
            segment.size += len(data)
            first, self._bytes = self._bytes == 0, self._bytes + len(data)
            self._full |= segment.size >= SEGMENT_BYTES
            if first or self._full:
                self._changed.notify()

    def close(self, timeout_sec: float = 5.0) -> None:
        """Write what waits and end; a store that does not answer is not waited for longer than that."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_sec)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                self._changed.wait_for(lambda: self._full or self._closing, timeout=self._every)
                waiting, self._waiting = self._waiting, {}
                self._bytes, self._full = 0, False
                ending = self._closing
            for (owner, minute), segment in waiting.items():
                self._write(owner, minute, segment)
            if ending:
                return

    def _write(self, owner: str, minute: datetime, segment: _Segment) -> None:
        self._number += 1
        try:
            self._objects.put(segment_key(owner, minute, self._process, self._number), b"".join(segment.lines))
        except Exception as error:  # noqa: BLE001  whatever the store's trouble is, work goes on without these lines
            count(Tally.LINES_LOST, len(segment.lines))
            self._tell(error)
        else:
            self.stored += len(segment.lines)
            count(Tally.LINES_STORED, len(segment.lines))

    def _tell(self, error: Exception) -> None:
        """On standard error alone: a line of it would have to be kept too."""
        if time.monotonic() - self._told >= _TOLD_EVERY_SEC:
            self._told = time.monotonic()
            text = f'{{"level": "warning", "event": "logs.not_kept", "error": "{type(error).__name__}"}}'
            print(text, file=sys.stderr, flush=True)


@contextmanager
def kept(objects: ObjectStore, *, default: str = "") -> Iterator[Keeper]:
    """Keep this process's lines in a store meanwhile."""
    keeper = Keeper(objects, default=default)
    keeper.start()
    try:
        with keeping(keeper.take):
            yield keeper
    finally:
        keeper.close()
