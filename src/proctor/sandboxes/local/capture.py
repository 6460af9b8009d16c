"""One output stream of an exec: kept up to a limit (the last bytes), shown to a sink as it arrives."""

from __future__ import annotations

import asyncio
import os
from collections import deque

from proctor.sandboxes.interfaces import OutputSink

__all__ = ["Capture"]

_PIECE = 65536
_LAST_BYTES = 2 * 1024**2
"""Read at most so much after the command has ended: twice what a pipe can hold, so a background process
that goes on writing can't keep the exec open."""


class Capture:
    """Reads a pipe on the event loop until ``finish``."""

    def __init__(self, name: str, limit: int, sink: OutputSink | None) -> None:
        self._name, self._limit, self._sink = name, limit, sink
        self._pieces: deque[bytes] = deque()
        self._kept = 0
        self.seen = 0
        self._loop = asyncio.get_running_loop()
        self._read, self.write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._read, False)
        self._loop.add_reader(self._read, self._take)
        self._open = True

    def release(self) -> None:
        """Close the writing end here: the command has its own copy."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def finish(self) -> bytes:
        """Take what is still in the pipe and close it; the last bytes up to the limit."""
        before = self.seen
        while self._open and self.seen - before < _LAST_BYTES and self._take():
            pass
        self.close()
        kept = b"".join(self._pieces)
        return kept[-self._limit :] if self._limit else b""

    def close(self) -> None:
        """Stop reading. Safe to repeat."""
        self.release()
        if self._open:
            self._open = False
            self._loop.remove_reader(self._read)
            os.close(self._read)

    @property
    def truncated(self) -> bool:
        """Whether there was more than is kept."""
        return self.seen > self._limit

    def _take(self) -> bool:
        try:
            piece = os.read(self._read, _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self._loop.remove_reader(self._read)
            return False
        self._show(piece)
        self.seen += len(piece)
        self._keep(piece)
        return True

    def _show(self, piece: bytes) -> None:
        room = self._limit - self.seen
        if self._sink is not None and room > 0:
            self._sink(self._name, piece[:room])

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._kept += len(piece)
        while self._pieces and self._kept - len(self._pieces[0]) >= self._limit:
            self._kept -= len(self._pieces.popleft())
