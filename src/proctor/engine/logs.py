"""Live logs: what programs printed, as JSON lines in segments.

A line is ``{"t": ISO time, "phase": ..., "stream": ..., "text": ...}``. Tail reads segments by number; the last
number stands on the attempt's row.
"""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection
from uuid import UUID

from proctor.engine.secrets import Scrubber
from proctor.engine.segments import Segments
from proctor.kernel.clock import Clock
from proctor.objects.store import ObjectStore

__all__ = ["LogWriter", "text_of"]


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
        self._secrets, self._clock = secrets, clock
        self._segments = Segments(objects, tenant, attempt, "log")
        self._streams: dict[tuple[str, str], _Stream] = {}
        self.dropped_bytes = 0

    @property
    def last_segment(self) -> int:
        """The number of the last segment that was written."""
        return self._segments.last

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
        if self._segments.is_full:
            self.dropped_bytes += len(text.encode())
            return
        line = {
            "t": self._clock.now().isoformat(),
            "phase": phase,
            "stream": stream,
            "text": text,
        }
        self._segments.add(json.dumps(line).encode() + b"\n")

    async def close(self) -> None:
        """Write what is left and wait for every segment."""
        self.release()
        await self._segments.close()


def text_of(segment: bytes) -> str:
    """What was printed, of one segment, without times and streams."""
    return "".join(json.loads(line)["text"] for line in segment.splitlines())
