"""Two sides' tasks put together where they are kept: counts of them all, and pages of them. Reads only.

A comparison of a hundred thousand tasks needs how often each pair of counts occurs, and not the tasks: the database
groups them. ``put_together`` of the comparing module says the same of sides that were read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.comparing import solved, title_of, why_absent, why_missing
from proctor.engine.kept_sides import Read
from proctor.engine.pairs import CellCounts, KeptTasks, PairedTasks, SegmentField, Side, Tally, TaskOfPair, Unpaired

__all__ = ["FieldGroup", "TaskKind", "TasksAsked", "groups_by_field", "paired_tasks", "tasks_of_pair"]

_run = partial(run_query, "proctor.engine")

TaskKind = Literal["flips", "both_pass", "both_fail", "owed", "mixed"]

_GROUPED = frozenset({"paired_groups", "paired_by_field"})

_Sides = tuple[Side, Side]
_Told = tuple[CellCounts | None, CellCounts | None, Any]


def _kept(side: Side) -> KeptTasks:
    assert side.kept is not None, "its tasks are kept first"
    return side.kept


def _together(name: str, connection: Connection, tenant: UUID, sides: _Sides, /, **more: object) -> Sequence[Any]:
    """What a statement says of two sides."""
    a, b = (_kept(side).id for side in sides)
    _run(connection, "read_in_one")
    _run(connection, "take_few_for_many", loops="off", sorts="off" if name in _GROUPED else "on")
    rows = _run(connection, name, tenant=tenant, side_a=a, side_b=b, **more).all()
    _run(connection, "take_few_for_many", loops="on", sorts="on")
    return rows


def paired_tasks(read: Read, tenant: UUID, a: Side, b: Side) -> PairedTasks:
    """What the statistics need of two sides whose tasks are kept.

    What has no verdict is looked for on a connection beside the one that puts them together: of many tasks both take
    about as long, on a processor each.
    """
    sides = (a, b)
    with ThreadPoolExecutor(max_workers=1) as beside:
        looking = beside.submit(read, lambda connection: [_gaps(connection, tenant, side) for side in sides])
        told = [(*_counts(row), row) for row in read(partial(_groups, tenant, sides))]
        gaps = looking.result()
    absent = read(partial(_absent, tenant, sides, told))
    paired = [(one, other, row) for one, other, row in told if one and other and one.decided and other.decided]
    return PairedTasks(
        groups={(one, other): row.tasks for one, other, row in told},
        ordered=lambda: read(partial(_ordered, tenant, sides)),
        only_a=_names(row for one, other, row in paired if solved(one) and not solved(other)),
        only_b=_names(row for one, other, row in paired if solved(other) and not solved(one)),
        cost=(
            _cost([(row.attempts_a, row.priced_a, row.cost_a) for _, _, row in paired]),
            _cost([(row.attempts_b, row.priced_b, row.cost_b) for _, _, row in paired]),
        ),
        by_task=(_kept(a).cost, _kept(b).cost),
        unpaired=(*_unpaired(a, gaps[0], absent[0]), *_unpaired(b, gaps[1], absent[1])),
    )


def _groups(tenant: UUID, sides: _Sides, connection: Connection) -> Sequence[Any]:
    return _together("paired_groups", connection, tenant, sides)


def _counts(row: Any) -> tuple[CellCounts | None, CellCounts | None]:
    a = None if row.expected_a is None else CellCounts(row.expected_a, row.decided_a, row.passed_a)
    b = None if row.expected_b is None else CellCounts(row.expected_b, row.decided_b, row.passed_b)
    return a, b


def _names(rows: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted(name for row in rows for name in row.names))


def _ordered(tenant: UUID, sides: _Sides, connection: Connection) -> list[tuple[CellCounts, CellCounts]]:
    found = [_counts(row) for row in _together("tasks_by_key", connection, tenant, sides)]
    return [(one, other) for one, other in found if one and other and one.expected and other.expected]


def _cost(groups: Sequence[tuple[int, int, int | None]]) -> int | None:
    """Of the tasks that are paired; ``None`` unless all their attempts told their cost. A verdict rests on one."""
    told = bool(groups) and all(attempts == priced for attempts, priced, _ in groups)
    return int(sum(cost or 0 for _, _, cost in groups)) if told else None


def _gaps(connection: Connection, tenant: UUID, side: Side) -> Sequence[Any]:
    named = {"run_set": side.run_set, "profile": side.position, "policy": side.policy_version}
    return _run(connection, "gaps_by_task", tenant=tenant, side=_kept(side).id, **named).all()


_Absent = Mapping[tuple[str, str], Unpaired]
"""Those of a side that the other does not have, by name and content."""


def _absent(tenant: UUID, sides: _Sides, told: Sequence[_Told], connection: Connection) -> tuple[_Absent, _Absent]:
    a, b = sides
    alone_a = [digest for one, other, row in told if one and not other for digest in row.contents]
    alone_b = [digest for one, other, row in told if other and not one for digest in row.contents]
    return _absent_of(connection, tenant, (a, b), alone_a), _absent_of(connection, tenant, (b, a), alone_b)


def _absent_of(connection: Connection, tenant: UUID, sides: _Sides, alone: Sequence[str]) -> _Absent:
    if not alone:
        return {}
    side, other = sides

    def keys(of: Side, *, contents: Sequence[str] = (), names: Sequence[str] = ()) -> Sequence[Any]:
        named = {"tenant": tenant, "side": _kept(of).id, "contents": list(contents), "names": list(names)}
        return _run(connection, "keys_of_tasks", **named).all()

    rows = keys(side, contents=alone)
    namesakes = keys(other, names=[row.name for row in rows])
    by_name = {row.name: (row.agent_digest, row.verifier_digest) for row in namesakes}

    def absent(row: Any) -> Unpaired:
        reason = why_absent((row.agent_digest, row.verifier_digest), by_name.get(row.name))
        return Unpaired(task=row.name, side=title_of(other), cells=row.cells, reason=reason)

    return {(row.name, row.content_digest): absent(row) for row in rows}


def _unpaired(side: Side, gaps: Sequence[Any], absent: _Absent) -> list[Unpaired]:
    """What a side lacks, in the order of its tasks' names. A task that the other does not have is said once."""
    found = list(absent.items())
    for row in gaps:
        if (row.name, row.content_digest) not in absent:
            outcome: str = row._mapping["class"]
            gap = Tally(outcome=outcome, owner=row.owner, verdict=row.verdict, cells=row.cells, withdrawn=row.withdrawn)
            missing = Unpaired(task=row.name, side=title_of(side), cells=row.cells, reason=why_missing(gap))
            found.append(((row.name, row.content_digest), missing))
    return [one for _, one in sorted(found, key=lambda each: each[0])]


