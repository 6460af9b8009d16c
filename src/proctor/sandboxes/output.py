"""What is kept and shown of one output stream of an exec: its last bytes kept, its first ones shown as they arrive."""

from __future__ import annotations

from collections import deque

from proctor.sandboxes.interfaces import OutputSink

__all__ = ["Kept"]


class Kept:
    """Takes the pieces of one stream; ``limit`` bytes are kept and shown, more is counted and dropped."""

    def __init__(self, name: str, limit: int, sink: OutputSink | None) -> None:
        self._name, self._limit, self._sink = name, limit, sink
        self._pieces: deque[bytes] = deque()
        self._kept = 0
        self.seen = 0

    def feed(self, piece: bytes) -> None:
        """Take one piece."""
        room = self._limit - self.seen
        if self._sink is not None and room > 0:
            self._sink(self._name, piece[:room])
        self.seen += len(piece)
        self._pieces.append(piece)
        self._kept += len(piece)
        while self._pieces and self._kept - len(self._pieces[0]) >= self._limit:
            self._kept -= len(self._pieces.popleft())

    def end(self) -> bytes:
        """The last bytes up to the limit."""
        return b"".join(self._pieces)[-self._limit :] if self._limit else b""

    @property
    def truncated(self) -> bool:
        """Whether there was more than is kept."""
        return self.seen > self._limit
