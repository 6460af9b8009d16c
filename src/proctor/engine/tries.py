"""One cell of a run set with every attempt at it, whichever run set made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine import reading
from proctor.engine.errors import CellUnknown
from proctor.engine.planning import RunSetRow
from proctor.engine.recording import KIND
from proctor.queue import service as queue
from proctor.suites.service import heads_of

__all__ = ["CellStanding", "Tried", "standing_of", "tries_at"]

_run = partial(run_query, "proctor.engine")
_NONE: UUID = UUID(int=0)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """An attempt, and what its class rests on."""

    id: UUID
    number: int
    run_set_id: UUID
    cell_id: UUID
    started_at: datetime
    ended_at: datetime | None
    phase: str
    backend: str
    usage: Mapping[str, Any] | None
    outcome: str | None
    owner: str | None
    rule: str | None
    verdict: bool | None
    limit: str | None
    rewards: Mapping[str, float] | None
    graded: Mapping[str, Any] | None
    evidence: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class CellStanding:
    """A cell as a run set sees it, and what will be done for it."""

    cell: reading.CellRow
    profile: str
    task: str
    given_up: bool
    """It is owed, and nothing will be done for it until somebody asks: a dead letter, or in no queue."""
    reason: str
    """Why it is a dead letter."""
    waits_until: datetime | None


def standing_of(connection: Connection, tenant: UUID, row: RunSetRow, reference: str) -> CellStanding:
    """By its id or the beginning of one. Raises ``CellUnknown``."""
    place = _place_of(connection, tenant, row, reference)
    queued = queue.rows_of(connection, tenant, KIND, row.id, identity=place.cell_id)
    cell = _at(connection, tenant, row, place)
    (task,) = heads_of(connection, tenant, row.suite_id, [cell.content_digest])
    owed = cell.verdict is None and cell.withdrawn is None
    waiting = queued.get(str(cell.cell)) if owed else None
    return CellStanding(
        cell=cell,
        profile=reading.profile_names(connection, tenant, row.id)[cell.profile],
        task=task.name,
        given_up=owed and (waiting is None or waiting.state == "dead"),
        reason=waiting.reason if waiting is not None and waiting.state == "dead" else "",
        waits_until=None if waiting is None else waiting.until,
    )


def _place_of(connection: Connection, tenant: UUID, row: RunSetRow, reference: str) -> Any:
    try:
        low, high = reading.id_range(reference)
    except ValueError as error:
        raise CellUnknown(f"{reference!r} is no id or beginning of one.") from error
    found = _run(connection, "cells_begun", tenant=tenant, run_set=row.id, low=low, high=high).all()
    if len(found) != 1:
        raise CellUnknown(f"{'Several cells begin' if found else 'No cell begins'} with {reference!r}.")
    return found[0]


def _at(connection: Connection, tenant: UUID, row: RunSetRow, place: Any) -> reading.CellRow:
    before = (place.profile, place.content_digest, place.trial - 1, _NONE)
    page = reading.cells(
        connection, tenant, row, profile=place.profile, tasks=[place.content_digest], after=before, limit=_SAME_TRIAL
    )
    return next(one for one in page.cells if one.cell == place.cell_id)


_SAME_TRIAL: int = 8
"""Cells of one profile, task and trial: another one is of another verifier."""


def tries_at(connection: Connection, tenant: UUID, row: RunSetRow, cell: UUID) -> list[Tried]:
    """The oldest first."""
    found = _run(connection, "tries_at", tenant=tenant, cell=cell, policy=row.policy_version)
    return [_tried(dict(one._mapping)) for one in found]


def _tried(row: dict[str, Any]) -> Tried:
    return Tried(outcome=row.pop("class"), evidence=row.pop("evidence") or (), **row)
