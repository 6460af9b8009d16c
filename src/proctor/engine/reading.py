"""What there is to see of run sets: status, cells, attempts, history. Reads only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, select, tuple_
from sqlalchemy.dialects.postgresql import distinct_on

from proctor.database.queries import run_query
from proctor.engine.errors import AttemptUnknown, RunSetUnknown
from proctor.engine.models import attempt, evidence, grading, ledger, outcome, run_set, run_set_profile
from proctor.engine.numbers import Counts
from proctor.engine.outcomes import OutcomeClass
from proctor.engine.planning import RunSetRow
from proctor.engine.policy_book import recall
from proctor.engine.recording import KIND
from proctor.engine.waits import Wait, wait_of
from proctor.objects.store import StoredObject
from proctor.queue import service as queue

__all__ = [
    "AttemptDetail",
    "CellCounts",
    "CellPage",
    "CellRow",
    "Clocks",
    "Progress",
    "RunSetStatus",
    "Stall",
]

_run = partial(run_query, "proctor.engine")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A run set at a glance."""

    expected: int
    decided: int
    passed: int
    queued: int
    waiting: int
    running: int
    dead: int
    waits: tuple[Wait, ...] = ()
    """What queued cells wait for beside their turn, and running ones at a registry."""

    @property
    def live(self) -> int:
        """Cells that something will still be done for without anybody asking."""
        return self.queued + self.waiting + self.running


@dataclass(frozen=True, kw_only=True)
class Stall:
    """A running attempt whose evidence, log and trajectory have not grown since."""

    attempt: UUID
    cell: UUID
    task: str
    profile: str
    phase: str
    """The one it is in; empty where its worker has not said yet."""
    since: datetime


@dataclass(frozen=True, kw_only=True)
class CellCounts:
    """A run set's cells: with a verdict (``reused``: before it asked), owed after attempts, and never attempted."""

    expected: int
    decided: int
    reused: int
    owed: int
    new: int


@dataclass(frozen=True, kw_only=True)
class Clocks:
    """Of a run set's attempts: how long their cells were ready and waited, and how long they ran, in seconds."""

    waited_sec: float
    worked_sec: float


@dataclass(frozen=True, kw_only=True)
class RunSetStatus:
    """A run set with its progress, what its cells wait for, and its clocks."""

    run_set: RunSetRow
    progress: Progress
    clocks: Clocks
    per_minute: float | None
    """Verdicts of late; ``None``: it does not run, or none came yet."""
    left_sec: float | None
    """Until nothing of it is left to do, at that rate."""
    counted_at: datetime
    """When progress and clocks were counted: a server counts a large run set's not for each who asks."""


@dataclass(frozen=True, kw_only=True)
class CellRow:
    """A cell as a run set sees it."""

    cell: UUID
    profile: int
    content_digest: str
    trial: int
    reused: bool
    withdrawn: str | None
    verdict: bool | None
    reward: float | None
    outcome: str | None
    owner: str | None
    limit: str
    attempt: UUID | None
    attempts: int


@dataclass(frozen=True, kw_only=True)
class CellPage:
    """A page of cells; ``cursor`` asks for the next, ``None`` at the end."""

    cells: tuple[CellRow, ...]
    cursor: tuple[int, str, int, UUID] | None


@dataclass(frozen=True, kw_only=True)
class AttemptDetail:
    """An attempt with all its evidence, gradings and outcomes, as they are stored."""

    attempt: Mapping[str, Any]
    evidence: tuple[Mapping[str, Any], ...]
    gradings: tuple[Mapping[str, Any], ...]
    outcomes: tuple[Mapping[str, Any], ...]


_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ROW = [run_set.c[name] for name in RunSetRow.__dataclass_fields__]
"""Of a run set what is told of it: its spec may be large."""
MIN_REFERENCE: int = 4
"""Characters of an id that must be given; fewer are a typing mistake."""
_FIRST: tuple[int, str, int, UUID] = (-1, "", 0, UUID(int=0))


def run_sets(
    connection: Connection,
    tenant: UUID,
    *,
    state: str | None = None,
    name: str | None = None,
    suite: str | None = None,
    words: str | None = None,
    before: UUID | None = None,
    limit: int = 50,
) -> list[RunSetRow]:
    """The newest run sets first, of a state, a name, a suite's id; ``before``: only those made before that one.

    ``words``: that stand in the name, whatever the case of a to z.
    """
    query = select(*_ROW).where(run_set.c.tenant_id == tenant)
    if state is not None:
        query = query.where(run_set.c.state == state)
    if name is not None:
        query = query.where(run_set.c.name == name)
    if suite is not None:
        query = query.where(run_set.c.suite_id == suite)
    if words is not None:
        query = query.where(run_set.c.name.icontains(words, autoescape=True))
    if before is not None:
        place = select(run_set.c.created_at, run_set.c.id).where(run_set.c.tenant_id == tenant, run_set.c.id == before)
        query = query.where(tuple_(run_set.c.created_at, run_set.c.id) < place.scalar_subquery())
    newest = query.order_by(run_set.c.created_at.desc(), run_set.c.id.desc()).limit(limit)
    return [_run_set_row(row) for row in connection.execute(newest)]


