"""One output stream of an exec, read from a pipe on the event loop."""

from __future__ import annotations

import asyncio
import os

from proctor.sandboxes.interfaces import OutputSink
from proctor.sandboxes.output import Kept

__all__ = ["Capture"]

_PIECE = 65536
_LAST_BYTES = 2 * 1024**2
"""Read at most so much after the command has ended: twice what a pipe can hold, so a background process
that goes on writing can't keep the exec open."""


class Capture:
    """Reads a pipe on the event loop until ``finish``."""

    def __init__(self, name: str, limit: int, sink: OutputSink | None) -> None:
        self._kept = Kept(name, limit, sink)
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
        before = self._kept.seen
        while self._open and self._kept.seen - before < _LAST_BYTES and self._take():
            pass
        self.close()
        return self._kept.end()

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
        return self._kept.truncated

    def _take(self) -> bool:
        try:
            piece = os.read(self._read, _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self._loop.remove_reader(self._read)
            return False
        self._kept.feed(piece)
        return True
