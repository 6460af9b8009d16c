"""Workers that lost their lease and do not know it, that are interrupted, and that share one run set."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from uuid import UUID

import pexpect
import psutil
import pytest
from sqlalchemy import Connection, text

from proctor.database.engine import Database
from proctor.engine.assignments import Assignment, Finished
from proctor.engine.attempts import AttemptRunner, RunnerParts
from proctor.engine.claiming import Claimer
from proctor.engine.evidence import Evidence
from proctor.engine.library import CachedLibrary
from proctor.engine.recording import Moved, decide, record_batch, record_progress
from proctor.engine.scratch import make_scratch, remove_scratch
from proctor.kernel.clock import SystemClock
from proctor.kernel.errors import IntegrityError
from proctor.kernel.ids import new_id
from proctor.sandboxes.fake import FakeBackend, rewards
from proctor.sandboxes.interfaces import Sandbox, SandboxSpec
from tests.bench import Bench, write_tasks
from tests.chaos.invariants import broken, unended
from tests.chaos.rig import RUN_SET, Home, fresh_home, wait_for

pytestmark = pytest.mark.endurance

FILE = """
name = "n"
suite = "suite"
trials = 1
[[profiles]]
name = "p"
agent = "noop"
"""
TABLES = ("attempt", "evidence", "grading", "outcome", "result", "event", "ledger", "queue_item")


# --- one attempt by hand: claimed by a worker that the test plays -------------------------------------------------


def claim(bench: Bench, run_set: UUID) -> Assignment:
    claimer = Claimer(bench.database, new_id(), backend=bench.backend.name, slots=1, scope=run_set, lease_sec=60.0)
    (assignment,) = claimer.claim(1, list)
    return assignment


def moved(assignment: Assignment, evidence: Sequence[Evidence], segment: int) -> Moved:
    return Moved(assignment=assignment, evidence=evidence, segment=segment, phase="agent")


def finish(bench: Bench, assignment: Assignment) -> Finished:
    parts = RunnerParts(
        backend=bench.backend,
        objects=bench.objects,
        library=CachedLibrary(bench.suites, bench.folder / "cache"),
        clock=SystemClock(),
        owner="test",
        scratch=bench.folder,
    )
    return asyncio.run(AttemptRunner(assignment, parts).run())


def record(bench: Bench, finished: Finished) -> int:
    decided = [decide(finished, Random(1))]
    return len(bench.engine.read(lambda c: record_batch(c, bench.tenant, decided)))


def lose_lease(bench: Bench) -> None:
    """Every lease ended an hour ago."""
    past = text("UPDATE proctor.queue_item SET lease_until = now() - interval '1 hour' WHERE state = 'claimed'")
    bench.database.as_scheduler(lambda c: c.execute(past))


def stored(bench: Bench) -> dict[str, list[str]]:
    def rows(connection: Connection, table: str) -> list[str]:
        return sorted(row[0] for row in connection.execute(text(f"SELECT t::text FROM proctor.{table} t")))

    return {table: bench.engine.read(lambda c, t=table: rows(c, t)) for table in TABLES}  # type: ignore[misc]


@pytest.fixture
def run_set(bench: Bench) -> UUID:
    write_tasks(bench.folder / "suite", 1)
    return bench.open(FILE).run_set.id


@pytest.mark.database
def test_a_worker_whose_lease_was_lost_can_not_write(bench: Bench, run_set: UUID) -> None:
    bench.backend = FakeBackend(rewards(0.0))
    late = finish(bench, claim(bench, run_set))
    lose_lease(bench)
    bench.backend = FakeBackend(rewards(1.0))
    assert bench.work(run_set).state == "complete"
    before = stored(bench)
    assert record(bench, late) == 0
    bench.engine.read(lambda c: record_progress(c, bench.tenant, [moved(late.assignment, late.evidence, 7)]))
    assert stored(bench) == before
    classes = "SELECT number, class, verdict FROM proctor.outcome o JOIN proctor.attempt a ON a.id = o.attempt_id"
    assert bench.sql(f"{classes} ORDER BY number") == [(1, "lease_lost", None), (2, "passed", True)]
    said = "SELECT detail->>'reason' FROM proctor.evidence WHERE attempt_id = :id"
    assert bench.sql(said, id=late.assignment.attempt) == [("lease_lost",)]
    assert bench.sql("SELECT verdict FROM proctor.result") == [(True,)]
    assert bench.objects.get(late.artifacts["trajectory.json"].key)
    assert bench.engine.read(broken) == []


@pytest.mark.database
def test_recording_an_attempt_twice_changes_nothing(bench: Bench, run_set: UUID) -> None:
    finished = finish(bench, claim(bench, run_set))
    assert record(bench, finished) == 1
    before = stored(bench)
    assert record(bench, finished) == 0
    assert stored(bench) == before


@pytest.mark.database
def test_other_evidence_under_a_number_that_is_taken_is_an_error_and_nothing_is_written(
    bench: Bench, run_set: UUID
) -> None:
    finished = finish(bench, claim(bench, run_set))
    first, *rest = finished.evidence
    bench.engine.read(lambda c: record_progress(c, bench.tenant, [moved(finished.assignment, [first], 0)]))
    before = stored(bench)
    other = replace(finished, evidence=(replace(first, detail={"task": "another"}), *rest))
    with pytest.raises(IntegrityError):
        record(bench, other)
    assert stored(bench) == before
    assert record(bench, finished) == 1


@pytest.mark.database
def test_a_cell_that_was_decided_meanwhile_starts_no_attempt(bench: Bench, run_set: UUID) -> None:
    assert record(bench, finish(bench, claim(bench, run_set))) == 1
    bench.database.as_scheduler(
        lambda c: c.execute(
            text("""INSERT INTO proctor.queue_item (tenant_id, kind, id, band, holders)
                    SELECT :t, 'cell', :id, 2, jsonb_build_object(CAST(:holder AS text), 2)"""),
            {"t": bench.tenant, "id": bench.cells(bench.open(FILE).run_set)[0].cell, "holder": str(run_set)},
        )
    )
    assert bench.work(run_set).state == "complete"
    assert bench.sql("SELECT count(*) FROM proctor.attempt") == [(1,)]
    assert bench.sql("SELECT count(*) FROM proctor.queue_item") == [(0,)]


# --- a worker of this process, with a database that is slow or forgetful -------------------------------------------


class Slow(Database):
    """Nothing is recorded before the leases would have ended twice over."""

    def __init__(self, bench: Bench, urls: object, lease_sec: float) -> None:
        super().__init__(urls.app, urls.scheduler)  # type: ignore[attr-defined]
        self.until = time.monotonic() + 2 * lease_sec

    @contextmanager
    def _patient(self) -> Iterator[None]:
        if threading.current_thread().name == "settler":
            wait_for(lambda: time.monotonic() > self.until, 30, "two leases")
        yield

    def as_tenant(self, tenant_id, work):  # type: ignore[no-untyped-def]
        with self._patient():
            return super().as_tenant(tenant_id, work)


@pytest.mark.database
def test_a_finished_attempt_keeps_its_lease_until_it_is_recorded(bench: Bench, run_set: UUID, urls: object) -> None:
    bench.database = Slow(bench, urls, lease_sec=1.0)
    asyncio.run(bench.worker(run_set, lease_sec=1.0).run(bench.engine.work_left(run_set)))
    bench.database.close()
    assert bench.settled == {"passed": 1}
    assert bench.sql("SELECT class FROM proctor.outcome") == [("passed",)]


@pytest.mark.database
def test_a_second_interrupt_records_what_had_not_begun(bench: Bench) -> None:
    """Cancelled between its claim and its first step, an attempt still gets its evidence."""
    write_tasks(bench.folder / "suite", 6)
    run_set = bench.open(FILE).run_set.id
    worker = bench.worker(run_set, slots=6)

    class Cancelling(FakeBackend):
        async def create(self, spec: SandboxSpec) -> Sandbox:
            worker.cancel()
            return await super().create(spec)

    bench.backend = Cancelling(rewards(1.0))
    worker._parts = replace(worker._parts, backend=bench.backend)
    asyncio.run(worker.run(bench.engine.work_left(run_set)))
    assert sum(bench.settled.values()) == 6
    assert bench.settled.keys() <= {"cancelled", "passed"}
    assert bench.sql("SELECT count(*) FROM proctor.attempt WHERE ended_at IS NULL") == [(0,)]


@pytest.mark.database
def test_sandboxes_of_the_dead_are_looked_for_whoever_saw_them_die(bench: Bench, run_set: UUID) -> None:
    """A worker of another backend may have seen it first, and has forgotten it."""
    reaped = threading.Event()

    class Reaping(FakeBackend):
        working = False

        async def create(self, spec: SandboxSpec) -> Sandbox:
            self.working = True
            while not reaped.is_set():
                await asyncio.sleep(0.01)
            return await super().create(spec)

        async def reap(self, is_live):  # type: ignore[no-untyped-def]
            if self.working:
                reaped.set()
            return await super().reap(is_live)

    bench.backend = Reaping(rewards(1.0))
    asyncio.run(bench.worker(run_set, lease_sec=1.0).run(bench.engine.work_left(run_set)))
    assert bench.settled == {"passed": 1}


def test_scratch_folders_of_dead_processes_are_removed_and_those_of_living_ones_are_not(tmp_path: Path) -> None:
    (tmp_path / "attempts-dead").mkdir()
    first = make_scratch(tmp_path)
    second = make_scratch(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([first, second])
    remove_scratch(first)
    remove_scratch(second)
    assert list(tmp_path.iterdir()) == []


# --- real processes ------------------------------------------------------------------------------------------------


@pytest.fixture
def home() -> Iterator[Home]:
    with fresh_home() as made:
        yield made


def all_decided(home: Home, expected: int) -> None:
    assert home.read(broken) + home.read(unended) == []
    counted = text("SELECT count(*), count(DISTINCT cell_id) FROM proctor.result")
    assert tuple(home.read(lambda c: c.execute(counted).one())) == (expected, expected)


def classes(home: Home) -> Sequence[tuple[str, int]]:
    query = text("SELECT class, count(*) FROM proctor.outcome GROUP BY 1 ORDER BY 1")
    return [(row[0], row[1]) for row in home.read(lambda c: c.execute(query).all())]


@pytest.mark.slow
def test_a_worker_that_was_stopped_past_its_lease_writes_nothing_when_it_wakes(home: Home) -> None:
    home.write(tasks=4, trials=2)
    sleeper = home.start()
    wait_for(home.open_sandboxes, 60, "a sandbox")
    sleeper.signal(signal.SIGSTOP)
    assert home.start().wait(90) == 0
    before = home.read(lambda c: c.execute(text("SELECT r::text FROM proctor.result r ORDER BY 1")).all())
    sleeper.signal(signal.SIGCONT)
    assert sleeper.wait(60) == 0
    after = home.read(lambda c: c.execute(text("SELECT r::text FROM proctor.result r ORDER BY 1")).all())
    assert [tuple(row) for row in before] == [tuple(row) for row in after]
    all_decided(home, 24)
    assert "lease_lost" in dict(classes(home))
    assert home.open_sandboxes() == []


@pytest.mark.slow
def test_two_processes_share_the_cells_of_one_run_set(home: Home) -> None:
    home.write(tasks=4, trials=2)
    runs = [home.start(), home.start()]
    assert [run.wait(90) for run in runs] == [0, 0]
    all_decided(home, 24)
    counted = text("SELECT count(*), count(DISTINCT cell_id), count(DISTINCT worker_id) FROM proctor.attempt")
    assert tuple(home.read(lambda c: c.execute(counted).one())) == (24, 24, 2)


@pytest.mark.slow
def test_a_run_cleans_up_after_one_that_died_beside_it(home: Home) -> None:
    home.write(tasks=4, trials=2)
    dying, other = home.start(), home.start()
    for run in (dying, other):
        wait_for(lambda run=run: "bwrap" in children(run.process.pid), 60, "a sandbox of each")  # type: ignore[misc]
    home.open_sandboxes()
    dying.kill()
    assert other.wait(90) == 0
    all_decided(home, 24)
    assert home.left_behind() == []
    wait_for(lambda: not home.left_running(), 10, "the end of every process")


@pytest.mark.slow
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_once_lets_running_cells_finish_and_twice_cancels_them(home: Home, presses: int) -> None:
    """In a terminal of its own, where Ctrl-C goes to every process of the foreground group."""
    source = RUN_SET.replace("sleep 0.5", "sleep 3" if presses == 1 else "sleep 8")
    home.write(tasks=3, source=source)
    terminal = pexpect.spawn(
        home.command()[0], ["run", str(home.file)], env=home.environment, cwd=str(home.folder), timeout=60
    )
    with (home.folder / "terminal.txt").open("wb") as log:
        terminal.logfile_read = log
        terminal.expect("cells queued")
        wait_for(lambda: "sleep" in children(terminal.pid), 60, "the slow agent")
        terminal.sendintr()
        if presses == 2:
            terminal.expect("Ctrl-C again to cancel")
            terminal.sendintr()
        terminal.expect("To go on: proctor resume ")
        terminal.expect(pexpect.EOF)
        terminal.close()
    assert terminal.exitstatus == 130
    ended = dict(classes(home))
    assert ended.keys() <= {"passed", "failed", *(["cancelled"] if presses == 2 else [])}
    assert ("cancelled" in ended) == (presses == 2)
    assert not home.left_running()
    assert home.start().wait(90) == 0
    all_decided(home, 9)


def children(pid: int) -> set[str]:
    """What runs below a process, by name."""
    names = set()
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                names.add(child.name())
    return names
