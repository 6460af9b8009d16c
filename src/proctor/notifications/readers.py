"""One open connection's share of the feed: a bounded queue, and the topics it follows from where."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from uuid import UUID

from proctor.notifications.topics import Frame

__all__ = ["MOST_WAITING", "Ended", "Overflow", "Reader", "come_to", "is_new"]

MOST_WAITING: int = 2_000
"""Events that may wait for a slow reader. They are shared with all others', so that a full queue takes 16 KB."""


class Ended(Exception):  # no error: nothing more comes
    """The feed was closed."""


class Overflow(Ended):
    """More came than the reader took."""


class Reader:
    """Filled and emptied in one event loop."""

    def __init__(self, tenant: UUID, most: int = MOST_WAITING) -> None:
        self.tenant, self._most = tenant, most
        self.follows: dict[str, int] = {}
        """By topic: up to which position it was read."""
        self._waiting: deque[Frame] = deque()
        self._wake = asyncio.Event()
        self._ended: Ended | None = None

    def offer(self, frame: Frame) -> None:
        """Take one more, or end: nobody waits for a reader."""
        if self._ended is not None:
            return
        self._waiting.append(frame)
        if len(self._waiting) > self._most:
            self.end(Overflow())
        self._wake.set()

    def end(self, why: Ended) -> None:
        """Let nothing more come; what waits is let go, since the reader can resume from its last id."""
        self._ended = self._ended or why
        self._waiting.clear()
        self._wake.set()

    def wake(self) -> None:
        """Have ``take`` return, though nothing came."""
        self._wake.set()

    async def take(self, seconds: float) -> list[Frame]:
        """What has come, in order; empty after so many seconds without anything. Raises ``Ended``."""
        if not self._wake.is_set():
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                return []
        self._wake.clear()
        if self._ended is not None:
            raise self._ended
        frames = [frame for frame in self._waiting if is_new(self.follows, frame)]
        if self._waiting:
            self.follows = come_to(self.follows, self._waiting[-1].position)
        self._waiting.clear()
        return frames


def is_new(follows: Mapping[str, int], frame: Frame) -> bool:
    """Whether it is of a topic that is followed, and was not read before."""
    return any(frame.position > follows.get(topic, frame.position) for topic in frame.topics)


def come_to(follows: Mapping[str, int], position: int) -> dict[str, int]:
    """What is followed from where, once all up to a position was read."""
    return {topic: max(before, position) for topic, before in follows.items()}
