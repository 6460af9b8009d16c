"""Two sides' tasks put together where they are kept: counts of them all, and pages of them. Reads only.

A comparison of a hundred thousand tasks needs how often each pair of counts occurs, and not the tasks: the database
groups them. ``put_together`` of the comparing module says the same of sides that were read whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def paired_tasks(read: Read, tenant: UUID, a: Side, b: Side, *, listed: int | None = None) -> PairedTasks:
    """What the statistics need of two sides whose tasks are kept.

    ``listed``: how many tasks are named of those that one side alone solves, and of those that a side lacks; ``None``:
    all of them.
    """
    sides = (a, b)
    told = [(*_counts(row), row) for row in read(partial(_groups, tenant, sides))]
    paired = [(one, other, row) for one, other, row in told if one and other and one.decided and other.decided]
    alone = (
        [digest for one, other, row in told if one and not other for digest in row.contents],
        [digest for one, other, row in told if other and not one for digest in row.contents],
    )
    return PairedTasks(
        groups={(one, other): row.tasks for one, other, row in told},
        ordered=lambda: read(partial(_ordered, tenant, sides)),
        only_a=_names((row for one, other, row in paired if solved(one) and not solved(other)), listed),
        only_b=_names((row for one, other, row in paired if solved(other) and not solved(one)), listed),
        cost=(
            _cost([(row.attempts_a, row.priced_a, row.cost_a) for _, _, row in paired]),
            _cost([(row.attempts_b, row.priced_b, row.cost_b) for _, _, row in paired]),
        ),
        by_task=(_kept(a).cost, _kept(b).cost),
        unpaired=(
            *read(partial(_unpaired, tenant, (a, b), alone[0], listed)),
            *read(partial(_unpaired, tenant, (b, a), alone[1], listed)),
        ),
        unpaired_cells=sum(row.left_out for _, _, row in told),
    )


def _groups(tenant: UUID, sides: _Sides, connection: Connection) -> Sequence[Any]:
    return _together("paired_groups", connection, tenant, sides)


def _counts(row: Any) -> tuple[CellCounts | None, CellCounts | None]:
    a = None if row.expected_a is None else CellCounts(row.expected_a, row.decided_a, row.passed_a)
    b = None if row.expected_b is None else CellCounts(row.expected_b, row.decided_b, row.passed_b)
    return a, b


def _names(rows: Iterable[Any], listed: int | None) -> tuple[str, ...]:
    names = (name for row in rows for name in row.names)
    return tuple(sorted(names) if listed is None else heapq.nsmallest(listed, names))


def _ordered(tenant: UUID, sides: _Sides, connection: Connection) -> list[tuple[CellCounts, CellCounts]]:
    found = [_counts(row) for row in _together("tasks_by_key", connection, tenant, sides)]
    return [(one, other) for one, other in found if one and other and one.expected and other.expected]


def _cost(groups: Sequence[tuple[int, int, int | None]]) -> int | None:
    """Of the tasks that are paired; ``None`` unless all their attempts told their cost. A verdict rests on one."""
    told = bool(groups) and all(attempts == priced for attempts, priced, _ in groups)
    return int(sum(cost or 0 for _, _, cost in groups)) if told else None


_Placed = tuple[tuple[str, str], Unpaired]
"""With its task's name and content, by which they stand in order."""


def _unpaired(
    tenant: UUID, sides: _Sides, alone: Sequence[str], listed: int | None, connection: Connection
) -> list[Unpaired]:
    """What of the first side found no partner: tasks that are alone, and the cells that others lack."""
    absent = _absent(connection, tenant, sides, alone)
    gaps = _gaps(connection, tenant, sides[0], {"without": list(alone), "listed": listed})
    return [one for _, one in sorted([*absent, *gaps], key=lambda each: each[0])][:listed]


def _absent(connection: Connection, tenant: UUID, sides: _Sides, alone: Sequence[str]) -> Iterator[_Placed]:
    if not alone:
        return
    side, other = sides

    def keys(of: Side, *, contents: Sequence[str] = (), names: Sequence[str] = ()) -> Sequence[Any]:
        named = {"tenant": tenant, "side": _kept(of).id, "contents": list(contents), "names": list(names)}
        return _run(connection, "keys_of_tasks", **named).all()

    rows = keys(side, contents=alone)
    namesakes = keys(other, names=[row.name for row in rows])
    by_name = {row.name: (row.agent_digest, row.verifier_digest) for row in namesakes}
    for row in rows:
        reason = why_absent((row.agent_digest, row.verifier_digest), by_name.get(row.name))
        absent = Unpaired(task=row.name, side=title_of(other), cells=row.cells, reason=reason)
        yield (row.name, row.content_digest), absent


def _gaps(connection: Connection, tenant: UUID, side: Side, which: Mapping[str, object]) -> Iterator[_Placed]:
    named = {"run_set": side.run_set, "profile": side.position, "policy": side.policy_version}
    for row in _run(connection, "gaps_by_task", tenant=tenant, side=_kept(side).id, **named, **which).all():
        outcome: str = row._mapping["class"]
        gap = Tally(outcome=outcome, owner=row.owner, verdict=row.verdict, cells=row.cells, withdrawn=row.withdrawn)
        missing = Unpaired(task=row.name, side=title_of(side), cells=row.cells, reason=why_missing(gap))
        yield (row.name, row.content_digest), missing


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
