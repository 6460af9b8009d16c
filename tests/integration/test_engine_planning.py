"""Planning: the same few statements for many tasks, and the same cells as one by one."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from sqlalchemy import Engine, event

from proctor.engine.service import OnMoved, Selection
from tests.bench import Bench, write_tasks

pytestmark = pytest.mark.database

FILE = """
name = "n"
suite = "suite"
trials = {trials}
reuse = "{reuse}"
[[profiles]]
name = "p"
agent = "noop"
"""


@pytest.mark.skipif(
    os.environ.get("PROCTOR_TEST_DATABASE") == "proxy", reason="a connection that drops repeats its statements"
)
def test_more_tasks_take_no_more_statements(bench: Bench) -> None:
    counts = []
    for number, tasks in enumerate((2, 40)):
        write_tasks(bench.folder / f"suite-{number}", tasks)
        resolved = bench.resolved(FILE.format(trials=2, reuse="30d").replace('"suite"', f'"suite-{number}"'))
        counts.append(
            statements(
                bench, lambda r=resolved: bench.engine.open(r, on_moved=OnMoved.ASK, fresh=False, selection=Selection())
            )
        )  # type: ignore[misc]
    assert counts[0] == counts[1]


def statements(bench: Bench, work: Callable[[], object]) -> int:
    """How many statements some work takes."""
    seen: list[str] = []

    def take(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", take)
    try:
        work()
    finally:
        event.remove(Engine, "before_cursor_execute", take)
    return len(seen)
