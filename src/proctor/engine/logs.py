"""Live logs: numbered segments of JSON lines in the object store, one a second or each 64 KiB.

A line is ``{"t": ISO time, "phase": ..., "stream": ..., "text": ...}``. Tail reads segments by number; the last
number stands on the attempt's row.
"""

from __future__ import annotations

import asyncio
import json
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Iterator
from uuid import UUID

from proctor.engine.secrets import Scrubber
from proctor.kernel.clock import Clock
from proctor.objects.store import ObjectMissing, ObjectStore

__all__ = ["LogWriter", "read_segments", "segment_key", "text_of"]

SEGMENT_BYTES: int = 64 * 1024
SEGMENT_SEC: float = 1.0
MAX_LOG_BYTES: int = 64 * 1024 * 1024
"""Per attempt; output beyond it is counted and dropped, so that a chatty agent can't fill the store."""


def segment_key(tenant: UUID, attempt: UUID, number: int) -> str:
    """Where a segment is kept."""
    return f"{tenant}/attempts/{attempt}/log/{number:06d}.jsonl"


class _Stream:
    """One stream of one program: secrets are removed, then bytes become text, both across the borders of pieces."""

    def __init__(self, secrets: Collection[str]) -> None:
        self._scrubber = Scrubber(secrets)
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        return self._decoder.decode(self._scrubber.feed(data))

    def finish(self) -> str:
        return self._decoder.decode(self._scrubber.finish(), final=True)


class LogWriter:
    """Collects an attempt's output and writes its segments; secrets are removed before anything is kept."""

    def __init__(
        self, objects: ObjectStore, tenant: UUID, attempt: UUID, secrets: Collection[str], clock: Clock
    ) -> None:
        self._objects, self._tenant, self._attempt, self._clock = objects, tenant, attempt, clock
        self._secrets = secrets
        self._streams: dict[tuple[str, str], _Stream] = {}
        self._lines: list[bytes] = []
        self._size = 0
        self._written = 0
        self._timer: asyncio.TimerHandle | None = None
        self._pending: set[asyncio.Task[None]] = set()
        self._order = asyncio.Lock()
        self.last_segment = 0
        self.dropped_bytes = 0

    def sink(self, phase: str) -> Callable[[str, bytes], None]:
        """A function that takes the output of one program of a phase; what earlier ones held back comes before it."""
        self.release()

        def take(stream: str, data: bytes) -> None:
            if (phase, stream) not in self._streams:
                self._streams[phase, stream] = _Stream(self._secrets)
            self._add(phase, stream, self._streams[phase, stream].feed(data))

        return take

    def release(self) -> None:
        """Write what was held back: the programs that printed it have ended, so no secret can go on in it."""
        streams, self._streams = self._streams, {}
        for (phase, stream), one in streams.items():
            self._add(phase, stream, one.finish())

    def _add(self, phase: str, stream: str, text: str) -> None:
        if not text:
            return
        if self._written + self._size >= MAX_LOG_BYTES:
            self.dropped_bytes += len(text.encode())
            return
        line = {
            "t": self._clock.now().isoformat(),
            "phase": phase,
            "stream": stream,
            "text": text,
        }
        self._lines.append(json.dumps(line).encode() + b"\n")
        self._size += len(self._lines[-1])
        if self._size >= SEGMENT_BYTES:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SEGMENT_SEC, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._lines:
            return
        data, self._lines = b"".join(self._lines), []
        self._written, self._size = self._written + self._size, 0
        task = asyncio.get_running_loop().create_task(self._write(data))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def _write(self, data: bytes) -> None:
        async with self._order:
            key = segment_key(self._tenant, self._attempt, self.last_segment + 1)
            await self._objects.put_soon(key, data)
            self.last_segment += 1

    async def close(self) -> None:
        """Write what is left and wait for every segment."""
        self.release()
        self._flush()
        if self._pending:
            await asyncio.gather(*self._pending)


def read_segments(objects: ObjectStore, tenant: UUID, attempt: UUID, *, after: int) -> Iterator[tuple[int, bytes]]:
    """Segments numbered above ``after``, as far as there are any."""
    number = after + 1
    while True:
        try:
            yield number, objects.get(segment_key(tenant, attempt, number))
        except ObjectMissing:
            return
        number += 1


def text_of(segment: bytes) -> str:
    """What was printed, of one segment, without times and streams."""
    return "".join(json.loads(line)["text"] for line in segment.splitlines())
