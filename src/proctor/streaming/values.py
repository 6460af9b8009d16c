"""What is sent to a stream and what is answered, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from proctor.jobs.values import Job

__all__ = ["Appended", "Entry", "Fate", "KeptRefusal", "Refusal", "Row", "Stream"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One row, every field checked. Texts are stored as an example's are: itself, or RFC 8785 JSON with its flag.

    ``digest``: of what was asked and expected, 16 bytes; ``time``: when it was made, as its sender says.
    """

    id: str
    input: str | None
    input_is_json: bool
    expected: str | None
    expected_is_json: bool
    metadata: str | None
    digest: bytes
    output: str
    output_is_json: bool
    model: str | None
    time: datetime | None

    @property
    def size(self) -> int:
        """Characters that it takes at least."""
        return sum(len(text or "") for text in (self.id, self.input, self.expected, self.metadata, self.output))


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A row that is none. ``row``: in what was sent at once, from 1; ``field``: empty for the whole row; ``line``: its
    number where the sender took it from, as it says."""

    row: int
    field: str
    reason: str
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class KeptRefusal:
    """One that is kept to be looked at. ``row``: its line, where the sender told it, else as it was sent; ``said``: how
    it begins."""

    id: UUID
    at: datetime
    row: int
    field: str
    reason: str
    said: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What is added to a stream once, whole or not at all, however often it is sent: a row, or all rows of a request.

    ``key``: what its sender calls it by, ``digest``: of what it says, 16 bytes each.
    """

    key: bytes
    digest: bytes
    is_row: bool
    """A row with a key of its own."""
    rows: tuple[Row, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    said: tuple[str, ...] = ()
    """How each refused row begins."""
    first: int = 1
    """Its first row in what was sent at once."""
    line: int | None = None
    """Which that was where the sender took it from."""


class Fate(StrEnum):
    """What became of an entry."""

    ADDED = "added"
    KNOWN = "known"
    """It was there already."""
    CLASHED = "clashed"
    """Something else was, under its key."""


@dataclass(frozen=True, kw_only=True)
class Appended:
    """What became of rows that were sent: how many the stream holds, and how many were refused.

    It is the same however often they are sent. ``refusals``: those that were refused, in their order.
    """

    rows: int
    refused: int
    refusals: tuple[Refusal, ...] = field(default=())


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A stream: its job, and how many rows were refused since it was opened."""

    job: Job
    refused: int
