"""How far long work is, told by the work and read by whoever holds its lease."""

from __future__ import annotations

from collections.abc import Callable

from proctor.operations.service import Progress

__all__ = ["Stopped", "Tally"]


class Stopped(Exception):
    """Raised into work that is to end: somebody cancelled it, its lease is lost, or the server stops.

    No error of ours on purpose: what goes on after one of those must not go on after this.
    """


class Tally:
    """Counts what is done. Counting is where work that is to end ends."""

    def __init__(self, stopping: Callable[[], bool] = lambda: False) -> None:
        self._stopping = stopping
        self.progress = Progress(done=0, total=None, words="")

    def begin(self, words: str, total: int | None = None) -> None:
        """A part of the work, of so many. Raises ``Stopped``."""
        self.progress = Progress(done=0, total=total, words=words)
        self.go_on()

    def more(self, number: int = 1) -> None:
        """So many more are done. Raises ``Stopped``."""
        seen = self.progress
        self.progress = Progress(done=seen.done + number, total=seen.total, words=seen.words)
        self.go_on()

    def go_on(self) -> None:
        """Where nothing is counted. Raises ``Stopped``."""
        if self._stopping():
            raise Stopped()