def newest_of_each(connection: Connection, tenant: UUID, suite: str, limit: int) -> list[RunSetRow]:
    """The run sets of a suite in which some profile's configuration was run last, the newest of them first."""
    profile = run_set_profile.c
    joined = (profile.tenant_id == run_set.c.tenant_id) & (profile.run_set_id == run_set.c.id)
    last = (
        select(run_set.c.id)
        .join(run_set_profile, joined)
        .where(run_set.c.tenant_id == tenant, run_set.c.suite_id == suite)
        .ext(distinct_on(profile.name, profile.configuration))
        .order_by(profile.name, profile.configuration, run_set.c.created_at.desc(), run_set.c.id.desc())
    )
    query = select(*_ROW).where(run_set.c.tenant_id == tenant, run_set.c.id.in_(last))
    newest = query.order_by(run_set.c.created_at.desc(), run_set.c.id.desc()).limit(limit)
    return [_run_set_row(row) for row in connection.execute(newest)]


def find_run_set(connection: Connection, tenant: UUID, reference: str | None) -> RunSetRow:
    """A run set by name (the newest), by id or the beginning of one; without a reference the newest of all."""
    if reference is None:
        newest = run_sets(connection, tenant, limit=1)
        if newest:
            return newest[0]
        raise RunSetUnknown("There is no run set yet.", remedy="Start one with `proctor run`.")
    whole = _begun(connection, tenant, reference) if _is_whole(reference) else []
    if whole:
        return whole[0]
    named = run_sets(connection, tenant, name=reference, limit=1)
    if named:
        return named[0]
    begun = _begun(connection, tenant, reference)
    if len(begun) == 1:
        return begun[0]
    what = f"Several run sets begin with {reference!r}." if begun else f"There is no run set {reference!r}."
    if not begun and all(char in "0123456789abcdef" for char in reference.lower()) and _at_least(reference):
        what += f" Of an id, give the first {MIN_REFERENCE} characters at least."
    raise RunSetUnknown(what)


def _is_whole(reference: str) -> bool:
    """Whether it is an id as we write one: no name is looked for then where there is such a run set."""
    return _ID.fullmatch(reference) is not None


def _begun(connection: Connection, tenant: UUID, reference: str) -> list[RunSetRow]:
    """The first two run sets whose ids begin so."""
    try:
        low, high = id_range(reference)
    except ValueError:
        return []
    query = select(*_ROW).where(run_set.c.tenant_id == tenant, run_set.c.id.between(low, high)).limit(2)
    return [_run_set_row(row) for row in connection.execute(query)]


def _run_set_row(row: Any) -> RunSetRow:
    return RunSetRow(**row._mapping)


def progress(connection: Connection, tenant: UUID, row: RunSetRow, counts: Counts | None = None) -> Progress:
    """Counts of cells and of queue rows. ``counts``: of the cells, where somebody has counted them."""
    if counts is None:
        found = _run(connection, "progress", tenant=tenant, run_set=row.id, policy=row.policy_version).one()
        counts = Counts(**found._mapping)
    states = queue.count_states(connection, tenant, KIND, row.id)
    return Progress(
        expected=counts.expected,
        decided=counts.decided,
        passed=counts.passed,
        queued=states.get("pending", 0),
        waiting=states.get("waiting", 0),
        running=states.get("claimed", 0),
        dead=states.get("dead", 0),
        waits=_waits(connection, tenant, row) if states.get("pending") or states.get("claimed") else (),
    )


def _waits(connection: Connection, tenant: UUID, row: RunSetRow) -> tuple[Wait, ...]:
    return tuple(wait_of(one) for one in queue.blocked(connection, tenant, KIND, row.id))


def cell_counts(connection: Connection, tenant: UUID, row: RunSetRow) -> CellCounts:
    """How far a run set's cells have come."""
    found = _run(connection, "cell_counts", tenant=tenant, run_set=row.id, policy=row.policy_version).one()
    return CellCounts(**found._mapping)


def queue_left(connection: Connection, tenant: UUID, run_set_id: UUID) -> int:
    """Queue rows of a run set that something will still be done for."""
    states = queue.count_states(connection, tenant, KIND, run_set_id)
    return sum(states.get(state, 0) for state in ("pending", "waiting", "claimed"))


