"""Attempts that make no progress are named; whatever grows is progress."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from proctor.engine import reading
from proctor.engine.claiming import Claimer
from proctor.engine.planning import RunSetRow
from proctor.engine.recording import Moved, record_progress
from proctor.kernel.ids import new_id
from proctor.reports.stalls import stall_words
from tests.bench import Bench, write_tasks

pytestmark = pytest.mark.database

FILE = """
name = "n"
suite = "suite"
[[profiles]]
name = "quiet"
agent = "noop"
"""


def stalled(bench: Bench, row: RunSetRow) -> list[reading.Stall]:
    return bench.engine.read(lambda c: reading.stalled(c, bench.tenant, row, quiet_sec=600))


def age(bench: Bench, minutes: int) -> None:
    bench.sql(
        "UPDATE proctor.attempt SET progressed_at = progressed_at - make_interval(mins => :minutes) RETURNING 1",
        minutes=minutes,
    )


def test_an_attempt_that_shows_nothing_new_is_named_until_it_does(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    row = bench.open(FILE).run_set
    claimer = Claimer(bench.database, new_id(), backend="fake", slots=1, scope=row.id, lease_sec=60.0)
    (assignment,) = claimer.claim(1, list)
    age(bench, 9)
    assert stalled(bench, row) == []
    age(bench, 2)
    (stall,) = stalled(bench, row)
    assert (stall.cell, stall.attempt) == (assignment.cell, assignment.attempt)
    assert stall_words(stall).startswith(
        f"stalled: cell {str(assignment.cell)[:8]} · task-00 · quiet · before its first phase, nothing new since "
    )
    bench.engine.read(
        lambda c: record_progress(
            c, bench.tenant, [Moved(assignment=assignment, evidence=[], segment=3, phase="agent", entered=3)]
        )
    )
    assert stalled(bench, row) == []
    age(bench, 11)
    assert "· in agent, nothing new" in stall_words(stalled(bench, row)[0])
    (running,) = bench.engine.read(lambda c: reading.running(c, bench.tenant, row))
    assert running["phase"] == "agent"
    told = "SELECT subject, payload FROM proctor.event WHERE name = 'attempt.reached'"
    ((subject, payload),) = bench.engine.read(lambda c: c.execute(text(told)).all())
    assert (subject, payload["cell"], payload["phase"]) == (assignment.attempt, str(assignment.cell), "agent")
    bench.engine.read(
        lambda c: record_progress(
            c, bench.tenant, [Moved(assignment=assignment, evidence=[], segment=4, phase="agent")]
        )
    )
    assert len(bench.engine.read(lambda c: c.execute(text(told)).all())) == 1, "it is told once"


def test_what_has_ended_is_not_stalled(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    row = bench.run(FILE)
    age(bench, 60)
    assert stalled(bench, row) == []
