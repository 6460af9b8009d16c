"""Two sides' tasks put together where they are stored: counts of them all, and pages of them. Reads only.

A comparison of a hundred thousand tasks needs how often each pair of counts occurs, and not the tasks: the database
groups them. ``put_together`` of the comparing module says the same of sides that were read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, TypeVar
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.comparing import cost_by_task, solved, title_of, why_absent, why_missing
from proctor.engine.pairs import CellCounts, PairedTasks, SegmentField, Side, Tally, TaskCost, TaskOfPair, Unpaired
from proctor.suites.service import LONGEST_WORD

__all__ = ["FieldGroup", "Read", "TaskKind", "TasksAsked", "groups_by_field", "paired_tasks", "tasks_of_pair"]

_run = partial(run_query, "proctor.engine")

T = TypeVar("T")

TaskKind = Literal["flips", "both_pass", "both_fail", "owed", "mixed"]


class Read(Protocol):
    """Does work in a transaction of its own, and answers with what came of it."""

    def __call__(self, work: Callable[[Connection], T], /) -> T: ...


@dataclass(frozen=True, kw_only=True)
class _Pairing:
    """Two sides as the statements name them."""

    tenant: UUID
    a: Side
    b: Side

    def both(self, name: str, connection: Connection, /, **more: object) -> Sequence[Any]:
        """What is asked of both sides."""
        a, b = (_named(side) for side in (self.a, self.b))
        named = {f"{name}_{letter}": value for letter, each in (("a", a), ("b", b)) for name, value in each.items()}
        return _run(connection, name, tenant=self.tenant, **named, **more).all()

    def one(self, name: str, connection: Connection, side: Side, /, **more: object) -> Sequence[Any]:
        """What is asked of one of them."""
        return _run(connection, name, tenant=self.tenant, **_named(side), **more).all()


def _named(side: Side) -> Mapping[str, object]:
    return {"run_set": side.run_set, "profile": side.position, "policy": side.policy_version}


@dataclass(frozen=True, kw_only=True)
class _SideAlone:
    """What is found of a side without looking at the other."""

    spent: Any
    """Attempts, how many told their cost, and the sum; and the same of tasks, of which all attempts told it or not."""
    gaps: Sequence[Any]
    """Cells without a verdict, and withdrawn ones."""


def paired_tasks(read: Read, tenant: UUID, a: Side, b: Side) -> PairedTasks:
    """What the statistics need of two sides whose tasks were not read.

    What each side is alone is asked on a connection beside the one that puts them together: of many tasks both take
    about as long, on a processor each.
    """
    asked = _Pairing(tenant=tenant, a=a, b=b)
    with ThreadPoolExecutor(max_workers=1) as beside:
        asking = beside.submit(read, partial(_alone, asked))
        rows = read(partial(_groups, asked))
        alone = asking.result()
    told = [(*_counts(row), row) for row in rows]
    paired = [(one, other, row) for one, other, row in told if one and other and one.decided and other.decided]
    apart = [digest for row in _without(rows, [row for _, _, row in paired]) for digest in row.contents]
    costs = read(partial(_costs, asked, alone, apart)) if paired else (None, None)
    unpaired = read(lambda connection: tuple(_unpaired(asked, connection, told, alone)))
    return PairedTasks(
        groups={(one, other): row.tasks for one, other, row in told},
        ordered=lambda: read(partial(_ordered, asked)),
        only_a=_names(row for one, other, row in paired if solved(one) and not solved(other)),
        only_b=_names(row for one, other, row in paired if solved(other) and not solved(one)),
        cost=costs,
        by_task=(_by_task(alone[0].spent), _by_task(alone[1].spent)),
        unpaired=unpaired,
    )


def _groups(asked: _Pairing, connection: Connection) -> Sequence[Any]:
    _run(connection, "read_in_one")
    return asked.both("paired_groups", connection)


def _alone(asked: _Pairing, connection: Connection) -> tuple[_SideAlone, _SideAlone]:
    _run(connection, "read_in_one")
    return _side_alone(asked, connection, asked.a), _side_alone(asked, connection, asked.b)


def _side_alone(asked: _Pairing, connection: Connection, side: Side) -> _SideAlone:
    (spent,) = asked.one("cost_of_side", connection, side)
    return _SideAlone(spent=spent, gaps=asked.one("gaps_by_task", connection, side))


def _counts(row: Any) -> tuple[CellCounts | None, CellCounts | None]:
    a = None if row.expected_a is None else CellCounts(row.expected_a, row.decided_a, row.passed_a)
    b = None if row.expected_b is None else CellCounts(row.expected_b, row.decided_b, row.passed_b)
    return a, b


def _without(rows: Sequence[Any], some: Sequence[Any]) -> list[Any]:
    left_out = {id(row) for row in some}
    return [row for row in rows if id(row) not in left_out]


def _names(rows: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted(name for row in rows for name in row.names))


def _ordered(asked: _Pairing, connection: Connection) -> list[tuple[CellCounts, CellCounts]]:
    _run(connection, "read_in_one")
    found = [_counts(row) for row in asked.both("tasks_by_key", connection)]
    return [(one, other) for one, other in found if one and other and one.expected and other.expected]


def _costs(
    asked: _Pairing, alone: tuple[_SideAlone, _SideAlone], apart: Sequence[str], connection: Connection
) -> tuple[int | None, int | None]:
    a, b = alone
    return _cost(asked, connection, asked.a, a, apart), _cost(asked, connection, asked.b, b, apart)


def _cost(asked: _Pairing, connection: Connection, side: Side, alone: _SideAlone, apart: Sequence[str]) -> int | None:
    """Of all tasks but those apart; ``None`` unless all their attempts told their cost. A verdict rests on one."""
    without = asked.one("usage_of_tasks", connection, side, contents=list(apart)) if apart else []
    attempts = alone.spent.attempts - sum(row.attempts for row in without)
    priced = alone.spent.priced - sum(row.priced for row in without)
    if attempts != priced:
        return None
    return int(alone.spent.cost or 0) - int(sum(row.cost or 0 for row in without))


def _by_task(spent: Any) -> TaskCost:
    return cost_by_task(spent.known, spent.unknown, int(spent.known_cost or 0), int(spent.squares or 0))


def _unpaired(
    asked: _Pairing,
    connection: Connection,
    told: Sequence[tuple[CellCounts | None, CellCounts | None, Any]],
    gaps: tuple[_SideAlone, _SideAlone],
) -> Iterator[Unpaired]:
    """As the comparing module has them: by side, then by name."""
    a, b = asked.a, asked.b
    alone_a = [digest for one, other, row in told if one and not other for digest in row.contents]
    alone_b = [digest for one, other, row in told if other and not one for digest in row.contents]
    for side, other, alone, of in ((a, b, alone_a, gaps[0]), (b, a, alone_b, gaps[1])):
        found = [*_absent(asked, connection, (side, other), alone), *_gaps(side, of, set(alone))]
        yield from (one for _, one in sorted(found, key=lambda each: each[0]))


_Placed = tuple[tuple[str, str], Unpaired]
"""With its task's name and content, by which they stand in order."""


