"""What a run-set file and the settings allow providers and profiles; who waits for it holds no slot and no sandbox."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text

from proctor.engine import reading
from proctor.engine.lanes import Allowed
from proctor.engine.service import EngineService
from tests.bench import Bench, write_tasks

pytestmark = [pytest.mark.sandboxes, pytest.mark.database]

FILE = """
name = "n"
suite = "suite"
trials = 5
[[profiles]]
name = "one"
agent = "command"
command = "one"
model = "acme/small"
[[profiles]]
name = "two"
agent = "command"
command = "two"
model = "acme/large"
[[profiles]]
name = "other"
agent = "command"
command = "other"
model = "else/one"
"""


AT_ONCE = """
SELECT max(running) FROM (
    SELECT sum(CASE v.name WHEN 'attempt.started' THEN 1 ELSE -1 END) OVER (ORDER BY v.seq) AS running
    FROM proctor.event v
    JOIN proctor.attempt a ON a.tenant_id = v.tenant_id AND a.id = v.subject
    JOIN proctor.expected_cell e ON (e.tenant_id, e.run_set_id, e.cell_id) = (a.tenant_id, a.run_set_id, a.cell_id)
    WHERE e.profile = ANY(:profiles) AND v.name IN ('attempt.started', 'attempt.ended')) beside
"""
"""By the order of events: the clocks of two transactions say less of which saw the other."""


def at_once(bench: Bench, *profiles: int) -> int:
    """How many attempts of these profiles ran at one time, from claim to record."""
    return int(str(bench.sql(AT_ONCE, profiles=list(profiles))[0][0]))


def work(bench: Bench, source: str) -> reading.RunSetStatus:
    write_tasks(bench.folder / "suite", 4)
    row = bench.open(source).run_set
    asyncio.run(bench.worker(row.id, slots=16).run(bench.engine.work_left(row.id)))
    return bench.engine.read(lambda c: reading.status(c, bench.tenant, row))


def test_without_limits_as_many_run_as_there_are_slots(bench: Bench) -> None:
    assert work(bench, FILE).progress.decided == 60
    assert at_once(bench, 0, 1) > 4


def test_a_providers_limit_is_over_all_its_profiles_and_holds_nobody_else_up(bench: Bench) -> None:
    seen = work(bench, FILE + '[[limits]]\nprovider = "acme"\nconcurrency = 2\n')
    assert (seen.progress.decided, seen.progress.waits) == (60, ())
    assert at_once(bench, 0, 1) <= 2
    assert at_once(bench, 2) > 4


def test_a_profiles_limit_is_its_own(bench: Bench) -> None:
    both = '[[limits]]\nprofile = "one"\nconcurrency = 1\n[[limits]]\nprovider = "acme"\nconcurrency = 4\n'
    assert work(bench, FILE + both).progress.decided == 60
    assert at_once(bench, 0) == 1
    assert 1 < at_once(bench, 0, 1) <= 4


def test_the_settings_limits_hold_until_they_are_taken_back(bench: Bench) -> None:
    """A command without the setting says nothing of providers: another shell's word stays."""
    bench.engine = EngineService(bench.database, bench.tenant, {"acme": Allowed(concurrency=2)})
    work(bench, FILE)
    assert at_once(bench, 0, 1) <= 2
    lane = "SELECT max_running FROM proctor.queue_lane WHERE provider = 'acme'"
    bench.engine = EngineService(bench.database, bench.tenant, {"else": Allowed(concurrency=9)})
    bench.work(bench.open(FILE, fresh=True).run_set.id)
    assert bench.sql(lane) == [(2,)]
    bench.engine = EngineService(bench.database, bench.tenant, {"acme": Allowed()})
    bench.work(bench.open(FILE, fresh=True).run_set.id)
    assert bench.sql(lane) == [(None,)]


def test_lanes_and_limits_go_with_their_run_set(bench: Bench) -> None:
    kept = "SELECT provider FROM proctor.queue_lane WHERE provider LIKE '%/%' AND provider NOT LIKE 'node/%' ORDER BY 1"
    limits = '[[limits]]\nprovider = "acme"\nconcurrency = 2\n'
    write_tasks(bench.folder / "suite", 1)
    done, waiting = (bench.open(FILE + limits + extra, fresh=True).run_set for extra in ("", "# another\n"))
    assert len(bench.sql(kept)) == 4
    assert bench.work(done.id).state == "complete"
    limit = f"limit/{waiting.id}/provider/acme"
    assert bench.sql(kept) == [(f"lane/acme + {limit}",), (limit,)]
    bench.engine.pause(waiting.id)
    assert len(bench.sql(kept)) == 2
    bench.engine.cancel(waiting.id)
    assert bench.sql(kept) == []
    bench.engine.resume(waiting.id)
    assert bench.work(waiting.id).state == "complete"


def test_starts_a_minute_are_told_while_cells_wait(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 4)
    row = bench.open(FILE + '[[limits]]\nprovider = "acme"\nper_minute = 30\n').run_set
    asyncio.run(bench.worker(row.id, slots=16).run(lambda: False))
    seen = bench.engine.read(lambda c: reading.status(c, bench.tenant, row))
    assert seen.progress.decided == 20 + 1
    (wait,) = seen.progress.waits
    assert (wait.scope, wait.name, wait.state, wait.per_minute) == ("provider", "acme", "full", 30)


def test_the_waiting_clock_is_apart_from_the_working_clock(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    row = bench.open(FILE).run_set
    earlier = text("UPDATE proctor.queue_item SET ready_at = ready_at - interval '10 minutes'")
    bench.database.as_scheduler(lambda c: c.execute(earlier) and None)
    asyncio.run(bench.worker(row.id).run(bench.engine.work_left(row.id)))
    seen = bench.engine.read(lambda c: reading.status(c, bench.tenant, row))
    assert 15 * 600 <= seen.clocks.waited_sec < 15 * 660
    assert 0 < seen.clocks.worked_sec < 60
