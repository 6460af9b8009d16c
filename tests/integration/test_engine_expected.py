"""Cells are queued by how long their task took before."""

from __future__ import annotations

import pytest

from tests.bench import Bench, write_tasks

pytestmark = pytest.mark.database

FILE = """
name = "n"
suite = "suite"
reuse = "off"
[[profiles]]
name = "p"
agent = "{agent}"
"""


def expected(bench: Bench) -> list[float]:
    found = bench.sql(
        "SELECT q.expected_sec FROM proctor.queue_item q JOIN proctor.expected_cell e ON e.cell_id = q.id"
        " JOIN proctor.task t ON t.content_digest = e.content_digest ORDER BY t.name"
    )
    return [float(str(seconds)) for (seconds,) in found]


def took(bench: Bench, task: str, *, seconds: int) -> None:
    bench.sql(
        "UPDATE proctor.attempt a SET ended_at = a.started_at + make_interval(secs => :seconds)"
        " FROM proctor.task t WHERE t.content_digest = a.content_digest AND t.name = :task RETURNING 1",
        seconds=seconds,
        task=task,
    )


@pytest.mark.parametrize("agent", ["noop", "oracle"], ids=["the-same-agent", "another"])
def test_another_trial_is_expected_to_take_as_long_as_the_last(bench: Bench, agent: str) -> None:
    write_tasks(bench.folder / "suite", 2)
    bench.open(FILE.format(agent="noop"))
    assert expected(bench) == [30, 30]
    bench.run(FILE.format(agent="noop"))
    took(bench, "task-00", seconds=4)
    took(bench, "task-01", seconds=25)
    row = bench.open(FILE.format(agent=agent), fresh=True).run_set
    assert expected(bench) == [4, 25]
    bench.engine.cancel(row.id)
    bench.engine.resume(row.id)
    assert expected(bench) == [4, 25]
    needs = bench.sql("SELECT DISTINCT need ->> 'memory_mb' FROM proctor.queue_item")
    assert needs == [("512",)]
