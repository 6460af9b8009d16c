"""What there is to see of run sets: status, leaderboard, cells, attempts, history. Reads only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, select

from proctor.database.queries import run_query
from proctor.engine.errors import AttemptUnknown, RunSetUnknown
from proctor.engine.models import attempt, evidence, grading, ledger, outcome, run_set, run_set_profile
from proctor.engine.numbers import Rates, TaskTally, rank_intervals, rates
from proctor.engine.outcomes import OutcomeClass, Owner
from proctor.engine.planning import RunSetRow
from proctor.engine.policy_book import recall
from proctor.engine.recording import KIND
from proctor.kernel.canonical import Json
from proctor.kernel.words import counted
from proctor.objects.store import StoredObject
from proctor.queue import service as queue

__all__ = [
    "AttemptDetail",
    "CellCounts",
    "CellPage",
    "CellRow",
    "ClassCount",
    "LeaderboardRow",
    "Progress",
    "RunSetStatus",
    "Usage",
]

_run = partial(run_query, "proctor.engine")


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Sums over all attempts behind a profile's cells; ``None`` is unknown. Coverage: attempts that reported / all.

    ``priced``: attempts whose cost is known; ``own``: of those that this run set pays.
    """

    attempts: int
    reported: int
    priced: int
    own_attempts: int
    own_priced: int
    cost_nano: int | None
    own_cost_nano: int | None
    input_tokens: int | None
    output_tokens: int | None
    mean_seconds: float | None

    @property
    def coverage(self) -> float | None:
        """The share of attempts that reported what they used."""
        return self.reported / self.attempts if self.attempts else None


@dataclass(frozen=True, kw_only=True)
class ClassCount:
    """Cells of one profile in one class."""

    outcome: str
    owner: str
    decided: bool
    cells: int


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow:
    """One profile's row, with everything it takes to believe it."""

    profile: str
    series: str
    configuration: str
    rates: Rates
    mean_reward: float | None
    rank: tuple[int, int]
    usage: Usage
    classes: tuple[ClassCount, ...]
    comparable: bool
    reasons: tuple[str, ...]
    other_trials: int
    other_trials_mean: float | None
    tasks: Mapping[str, TaskTally]


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

    @property
    def live(self) -> int:
        """Cells that something will still be done for without anybody asking."""
        return self.queued + self.waiting + self.running


@dataclass(frozen=True, kw_only=True)
class CellCounts:
    """A run set's cells: with a verdict (``reused``: before it asked), owed after attempts, and never attempted."""

    expected: int
    decided: int
    reused: int
    owed: int
    new: int


@dataclass(frozen=True, kw_only=True)
class RunSetStatus:
    """A run set with its progress and what its cells wait for."""

    run_set: RunSetRow
    progress: Progress
    lanes: tuple[queue.Lane, ...]


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


MIN_REFERENCE: int = 4
"""Characters of an id that must be given; fewer are a typing mistake."""
_FIRST: tuple[int, str, int, UUID] = (-1, "", 0, UUID(int=0))


def run_sets(connection: Connection, tenant: UUID, *, limit: int = 50) -> list[RunSetRow]:
    """The newest run sets first."""
    query = select(run_set).where(run_set.c.tenant_id == tenant).order_by(run_set.c.created_at.desc()).limit(limit)
    return [_run_set_row(row) for row in connection.execute(query)]


def find_run_set(connection: Connection, tenant: UUID, reference: str | None) -> RunSetRow:
    """A run set by name (the newest), by id or the beginning of one; without a reference the newest of all."""
    query = select(run_set).where(run_set.c.tenant_id == tenant).order_by(run_set.c.created_at.desc())
    rows = [_run_set_row(row) for row in connection.execute(query)]
    if reference is None:
        if rows:
            return rows[0]
        raise RunSetUnknown("There is no run set yet.", remedy="Start one with `proctor run`.")
    named = [row for row in rows if row.name == reference]
    if named:
        return named[0]
    begun = [row for row in rows if len(reference) >= MIN_REFERENCE and str(row.id).startswith(reference.lower())]
    if len(begun) == 1:
        return begun[0]
    what = f"{len(begun)} run sets begin with {reference!r}." if begun else f"There is no run set {reference!r}."
    if not begun and all(char in "0123456789abcdef" for char in reference.lower()) and _at_least(reference):
        what += f" Of an id, give the first {MIN_REFERENCE} characters at least."
    raise RunSetUnknown(what)


def _run_set_row(row: Any) -> RunSetRow:
    fields = {name: getattr(row, name) for name in RunSetRow.__dataclass_fields__}
    return RunSetRow(**fields)