def status(connection: Connection, tenant: UUID, row: RunSetRow) -> RunSetStatus:
    """A run set with its progress and its clocks."""
    clocks = dict(_run(connection, "clocks", tenant=tenant, run_set=row.id).one()._mapping)
    counted_at = clocks.pop("counted_at")
    counts = progress(connection, tenant, row)
    pace = _per_minute(connection, tenant, row)
    return RunSetStatus(
        run_set=row,
        progress=counts,
        clocks=Clocks(**clocks),
        per_minute=pace,
        left_sec=None if pace is None else counts.live / pace * 60,
        counted_at=counted_at,
    )


def _per_minute(connection: Connection, tenant: UUID, row: RunSetRow) -> float | None:
    if row.state != "running":
        return None
    wanted = {"tenant": tenant, "run_set": row.id, "policy": row.policy_version, "since": row.running_since}
    recent = _run(connection, "recent_verdicts", **wanted).one()
    return recent.cells / recent.sec * 60 if recent.cells else None


def cells(
    connection: Connection,
    tenant: UUID,
    row: RunSetRow,
    *,
    outcome_class: str | None = None,
    profile: int | None = None,
    tasks: Sequence[str] | None = None,
    after: tuple[int, str, int, UUID] | None = None,
    limit: int = 200,
) -> CellPage:
    """A page of a run set's cells, filtered by outcome class (``not_started`` too), profile and tasks."""
    first = after or _FIRST
    wanted = {
        "tenant": tenant,
        "run_set": row.id,
        "policy": row.policy_version,
        "profile": profile,
        "tasks": list(tasks) if tasks is not None else None,
        "after_profile": first[0],
        "after_task": first[1],
        "after_trial": first[2],
        "after_cell": first[3],
        "limit": limit,
    }
    rows: list[Any] = []
    for query in _queries_for(connection, tenant, row, outcome_class):
        named = {} if outcome_class is None else {"outcome": outcome_class}
        rows.extend(_run(connection, query, **wanted, **named))
    page = sorted((_cell_row(one) for one in rows), key=_place)[:limit]
    last = page[-1] if len(page) == limit else None
    return CellPage(cells=tuple(page), cursor=None if last is None else _place(last))


def _place(cell: CellRow) -> tuple[int, str, int, UUID]:
    return cell.profile, cell.content_digest, cell.trial, cell.cell


def _queries_for(connection: Connection, tenant: UUID, row: RunSetRow, outcome_class: str | None) -> list[str]:
    """Whether cells of a class have a verdict, have none, or may be either, by the policy."""
    if outcome_class is None:
        return ["cells"]
    if outcome_class not in set(OutcomeClass):
        return ["cells_undecided"]
    verdict = recall(connection, tenant, row.policy_version).classes[OutcomeClass(outcome_class)].verdict
    both = ["cells_decided", "cells_undecided"]
    return {"pass": both[:1], "fail": both[:1], "none": both[1:]}.get(verdict, both)


def _cell_row(row: Any) -> CellRow:
    names: Mapping[str, Any] = row._mapping
    return CellRow(
        cell=row.cell_id,
        profile=row.profile,
        content_digest=row.content_digest,
        trial=row.trial,
        reused=row.reused,
        withdrawn=row.withdrawn_reason if row.withdrawn_at else None,
        verdict=row.verdict,
        reward=row.reward,
        outcome=names["class"],
        owner=row.owner,
        limit=names["limit"],
        attempt=row.attempt_id,
        attempts=row.attempts,
    )


def find_attempt(connection: Connection, tenant: UUID, reference: str) -> UUID:
    """An attempt's id from the beginning of one, or a cell's (its last attempt). Raises ``AttemptUnknown``."""
    try:
        low, high = id_range(reference)
    except ValueError as error:
        raise AttemptUnknown(f"{reference!r} is no id or beginning of one{_at_least(reference)}.") from error
    of_attempts = select(attempt.c.id).where(attempt.c.tenant_id == tenant, attempt.c.id.between(low, high)).limit(2)
    found = list(connection.execute(of_attempts).scalars())
    if not found:
        last_first = attempt.c.number.desc()
        of_cells = select(attempt.c.id).where(attempt.c.tenant_id == tenant, attempt.c.cell_id.between(low, high))
        found = list(connection.execute(of_cells.order_by(last_first).limit(1)).scalars())
    if len(found) == 1:
        return UUID(str(found[0]))
    raise AttemptUnknown(f"{'Several attempts begin' if found else 'No attempt begins'} with {reference!r}.")


def _at_least(reference: str) -> str:
    return f": give its first {MIN_REFERENCE} characters at least" if len(reference) < MIN_REFERENCE else ""


