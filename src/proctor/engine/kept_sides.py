"""Sides of comparisons whose tasks are counted once, and kept until something under them is written.

To count the tasks of a hundred thousand cells takes a second, and a page of a comparison asks three times. Whatever
writes an attempt, a result or an expected cell says in the same transaction which kept sides it changes (triggers, of
revision 0025), so what is found here is what counting would find.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.comparing import cost_by_task
from proctor.engine.pairs import KeptTasks, Side
from proctor.kernel.ids import new_id
from proctor.suites.service import LONGEST_WORD

__all__ = ["Read", "with_tasks_kept"]

_run = partial(run_query, "proctor.engine")

T = TypeVar("T")

_WAITED_SEC: float = 0.3
"""For transactions that began earlier. One that takes longer lets nobody keep a side; everybody has his answer."""
_LOOKS: int = 15


class Read(Protocol):
    """Does work in a transaction of its own, and answers with what came of it."""

    def __call__(self, work: Callable[[Connection], T], /) -> T: ...


def with_tasks_kept(read: Read, tenant: UUID, sides: Sequence[Side]) -> list[Side]:
    """These sides, their tasks counted where a statement can put them together."""
    return [_with_tasks_kept(read, tenant, side) for side in sides]


def _with_tasks_kept(read: Read, tenant: UUID, side: Side) -> Side:
    named = {
        "tenant": tenant,
        "run_set": side.run_set,
        "profile": side.position,
        "policy": side.policy_version,
        "side": new_id(),
    }
    found = read(partial(_find, named=named))
    if found is None:
        read(partial(_begin, named=named))  # seen by whoever writes from now on
        found = read(partial(_count, named=named))
    by_task = cost_by_task(found.priced, found.unpriced, int(found.cost_nano), int(found.cost_squares))
    return replace(side, cells=found.cells, kept=KeptTasks(id=found.id, cost=by_task))


def _find(connection: Connection, named: dict[str, Any]) -> Any:
    found = _run(connection, "find_kept_side", **named).one_or_none()
    if found is not None:
        _run(connection, "use_kept_side", tenant=named["tenant"], side=found.id)
    return found


def _begin(connection: Connection, named: dict[str, Any]) -> None:
    _run(connection, "sweep_kept_sides", tenant=named["tenant"])
    _run(connection, "begin_kept_side", **named)


def _count(connection: Connection, named: dict[str, Any]) -> Any:
    _run(connection, "only_one_keeps", tenant=named["tenant"])
    found = _find(connection, named)
    if found is not None:
        _run(connection, "drop_kept_side", **named)
        return found
    seen = _seen_by_all(connection)
    _run(connection, "read_in_one")
    _run(connection, "count_side", longest=LONGEST_WORD, **named)
    return _run(connection, "end_kept_side", kept=seen, **named).one()


def _seen_by_all(connection: Connection) -> bool:
    """Whether all who may write to a side know that it is kept. Who began earlier may not: they are waited for."""
    for _ in range(_LOOKS):
        if not _run(connection, "older_at_work").scalar_one():
            return True
        time.sleep(_WAITED_SEC / _LOOKS)
    return False