def progress(connection: Connection, tenant: UUID, row: RunSetRow) -> Progress:
    """Counts of cells and of queue rows."""
    counts = _run(connection, "progress", tenant=tenant, run_set=row.id, policy=row.policy_version).one()
    states = queue.count_states(connection, tenant, KIND, row.id)
    return Progress(
        expected=counts.expected,
        decided=counts.decided,
        passed=counts.passed,
        queued=states.get("pending", 0),
        waiting=states.get("waiting", 0),
        running=states.get("claimed", 0),
        dead=states.get("dead", 0),
    )


def cell_counts(connection: Connection, tenant: UUID, row: RunSetRow) -> CellCounts:
    """How far a run set's cells have come."""
    found = _run(connection, "cell_counts", tenant=tenant, run_set=row.id, policy=row.policy_version).one()
    return CellCounts(**found._mapping)


def queue_left(connection: Connection, tenant: UUID, run_set_id: UUID) -> int:
    """Queue rows of a run set that something will still be done for."""
    states = queue.count_states(connection, tenant, KIND, run_set_id)
    return sum(states.get(state, 0) for state in ("pending", "waiting", "claimed"))


def status(connection: Connection, tenant: UUID, row: RunSetRow) -> RunSetStatus:
    """A run set with its progress and the lanes that are closed."""
    lanes = tuple(lane for lane in queue.lanes(connection, tenant, KIND) if lane.closed_until or lane.paused)
    return RunSetStatus(run_set=row, progress=progress(connection, tenant, row), lanes=lanes)


def leaderboard(connection: Connection, tenant: UUID, row: RunSetRow, reasons: Sequence[str]) -> list[LeaderboardRow]:
    """A run set's profiles, best strict rate first. ``reasons``: what makes the whole run set not comparable."""
    key = {"tenant": tenant, "run_set": row.id, "policy": row.policy_version}
    _run(connection, "read_widely")
    tallies = _run(connection, "tallies", **key).all()
    undecided = any(tally.decided < tally.expected for tally in tallies)
    classes = _decided_classes(tallies)
    if undecided:
        classes.extend((one.profile, _class_count(one)) for one in _run(connection, "undecided_classes", **key))
    usage = {one.profile: _usage(one) for one in _run(connection, "usage_sums", **key)}
    profiles = _run(connection, "run_set_context", tenant=tenant, run_set=row.id).all()
    by_task = {p.position: _tasks(tallies, p.position) for p in profiles}
    ranks = rank_intervals({str(p.position): _means(by_task[p.position]) for p in profiles})
    others = _other_trials(connection, tenant, row, profiles, tallies)
    rows = [
        _row(p, tallies, classes, usage, by_task[p.position], ranks[str(p.position)], reasons, others) for p in profiles
    ]
    return sorted(rows, key=lambda r: (-(r.rates.strict or 0.0), r.profile))


def _other_trials(
    connection: Connection, tenant: UUID, row: RunSetRow, profiles: Sequence[Any], tallies: Sequence[Any]
) -> Sequence[Any]:
    """Trials of the same configurations that the run set does not show; mostly there are none, which is quick."""
    of = {
        "tenant": tenant,
        "configurations": [profile.configuration for profile in profiles],
        "suite_id": row.suite_id,
    }
    if _run(connection, "trials_of", **of).scalar_one() <= sum(one.expected + one.withdrawn for one in tallies):
        return []
    return _run(connection, "other_trials", **of, run_set=row.id, policy=row.policy_version).all()


def _decided_classes(tallies: Sequence[Any]) -> list[tuple[int, ClassCount]]:
    """Cells with a verdict by profile and class, the most frequent first."""
    sums: dict[tuple[int, str], int] = defaultdict(int)
    for tally in tallies:
        if tally.decided:
            sums[tally.profile, tally._mapping["class"]] += tally.decided
    ordered = sorted(sums.items(), key=lambda one: (one[0][0], -one[1], one[0][1]))
    return [
        (profile, ClassCount(outcome=name, owner=Owner.MODEL.value, decided=True, cells=cells))
        for (profile, name), cells in ordered
    ]