def _absent(
    asked: _Pairing, connection: Connection, sides: tuple[Side, Side], alone: Sequence[str]
) -> Iterator[_Placed]:
    if not alone:
        return
    side, other = sides
    rows = asked.one("keys_of_tasks", connection, side, contents=list(alone), names=[])
    namesakes = asked.one("keys_of_tasks", connection, other, contents=[], names=[row.name for row in rows])
    by_name = {row.name: (row.agent_digest, row.verifier_digest) for row in namesakes}
    for row in rows:
        reason = why_absent((row.agent_digest, row.verifier_digest), by_name.get(row.name))
        absent = Unpaired(task=row.name, side=title_of(other), cells=row.cells, reason=reason)
        yield (row.name, row.content_digest), absent


def _gaps(side: Side, of: _SideAlone, alone: set[str]) -> Iterator[_Placed]:
    for row in of.gaps:
        if row.content_digest not in alone:
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
    asked = _Pairing(tenant=tenant, a=sides[0], b=sides[1])
    _run(connection, "read_in_one")
    _run(connection, "join_by_loops", allowed="off")
    rows = asked.both("paired_by_field", connection, longest=LONGEST_WORD)
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
    asked = _Pairing(tenant=tenant, a=sides[0], b=sides[1])
    size, name, content = which.after or (None, "", "")
    field, label = which.segment or (None, None)
    wanted = {"kind": which.kind, "field": field, "label": label, "limit": which.limit}
    _run(connection, "read_in_one")
    _run(connection, "join_by_loops", allowed="off")
    rows = asked.both("paired_tasks", connection, **wanted, size=size, title=name, content=content)
    _run(connection, "join_by_loops", allowed="on")
    a = _usage(asked, connection, sides[0], [row.content_a for row in rows])
    b = _usage(asked, connection, sides[1], [row.content_b for row in rows])
    return [_task(row, a.get(row.content_a), b.get(row.content_b)) for row in rows]


def _usage(asked: _Pairing, connection: Connection, side: Side, contents: Sequence[str | None]) -> Mapping[str, Any]:
    rows = asked.one("usage_of_tasks", connection, side, contents=[one for one in contents if one is not None])
    return {row.task: row for row in rows}


def _task(row: Any, a: Any, b: Any) -> TaskOfPair:
    one, other = _counts(row)
    told = row.difference is not None and a is not None and b is not None
    priced = told and a.priced == a.attempts and b.priced == b.attempts
    return TaskOfPair(
        task=row.name,
        content=row.content,
        kind=row.kind,
        a=one,
        b=other,
        difference=row.difference,
        cost_nano=int(b.cost - a.cost) if priced else None,
        seconds=float(b.seconds - a.seconds) if told else None,
    )
