"""All cells of a run set at once, as columns: what a picture of them is drawn from, and followed from there.

The columns have one order. Where they are changed by events, the id of the newest is read before anything else: what
happens while the rest is read is told again by the events after it, and nothing is lost. The queue's rows come next,
so that a cell which is decided in between is decided, and not queued.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine import reading
from proctor.engine.outcomes import OutcomeClass
from proctor.engine.planning import RunSetRow
from proctor.engine.recording import KIND
from proctor.notifications import outbox
from proctor.queue import service as queue
from proctor.suites.service import TaskHead, heads_of

__all__ = ["STATES", "CellColumns", "CellState", "Matrix", "MatrixIds", "matrix", "matrix_ids"]

_run = partial(run_query, "proctor.engine")

SHORTEST_ID: int = 13
"""Characters of an id: its first 48 bits. Among a million cells two begin alike once in five hundred times."""
_NO_EVENT: str = "0"
"""The id before every event."""


class CellState(StrEnum):
    """What a cell is that has no outcome, or runs, or counts no more."""

    NOT_STARTED = "not_started"
    QUEUED = "queued"
    WAITING = "waiting"
    """For a time, or for what a breaker closed."""
    RUNNING = "running"
    WITHDRAWN = "withdrawn"


STATES: tuple[str, ...] = (*OutcomeClass, *CellState)
_CODES: Mapping[str, int] = {name: code for code, name in enumerate(STATES)}


@dataclass(frozen=True, kw_only=True)
class CellColumns:
    """What is known of each cell: columns of one length, in one order."""

    profile: Sequence[int]
    task: Sequence[int]
    trial: Sequence[int]
    place: Sequence[int]
    """Among the trials of its profile and task, from 0."""
    state: Sequence[int]
    """Its outcome's class, or what it is without one. Of an owed cell it is that of its last attempt."""
    decided: Sequence[int]
    """1: it has a verdict, which counts."""
    passed: Sequence[int]
    given_up: Sequence[int]
    """1: it is owed, and nothing will be done for it until somebody asks: a dead letter, or in no queue."""
    attempts: Sequence[int]
    limit: Sequence[str | None]
    waits_until: Sequence[datetime | None]
    phase: Sequence[str | None]
    """Which the attempt that runs has come to."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """All cells of a run set, and what their numbers stand for."""

    run_set: RunSetRow
    event: str
    """The newest that was published before the cells were read; what comes after it changes them."""
    event_at: datetime | None
    """When that happened: what was counted before it doesn't know of it. ``None``: nothing happened yet."""
    profiles: Sequence[str]
    tasks: Sequence[TaskHead]
    states: Sequence[str]
    cells: CellColumns


@dataclass(frozen=True, kw_only=True)
class MatrixIds:
    """The ids of a matrix's cells, in its order: most of what could be told of them, and needed where one is opened."""

    id_length: int
    cell: Sequence[str]
    """The beginning of its id, of ``id_length`` characters."""
    attempt: Sequence[str | None]
    """The beginning of the id of the attempt that its state rests on."""


@dataclass(frozen=True)
class _Now:
    """What is done for cells at this moment, by their ids."""

    queued: Mapping[str, Any]
    running: Mapping[str, tuple[str, str]]
    """Attempt and phase."""

    def state(self, cell: str, outcome: str | None) -> str:
        """Of a cell that is owed."""
        if cell in self.running:
            return CellState.RUNNING
        if outcome is not None:
            return outcome
        queued = self.queued.get(cell)
        if queued is None or queued.state in ("dead", "paused"):
            return CellState.NOT_STARTED
        return CellState.QUEUED if queued.until is None else CellState.WAITING

    def is_given_up(self, cell: str) -> bool:
        """Whether an owed cell waits for somebody to ask for it."""
        queued = self.queued.get(cell)
        return cell not in self.running and (queued is None or queued.state == "dead")

    def until(self, cell: str) -> datetime | None:
        """Until when an owed cell waits."""
        queued = self.queued.get(cell)
        return None if queued is None or cell in self.running else queued.until


def matrix(connection: Connection, tenant: UUID, reference: str | None) -> Matrix:
    """A run set's whole matrix. Raises ``RunSetUnknown``."""
    row = reading.find_run_set(connection, tenant, reference)
    newest = outbox.newest_of(connection, tenant)
    names = reading.profile_names(connection, tenant, row.id)
    now = _now(connection, tenant, row)
    columns = _found(connection, tenant, row)
    tasks = heads_of(connection, tenant, row.suite_id, set(columns.task))
    return Matrix(
        run_set=row,
        event=_NO_EVENT if newest is None else str(newest.id),
        event_at=None if newest is None else newest.created_at,
        profiles=list(names.values()),
        tasks=tasks,
        states=STATES,
        cells=_columns(columns, list(names), [one.digest for one in tasks], now),
    )


