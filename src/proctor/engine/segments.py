"""Segments: lines that grow while an attempt runs, kept in the object store one a second or each 64 KiB, numbered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from uuid import UUID

from proctor.objects.store import ObjectMissing, ObjectStore

__all__ = ["Segments", "read_segments", "segment_key"]

SEGMENT_BYTES: int = 64 * 1024
SEGMENT_SEC: float = 1.0
MAX_BYTES: int = 64 * 1024 * 1024
"""Per attempt and kind; what goes beyond it is counted and dropped, so that a chatty agent can't fill the store."""


def segment_key(tenant: UUID, attempt: UUID, kind: str, number: int) -> str:
    """Where a segment is kept. ``kind``: ``log`` or ``trajectory``."""
    return f"{tenant}/attempts/{attempt}/{kind}/{number:06d}.jsonl"


class Segments:
    """Writes the segments of one kind of one attempt, in order."""

    def __init__(self, objects: ObjectStore, tenant: UUID, attempt: UUID, kind: str) -> None:
        self._objects, self._tenant, self._attempt, self._kind = objects, tenant, attempt, kind
        self._lines: list[bytes] = []
        self._size = self._written = 0
        self._timer: asyncio.TimerHandle | None = None
        self._pending: set[asyncio.Task[None]] = set()
        self._order = asyncio.Lock()
        self.last = 0
        """The number of the last one that was written."""
        self.dropped_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether another line would be dropped."""
        return self._written + self._size >= MAX_BYTES

    def add(self, line: bytes) -> None:
        """One line, with its end; dropped and counted where there are too many."""
        if self.is_full:
            self.dropped_bytes += len(line)
            return
        self._lines.append(line)
        self._size += len(line)
        if self._size >= SEGMENT_BYTES:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SEGMENT_SEC, self._flush)

    def _flush(self) -> None:
        self._stop_timer()
        if not self._lines:
            return
        data, self._lines = b"".join(self._lines), []
        self._written, self._size = self._written + self._size, 0
        task = asyncio.get_running_loop().create_task(self._write(data))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def _write(self, data: bytes) -> None:
        async with self._order:
            await self._objects.put_soon(segment_key(self._tenant, self._attempt, self._kind, self.last + 1), data)
            self.last += 1

    async def close(self, *, rest: bool = True) -> None:
        """Wait for every segment. ``rest``: whether lines that wait for theirs are written too."""
        if rest:
            self._flush()
        self._stop_timer()
        if self._pending:
            await asyncio.gather(*self._pending)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def read_segments(
    objects: ObjectStore, tenant: UUID, attempt: UUID, *, after: int = 0, kind: str = "log"
) -> Iterator[tuple[int, bytes]]:
    """Segments numbered above ``after``, as far as there are any."""
    number = after + 1
    while True:
        try:
            yield number, objects.get(segment_key(tenant, attempt, kind, number))
        except ObjectMissing:
            return
        number += 1