def id_range(reference: str) -> tuple[UUID, UUID]:
    """The ids that begin so. Raises ``ValueError``."""
    digits = reference.replace("-", "").lower()
    if len(digits) < MIN_REFERENCE or len(digits) > 32:
        raise ValueError(reference)
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def attempt_detail(connection: Connection, tenant: UUID, identity: UUID) -> AttemptDetail:
    """Everything stored about an attempt."""

    def rows(table: Any, *order: Any) -> tuple[Mapping[str, Any], ...]:
        query = select(table).where(table.c.tenant_id == tenant, table.c.attempt_id == identity).order_by(*order)
        return tuple(dict(row._mapping) for row in connection.execute(query))

    own = select(attempt).where(attempt.c.tenant_id == tenant, attempt.c.id == identity)
    return AttemptDetail(
        attempt=dict(connection.execute(own).one()._mapping),
        evidence=rows(evidence, evidence.c.seq),
        gradings=rows(grading, grading.c.graded_at, grading.c.number),
        outcomes=rows(outcome, outcome.c.decided_at, outcome.c.grading),
    )


def profiles_of(connection: Connection, tenant: UUID, run_set_id: UUID) -> list[Mapping[str, Any]]:
    """A run set's profiles with their configuration documents."""
    rows = _run(connection, "run_set_context", tenant=tenant, run_set=run_set_id)
    return [dict(row._mapping) for row in rows]


def profile_names(connection: Connection, tenant: UUID, run_set_id: UUID) -> dict[int, str]:
    """The names of a run set's profiles by their position."""
    rows = _run(connection, "profile_names", tenant=tenant, run_set=run_set_id)
    return {row.position: row.name for row in rows}


def reused(connection: Connection, tenant: UUID, row: RunSetRow) -> tuple[int, datetime | None]:
    """How many cells were decided before this run set asked, and when the oldest was."""
    found = _run(connection, "reused_summary", tenant=tenant, run_set=row.id, policy=row.policy_version).one()
    return found.cells, found.oldest


def history(connection: Connection, tenant: UUID, series: str) -> list[Mapping[str, Any]]:
    """Every leaderboard revision of a series, oldest first."""
    return [dict(row._mapping) for row in _run(connection, "history", tenant=tenant, series=series)]


def series_names(connection: Connection, tenant: UUID) -> list[str]:
    """Every series that a run set's profile has named."""
    known = run_set_profile.c
    return list(connection.execute(select(known.series).where(known.tenant_id == tenant).distinct()).scalars())


def spent(connection: Connection, tenant: UUID, run_set_id: UUID) -> int:
    """What a run set has paid so far, in nano-dollars: the sum of its ledger."""
    query = select(func.coalesce(func.sum(ledger.c.nano), 0))
    of_run_set = query.where(ledger.c.tenant_id == tenant, ledger.c.run_set_id == run_set_id)
    return int(connection.execute(of_run_set).scalar_one())


def stored_objects(connection: Connection, tenant: UUID) -> list[StoredObject]:
    """Every object that a row refers to."""
    return [StoredObject(**row._mapping) for row in _run(connection, "stored_objects", tenant=tenant)]


def named_artifacts(connection: Connection, tenant: UUID, keys: Sequence[str]) -> set[str]:
    """Which of these objects an attempt's artifacts name."""
    return set(_run(connection, "named_artifacts", tenant=tenant, keys=list(keys)).scalars())


def attempts_known(connection: Connection, tenant: UUID, identities: Sequence[UUID]) -> set[UUID]:
    """Which of these attempts there are."""
    return set(_run(connection, "attempts_of_ids", tenant=tenant, ids=list(identities)).scalars())


def mean_seconds(connection: Connection, tenant: UUID, configurations: Sequence[str]) -> float | None:
    """Mean wall seconds of up to a thousand attempts of these configurations that had a verdict."""
    found = _run(connection, "mean_seconds", tenant=tenant, configurations=list(configurations)).scalar_one()
    return None if found is None else float(found)


def running(connection: Connection, tenant: UUID, row: RunSetRow, *, limit: int = 50) -> list[Mapping[str, Any]]:
    """Attempts of a run set that run now, the longest-running first."""
    rows = _run(connection, "running_attempts", tenant=tenant, run_set=row.id, limit=limit)
    return [dict(one._mapping) for one in rows]


def stalled(connection: Connection, tenant: UUID, row: RunSetRow, *, quiet_sec: float, limit: int = 50) -> list[Stall]:
    """Attempts of a run set that run and have made no progress for ``quiet_sec``, the longest first."""
    rows = _run(connection, "stalled", tenant=tenant, run_set=row.id, quiet=quiet_sec, limit=limit)
    return [Stall(**one._mapping) for one in rows]
