"""Sending lines to a stream from where they come: a few times a second, again until it is known that they are there."""

from __future__ import annotations

import asyncio
import hashlib
import queue as queues
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, Protocol
from uuid import uuid4

from proctor.database.errors import DatabaseUnavailable
from proctor.kernel.errors import ProctorError
from proctor.sdk.remote.errors import ServerFault, ServerRefused, ServerUnreachable
from proctor.streaming.errors import StreamBusy
from proctor.streaming.rows import ROW_BYTES, batches, keyed
from proctor.streaming.values import Appended, Refusal

if TYPE_CHECKING:
    from proctor.streaming.nats import NatsSource

__all__ = ["Sender", "Sent", "fed", "gathered", "read_lines"]

FLUSH_SEC: float = 0.2
"""How long lines wait for others before they are sent."""
PATIENCE_SEC: float = 900.0
"""For how long what may pass is tried again: a server that restarts, a database that moves."""
WAIT_SEC: tuple[float, float] = (0.5, 15.0)
"""Before the second try, and the longest before a later one."""
WAITING: int = 10_000
"""Lines that are read ahead of what is sent."""
_PASSING = (ServerUnreachable, ServerFault, DatabaseUnavailable, StreamBusy)


class Appending(Protocol):
    """A client's streams, in this process or on a server."""

    def append_lines(self, stream: str, lines: bytes, *, key: str | None = None) -> Appended:
        """Add rows; they are durable when this returns."""
        ...


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What became of lines. ``refusals``: by the place of each among them, from 1."""

    rows: int
    refusals: tuple[Refusal, ...]


class Sender:
    """Sends to one stream, and does not give up for what passes. One call at a time."""

    def __init__(
        self, streams: Appending, stream: str, *, on_wait: Callable[[ProctorError], None] = lambda _: None
    ) -> None:
        """``on_wait``: told why something is tried again."""
        self._streams, self._stream, self._on_wait = streams, stream, on_wait
        self._stopping = threading.Event()

    def hurry(self) -> None:
        """Try once more what is tried again, and then no more; from any thread."""
        self._stopping.set()

    def send(self, lines: Sequence[bytes]) -> Sent:
        """Add lines, each a row with a key of its own; they are durable when this returns.

        Raises ``JobUnknown``, ``StreamClosed``, and what did not pass in a quarter of an hour.
        """
        rows, refusals, before = 0, list[Refusal](), 0
        for batch in batches(lines):
            told = self._patiently(b"\n".join(batch))
            rows += told.rows
            refusals += [replace(one, row=before + one.row) for one in told.refusals]
            before += len(batch)
        return Sent(rows=rows, refusals=tuple(refusals))

    def _patiently(self, body: bytes) -> Appended:
        wait, until, key = WAIT_SEC[0], time.monotonic() + PATIENCE_SEC, str(uuid4())
        while True:
            try:
                return self._streams.append_lines(self._stream, body, key=key)
            except ProctorError as error:
                if not _passes(error) or time.monotonic() > until or self._stopping.is_set():
                    raise
                self._on_wait(error)
            self._stopping.wait(wait)
            wait = min(2 * wait, WAIT_SEC[1])


def _passes(error: ProctorError) -> bool:
    """Whether it may be another thing later; too many requests of a key are."""
    return isinstance(error, _PASSING) or (isinstance(error, ServerRefused) and error.code == "rate-limited")


def fed(sender: Sender, source: NatsSource, sent: Callable[[Sent], None]) -> None:
    """Send the messages of NATS until the process is told to end; what was taken is sent first. ``sent``: of each
    batch. Raises ``SourceUnusable``, ``NatsExtraMissing``, and what ``Sender.send`` does."""
    from proctor.streaming.nats import Feeder

    def send(lines: Sequence[bytes]) -> frozenset[int]:
        told = sender.send(lines)
        sent(told)
        return frozenset(one.row for one in told.refusals)

    async def run() -> None:
        stopping = asyncio.Event()

        def stop() -> None:
            stopping.set()
            sender.hurry()

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        await Feeder(source, send).run(stopping)

    asyncio.run(run())


def read_lines(file: BinaryIO, source: str) -> Iterator[bytes]:
    """Its lines as rows, each with a key of its source, number and text: read again, they are the same rows.

    A line that is too long is read to its end and told as one that is no row.
    """
    number = 0
    while line := file.readline(ROW_BYTES + 1):
        number += 1
        last = line
        while not last.endswith(b"\n") and (last := file.readline(ROW_BYTES)):
            pass  # the rest of a long line is not kept
        text = line.strip()
        if text:
            name = f"{source}\0{number}\0".encode() + text
            yield keyed(text, f"{number}-{hashlib.sha256(name).hexdigest()[:32]}", number)


def gathered(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Lines as they come, those of a fifth of a second together; read in a thread. Raises what reading does."""
    waiting: queues.Queue[bytes | None] = queues.Queue(WAITING)
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
        except BaseException as error:  # noqa: BLE001  raised by whoever takes the lines
            failures.append(error)
        waiting.put(None)

    threading.Thread(target=read, name="lines", daemon=True).start()
    while (first := waiting.get()) is not None:
        batch, ended = _together(waiting, first)
        yield batch
        if ended:
            break
    if failures:
        raise failures[0]


def _together(waiting: queues.Queue[bytes | None], first: bytes) -> tuple[list[bytes], bool]:
    """The first line and those that come soon after it; whether there are no more."""
    batch, until = [first], time.monotonic() + FLUSH_SEC
    while len(batch) < WAITING and (left := until - time.monotonic()) > 0:
        try:
            line = waiting.get(timeout=left)
        except queues.Empty:
            break
        if line is None:
            return batch, True
        batch.append(line)
    return batch, False
