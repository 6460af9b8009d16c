"""Cells of a run set of ours as they are sent, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.planning import RunSetRow

__all__ = ["Told", "cells_to_push"]

PAGE: int = 200
"""Cells read in one transaction: some megabytes, rarely fifty."""

_run = partial(run_query, "proctor.engine")


@dataclass(frozen=True, kw_only=True)
class Told:
    """A cell with its attempts as rows; ``profile`` by position, ``place`` among the trials of profile and task."""

    profile: int
    task: str
    place: int
    attempts: Sequence[Mapping[str, Any]]


def cells_to_push(connection: Connection, tenant: UUID, row: RunSetRow, *, after: Told | None) -> list[Told]:
    """The next page of those that have an attempt which ended; empty at the end."""
    place = (-1, "", 0) if after is None else (after.profile, after.task, after.place)
    found = _run(
        connection,
        "cells_to_push",
        tenant=tenant,
        run_set=row.id,
        policy=row.policy_version,
        profile=place[0],
        task=place[1],
        place=place[2],
        page=PAGE,
    )
    return [Told(profile=one.profile, task=one.content_digest, place=one.place, attempts=one.attempts) for one in found]


def pages(read: Any, tenant: UUID, row: RunSetRow) -> Iterator[list[Told]]:
    """All of them, a transaction each."""
    after: Told | None = None
    while page := read(partial(cells_to_push, tenant=tenant, row=row, after=after)):
        yield page
        after = page[-1]