@dataclass(frozen=True, kw_only=True)
class FieldGroup:
    """How many tasks, of which their authors say the same in a field, have the same counts. ``label`` ``None``: no word
    of a usual length."""

    field: SegmentField
    label: str | None
    counts: tuple[CellCounts | None, CellCounts | None]
    tasks: int


def groups_by_field(connection: Connection, tenant: UUID, sides: tuple[Side, Side]) -> list[FieldGroup]:
    """All tasks of two sides, once for each field."""
    rows = _together("paired_by_field", connection, tenant, sides)
    return [FieldGroup(field=row.field, label=row.label, counts=_counts(row), tasks=row.tasks) for row in rows]


@dataclass(frozen=True, kw_only=True)
class TasksAsked:
    """Which tasks of two sides are asked for: of a kind, of a segment, from a place on. ``None``: all."""

    kind: TaskKind | None = None
    segment: tuple[SegmentField, str] | None = None
    after: tuple[float, str, str] | None = None
    limit: int = 200


def tasks_of_pair(
    connection: Connection, tenant: UUID, sides: tuple[Side, Side], which: TasksAsked
) -> list[TaskOfPair]:
    """Tasks of two sides, those that flipped first, the largest first, then by name."""
    size, name, content = which.after or (None, "", "")
    field, label = which.segment or (None, None)
    wanted = {"kind": which.kind, "field": field, "label": label, "limit": which.limit}
    rows = _together("paired_tasks", connection, tenant, sides, **wanted, size=size, title=name, content=content)
    return [_task(row) for row in rows]


def _task(row: Any) -> TaskOfPair:
    one, other = _counts(row)
    told = row.difference is not None and row.attempts_a and row.attempts_b
    priced = told and row.priced_a == row.attempts_a and row.priced_b == row.attempts_b
    return TaskOfPair(
        task=row.name,
        content=row.content,
        kind=row.kind,
        a=one,
        b=other,
        difference=row.difference,
        cost_nano=int(row.cost_b - row.cost_a) if priced else None,
        seconds=float(row.seconds_b - row.seconds_a) if told else None,
    )
