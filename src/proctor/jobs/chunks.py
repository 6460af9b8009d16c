"""How a job is cut into chunks. A chunk is so many rows of the dataset version in one repeat, by all evaluators.

Chunks are numbered, and what a number stands for follows from the job alone: no row of the database has to say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from proctor.kernel.ids import derived_id

__all__ = ["FEWEST", "MOST", "REPEATS", "Chunk", "Cut", "chunk_id", "chunk_rows"]

REPEATS: int = 1000
"""Of one example: pass^k over more than a few dozen says nothing new, and a typing error would make a million rows."""
AIM_SEC: float = 2.0
"""Work of one chunk: what a worker's death repeats, and long against the milliseconds that a claim takes."""
FEWEST: int = 100
MOST: int = 10_000
"""Rows: a group of the dataset's Parquet, which is read as a whole."""


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Rows ``start`` up to ``stop`` of the version, in one repeat."""

    index: int
    repeat: int
    start: int
    stop: int

    @property
    def rows(self) -> int:
        """How many."""
        return self.stop - self.start


@dataclass(frozen=True, kw_only=True)
class Cut:
    """How a job is cut: ``rows`` of the version, ``repeats`` of each, ``size`` rows to a chunk.

    ``pieces``: of a stream, how many chunks there are so far, each of the rows that came together, at most ``size``.
    """

    rows: int
    repeats: int
    size: int
    pieces: int | None = None

    @property
    def _in_repeat(self) -> int:
        return -(-self.rows // self.size)

    @property
    def chunks(self) -> int:
        """How many chunks it makes."""
        return self._in_repeat * self.repeats if self.pieces is None else self.pieces

    def chunk(self, index: int) -> Chunk:
        """What a number stands for; of a stream its piece says that."""
        assert self.pieces is None
        repeat, place = divmod(index, self._in_repeat)
        start = place * self.size
        return Chunk(index=index, repeat=repeat, start=start, stop=min(start + self.size, self.rows))


def chunk_rows(seconds_each: float) -> int:
    """Rows to a chunk where all evaluators together take so long for one, on one processor."""
    wanted = MOST if seconds_each <= 0 else int(AIM_SEC / seconds_each)
    return max(FEWEST, min(MOST, wanted))


def chunk_id(job: UUID, index: int) -> UUID:
    """Its row in the queue."""
    return derived_id("chunk", job, index)