def _row(
    profile: Any,
    tallies: Sequence[Any],
    classes: Sequence[tuple[int, ClassCount]],
    usage: Mapping[int, Usage],
    tasks: Mapping[str, TaskTally],
    rank: tuple[int, int],
    reasons: Sequence[str],
    others: Sequence[Any],
) -> LeaderboardRow:
    mine = [tally for tally in tallies if tally.profile == profile.position]
    rate = rates(list(tasks.values()), withdrawn=sum(tally.withdrawn for tally in mine))
    rewarded = sum(tally.rewarded for tally in mine)
    missing = rate.counts.expected - rate.counts.decided
    own = [*reasons, *([f"coverage: {missing} of {rate.counts.expected} cells have no verdict"] if missing else [])]
    if rate.counts.withdrawn:
        own.append(f"withdrawn: {counted(rate.counts.withdrawn, 'cell')}")
    complete = [o for o in others if o.configuration == profile.configuration and o.decided == len(tasks)]
    other_decided = sum(other.decided for other in complete)
    return LeaderboardRow(
        profile=profile.name,
        series=profile.series,
        configuration=profile.configuration,
        rates=rate,
        mean_reward=sum(tally.reward or 0.0 for tally in mine) / rewarded if rewarded else None,
        rank=rank,
        usage=usage.get(profile.position, _NO_USAGE),
        classes=tuple(count for position, count in classes if position == profile.position),
        comparable=not own,
        reasons=tuple(own),
        other_trials=len(complete),
        other_trials_mean=sum(other.passed for other in complete) / other_decided if other_decided else None,
        tasks=tasks,
    )


_NO_USAGE = Usage(
    attempts=0,
    reported=0,
    priced=0,
    own_attempts=0,
    own_priced=0,
    cost_nano=None,
    own_cost_nano=None,
    input_tokens=None,
    output_tokens=None,
    mean_seconds=None,
)


def _usage(row: Any) -> Usage:
    return Usage(
        attempts=row.attempts,
        reported=row.reported,
        priced=row.priced,
        own_attempts=row.own_attempts,
        own_priced=row.own_priced,
        cost_nano=int(row.cost) if row.cost is not None else None,
        own_cost_nano=int(row.own_cost) if row.own_cost is not None else None,
        input_tokens=int(row.input_tokens) if row.input_tokens is not None else None,
        output_tokens=int(row.output_tokens) if row.output_tokens is not None else None,
        mean_seconds=float(row.seconds) if row.seconds is not None else None,
    )


def _tasks(tallies: Sequence[Any], position: int) -> dict[str, TaskTally]:
    sums: dict[str, tuple[int, int, int]] = {}
    for tally in tallies:
        if tally.profile == position and tally.expected:
            expected, decided, passed = sums.get(tally.content_digest, (0, 0, 0))
            added = (expected + tally.expected, decided + tally.decided, passed + tally.passed)
            sums[tally.content_digest] = added
    return {task: TaskTally(expected=e, decided=d, passed=p) for task, (e, d, p) in sums.items()}


def _means(tasks: Mapping[str, TaskTally]) -> dict[str, float]:
    return {task: tally.passed / tally.expected for task, tally in tasks.items()}


def _class_count(row: Any) -> ClassCount:
    names: Mapping[str, Any] = row._mapping
    return ClassCount(outcome=names["class"], owner=row.owner, decided=False, cells=row.cells)


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
        low, high = _id_range(reference)
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


def _id_range(reference: str) -> tuple[UUID, UUID]:
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


def mean_seconds(connection: Connection, tenant: UUID, configurations: Sequence[str]) -> float | None:
    """Mean wall seconds of up to a thousand attempts of these configurations that had a verdict."""
    found = _run(connection, "mean_seconds", tenant=tenant, configurations=list(configurations)).scalar_one()
    return None if found is None else float(found)


def running(connection: Connection, tenant: UUID, row: RunSetRow, *, limit: int = 50) -> list[Mapping[str, Any]]:
    """Attempts of a run set that run now, the longest-running first."""
    rows = _run(connection, "running_attempts", tenant=tenant, run_set=row.id, limit=limit)
    return [dict(one._mapping) for one in rows]


def counts_document(row: LeaderboardRow) -> dict[str, Json]:
    """What a leaderboard revision keeps of a row."""
    r = row.rates
    return {
        "expected": r.counts.expected,
        "decided": r.counts.decided,
        "passed": r.counts.passed,
        "withdrawn": r.counts.withdrawn,
        "tasks": len(row.tasks),
        "mean_reward": row.mean_reward,
        "interval": [r.interval.low, r.interval.high] if r.interval else None,
        "cost_nano": row.usage.cost_nano,
        "classes": {one.outcome: one.cells for one in _merged(row.classes)},
    }


def _merged(classes: Sequence[ClassCount]) -> list[ClassCount]:
    sums: dict[str, int] = defaultdict(int)
    for one in classes:
        sums[one.outcome] += one.cells
    return [ClassCount(outcome=name, owner="", decided=False, cells=count) for name, count in sorted(sums.items())]
