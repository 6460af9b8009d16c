"""Pieces: where the rows of a stream's chunks are. Each is of what came together, so that no number tells its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.jobs.chunks import Chunk
from proctor.objects.parquet import Part

__all__ = ["Piece", "pieces_of", "pieces_prefix"]

_run = partial(run_query, "proctor.jobs")


@dataclass(frozen=True, kw_only=True)
class Piece:
    """The rows of one chunk, from position ``start`` of the stream on. The two parts hold them and no others."""

    chunk: int
    start: int
    examples: Part
    outputs: Part

    @property
    def as_chunk(self) -> Chunk:
        """The same as any job's chunk."""
        return Chunk(index=self.chunk, repeat=0, start=self.start, stop=self.start + self.examples.rows)


def pieces_prefix(tenant: UUID, job: UUID) -> str:
    """What the keys of a stream's objects begin with."""
    return f"{tenant}/streams/{job}/"


def pieces_of(
    connection: Connection, tenant: UUID, wanted: Sequence[tuple[UUID, int]]
) -> Mapping[tuple[UUID, int], Piece]:
    """The pieces of these chunks, by job and number; one that was let go is not among them."""
    if not wanted:
        return {}
    jobs, chunks = zip(*wanted, strict=True)
    rows = _run(connection, "pieces_of", tenant=tenant, jobs=list(jobs), chunks=list(chunks))
    return {
        (row.job_id, row.chunk): Piece(
            chunk=row.chunk, start=row.start, examples=Part(**row.examples), outputs=Part(**row.outputs)
        )
        for row in rows
    }
