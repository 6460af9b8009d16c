"""Planning: the same few statements for many tasks, and the same cells as one by one."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from sqlalchemy import Engine, event, text

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


TWINS = (
    FILE
    + """
[[profiles]]
name = "q"
series = "other"
agent = "noop"
"""
)


COUNTED = """SELECT profile, count(*), count(DISTINCT cell_id) FROM proctor.expected_cell
    WHERE run_set_id = :id GROUP BY 1 ORDER BY 1"""


@pytest.mark.parametrize("reuse", ["30d", "off"])
def test_profiles_of_one_configuration_have_trials_of_their_own(bench: Bench, reuse: str) -> None:
    write_tasks(bench.folder / "suite", 3)
    for name in ("n", "again"):
        resolved = bench.resolved(TWINS.format(trials=2, reuse=reuse).replace('"n"', f'"{name}"'))
        how = {"on_moved": OnMoved.ASK, "fresh": False, "selection": Selection()}
        assert bench.engine.rehearse(resolved, **how).cells.expected == 12  # type: ignore[arg-type]
        opened = bench.engine.open(resolved, **how)  # type: ignore[arg-type]
        rows = bench.engine.read(
            lambda c, i=opened.run_set.id: c.execute(text(COUNTED), {"id": i}).all()  # type: ignore[misc]
        )
        assert [tuple(row) for row in rows] == [(0, 6, 6), (1, 6, 6)]
    trials = bench.engine.read(lambda c: c.execute(text("SELECT max(trial) FROM proctor.cell")).scalar_one())
    assert trials == (4 if reuse == "30d" else 8), "what there is is asked for again"


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
