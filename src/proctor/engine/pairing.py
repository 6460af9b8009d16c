"""Two sides' tasks put together where they are stored: counts of them all, and pages of them. Reads only.

A comparison of a hundred thousand tasks needs how often each pair of counts occurs, and not the tasks: the database
groups them. ``put_together`` of the comparing module says the same of sides that were read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.comparing import solved, title_of, why_absent, why_missing
from proctor.engine.pairs import CellCounts, PairedTasks, Side, Tally, TaskOfPair, Unpaired

__all__ = ["TaskKind", "paired_tasks", "tasks_of_pair"]

_run = partial(run_query, "proctor.engine")

TaskKind = Literal["flips", "both_pass", "both_fail", "owed", "mixed"]


@dataclass(frozen=True, kw_only=True)
class _Pairing:
    """Two sides as the statements name them."""

    connection: Connection
    tenant: UUID
    a: Side
    b: Side

    def sides(self) -> Mapping[str, object]:
        """Both."""
        a, b = (self.of(side) for side in (self.a, self.b))
        named = {f"{name}_{letter}": value for letter, each in (("a", a), ("b", b)) for name, value in each.items()}
        return {"tenant": self.tenant, **named}

    def of(self, side: Side) -> Mapping[str, object]:
        """One of them."""
        return {"run_set": side.run_set, "profile": side.position, "policy": side.policy_version}

    def ask(self, name: str, side: Side, **more: object) -> Sequence[Any]:
        """What is asked of one side."""
        return _run(self.connection, name, tenant=self.tenant, **self.of(side), **more).all()


def paired_tasks(connection: Connection, tenant: UUID, a: Side, b: Side) -> PairedTasks:
    """What the statistics need of two sides whose tasks were not read. The connection is used until they are done."""
    asked = _Pairing(connection=connection, tenant=tenant, a=a, b=b)
    _run(connection, "read_in_one")
    rows = _run(connection, "paired_groups", **asked.sides()).all()
    told = [(*_counts(row), row) for row in rows]
    paired = [(one, other, row) for one, other, row in told if one and other and one.decided and other.decided]
    tasks = sum(row.tasks for _, _, row in paired)
    apart = [digest for row in _without(rows, [row for _, _, row in paired]) for digest in row.contents]
    return PairedTasks(
        groups={(one, other): row.tasks for one, other, row in told},
        ordered=partial(_ordered, asked),
        only_a=_names(row for one, other, row in paired if solved(one) and not solved(other)),
        only_b=_names(row for one, other, row in paired if solved(other) and not solved(one)),
        cost=(_cost(asked, a, tasks, apart), _cost(asked, b, tasks, apart)),
        unpaired=tuple(_unpaired(asked, told)),
    )


def _counts(row: Any) -> tuple[CellCounts | None, CellCounts | None]:
    a = None if row.expected_a is None else CellCounts(row.expected_a, row.decided_a, row.passed_a)
    b = None if row.expected_b is None else CellCounts(row.expected_b, row.decided_b, row.passed_b)
    return a, b


def _without(rows: Sequence[Any], some: Sequence[Any]) -> list[Any]:
    left_out = {id(row) for row in some}
    return [row for row in rows if id(row) not in left_out]


def _names(rows: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted(name for row in rows for name in row.names))


def _ordered(asked: _Pairing) -> list[tuple[CellCounts, CellCounts]]:
    found = [_counts(row) for row in _run(asked.connection, "tasks_by_key", **asked.sides())]
    return [(one, other) for one, other in found if one and other and one.expected and other.expected]


def _cost(asked: _Pairing, side: Side, tasks: int, apart: Sequence[str]) -> int | None:
    """Of all tasks but those apart; ``None`` unless each of them has attempts, and all of those told their cost."""
    (found,) = asked.ask("cost_of_tasks", side, apart=list(apart))
    return int(found.cost) if tasks and found.priced == tasks else None


def _unpaired(asked: _Pairing, told: Sequence[tuple[CellCounts | None, CellCounts | None, Any]]) -> Iterator[Unpaired]:
    """As the comparing module has them: by side, then by name."""
    a, b = asked.a, asked.b
    gaps = sorted({digest for one, other, row in told if one or other for digest in row.gaps or ()})
    alone_a = [digest for one, other, row in told if one and not other for digest in row.contents]
    alone_b = [digest for one, other, row in told if other and not one for digest in row.contents]
    for side, other, alone in ((a, b, alone_a), (b, a, alone_b)):
        found = [*_absent(asked, side, other, alone), *_gaps(asked, side, gaps, set(alone))]
        yield from (one for _, one in sorted(found, key=lambda each: each[0]))


_Placed = tuple[tuple[str, str], Unpaired]
"""With its task's name and content, by which they stand in order."""


def _absent(asked: _Pairing, side: Side, other: Side, alone: Sequence[str]) -> Iterator[_Placed]:
    if not alone:
        return
    rows = asked.ask("keys_of_tasks", side, contents=list(alone), names=[])
    namesakes = asked.ask("keys_of_tasks", other, contents=[], names=[row.name for row in rows])
    by_name = {row.name: (row.agent_digest, row.verifier_digest) for row in namesakes}
    for row in rows:
        reason = why_absent((row.agent_digest, row.verifier_digest), by_name.get(row.name))
        absent = Unpaired(task=row.name, side=title_of(other), cells=row.cells, reason=reason)
        yield (row.name, row.content_digest), absent


def _gaps(asked: _Pairing, side: Side, contents: Sequence[str], alone: set[str]) -> Iterator[_Placed]:
    if not contents:
        return
    for row in asked.ask("gaps_by_task", side, contents=list(contents)):
        if row.content_digest not in alone:
            outcome: str = row._mapping["class"]
            gap = Tally(outcome=outcome, owner=row.owner, verdict=row.verdict, cells=row.cells, withdrawn=row.withdrawn)
            missing = Unpaired(task=row.name, side=title_of(side), cells=row.cells, reason=why_missing(gap))
            yield (row.name, row.content_digest), missing


def tasks_of_pair(
    connection: Connection,
    tenant: UUID,
    sides: tuple[Side, Side],
    *,
    kind: TaskKind | None,
    after: tuple[float, str, str] | None,
    limit: int,
) -> list[TaskOfPair]:
    """Tasks of two sides, those that flipped first, the largest first, then by name. ``kind`` ``None``: all."""
    asked = _Pairing(connection=connection, tenant=tenant, a=sides[0], b=sides[1])
    size, name, content = after or (None, "", "")
    place = {"size": size, "name": name, "content": content}
    _run(connection, "read_in_one")
    _run(connection, "join_by_loops", allowed="off")
    rows = _run(connection, "paired_tasks", **asked.sides(), kind=kind, limit=limit, **place).all()
    _run(connection, "join_by_loops", allowed="on")
    a = _usage(asked, sides[0], [row.content_a for row in rows])
    b = _usage(asked, sides[1], [row.content_b for row in rows])
    return [_task(row, a.get(row.content_a), b.get(row.content_b)) for row in rows]


def _usage(asked: _Pairing, side: Side, contents: Sequence[str | None]) -> Mapping[str, Any]:
    rows = asked.ask("usage_of_tasks", side, contents=[one for one in contents if one is not None])
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