def matrix_ids(connection: Connection, tenant: UUID, reference: str | None) -> MatrixIds:
    """The ids of a run set's cells and attempts, in the order of its matrix. Raises ``RunSetUnknown``."""
    row = reading.find_run_set(connection, tenant, reference)
    running = _now(connection, tenant, row).running
    found = _found(connection, tenant, row)
    length = _id_length(found.cell)
    owed = [verdict is None and not gone for verdict, gone in zip(found.verdict, found.withdrawn, strict=True)]
    attempts = [
        running[cell][0] if is_owed and cell in running else attempt
        for cell, attempt, is_owed in zip(found.cell, found.attempt, owed, strict=True)
    ]
    return MatrixIds(
        id_length=length,
        cell=[one[:length] for one in found.cell],
        attempt=[None if one is None else one[:length] for one in attempts],
    )


def _found(connection: Connection, tenant: UUID, row: RunSetRow) -> _Found:
    _run(connection, "read_widely")
    _run(connection, "read_by_hash")
    rows = _run(connection, "matrix", tenant=tenant, run_set=row.id, policy=row.policy_version).all()
    return _Found(*zip(*rows, strict=True)) if rows else _Found(*[()] * len(_Found._fields))


def _now(connection: Connection, tenant: UUID, row: RunSetRow) -> _Now:
    queued = queue.rows_of(connection, tenant, KIND, row.id)
    running = _run(connection, "at_work", tenant=tenant, run_set=row.id)
    return _Now(queued, {one.cell: (one.attempt, one.phase) for one in running})


class _Found(NamedTuple):
    """What the query finds, a column each: a row of an object's own for each cell would take most of the time."""

    cell: Sequence[str]
    profile: Sequence[int]
    task: Sequence[str]
    trial: Sequence[int]
    withdrawn: Sequence[bool]
    verdict: Sequence[bool | None]
    outcome: Sequence[str | None]
    limit: Sequence[str | None]
    attempt: Sequence[str | None]
    attempts: Sequence[int]


def _columns(found: _Found, profiles: Sequence[int], tasks: Sequence[str], now: _Now) -> CellColumns:
    profile_at = {position: index for index, position in enumerate(profiles)}
    task_at = {digest: index for index, digest in enumerate(tasks)}
    verdicts = [None if gone else one for one, gone in zip(found.verdict, found.withdrawn, strict=True)]
    drawn = _Drawn(found, verdicts, now)
    return CellColumns(
        profile=[profile_at[one] for one in found.profile],
        task=[task_at[one] for one in found.task],
        trial=found.trial,
        place=list(_places(zip(found.profile, found.task, strict=True))),
        state=drawn.state,
        decided=[int(one is not None) for one in verdicts],
        passed=[int(one is True) for one in verdicts],
        given_up=drawn.given_up,
        attempts=found.attempts,
        limit=drawn.limit,
        waits_until=drawn.waits_until,
        phase=drawn.phase,
    )


class _Drawn:
    """The columns that are other ones for cells without a verdict."""

    def __init__(self, found: _Found, verdicts: Sequence[bool | None], now: _Now) -> None:
        size = len(found.cell)
        self.limit = list(found.limit)
        self.given_up = [0] * size
        self.waits_until: list[datetime | None] = [None] * size
        self.phase: list[str | None] = [None] * size
        self.state = [_CODES[one or CellState.NOT_STARTED] for one in found.outcome]
        for at in [at for at, verdict in enumerate(verdicts) if verdict is None]:
            if found.withdrawn[at]:
                self.state[at] = _CODES[CellState.WITHDRAWN]
            else:
                self._owe(at, found.cell[at], found.outcome[at], now)

    def _owe(self, at: int, cell: str, outcome: str | None, now: _Now) -> None:
        self.state[at] = _CODES[now.state(cell, outcome)]
        self.given_up[at] = int(now.is_given_up(cell))
        self.waits_until[at] = now.until(cell)
        if cell in now.running:
            self.phase[at], self.limit[at] = now.running[cell][1] or None, None


def _places(keys: Iterable[tuple[int, str]]) -> Iterator[int]:
    """The cells of a profile and a task stand together, by their trials."""
    last, place = None, 0
    for key in keys:
        place = place + 1 if key == last else 0
        last = key
        yield place


def _id_length(cells: Sequence[str]) -> int:
    """As many characters as tell these ids apart."""
    length = SHORTEST_ID
    while len({cell[:length] for cell in cells}) < len(cells):
        length += 1
    return length
