"""One batch of faults: a data folder, runs at work in it, one fault after the other, and the way to the end.

Two runs are kept alive, each of run sets of short cells: one in real sandboxes, one in fake ones. When a run set is
done the next one is begun, so there is always work for a fault to fall into and little left after the last.
"""

from __future__ import annotations

import fcntl
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import psutil
from sqlalchemy import Connection, text

from proctor.sandboxes.local.records import is_running, read_record
from tests.chaos.faults import FAULTS
from tests.chaos.invariants import History, broken, broken_objects, class_counts, facts, queued_for_nothing, unended
from tests.chaos.rig import RUN_SET, TENANT, Home, Run, exit_codes, wait_for, write_suite

__all__ = ["PATIENCE_SEC", "Batch", "BatchReport", "Role"]

T = TypeVar("T")

TASKS, MALFORMED = 7, 1
PROFILES: int = 3
PATIENCE_SEC: float = 120.0
"""For whatever takes a second or two on a machine of one's own."""
TRIES: int = 25
"""A fault that found nobody so often will find nobody."""
MOMENT_SEC: float = 0.6
"""A fault comes at any moment of this long a time, after which a cell or two have ended."""
LOOK_SEC: float = 0.1
"""Between looks at the database: each makes a connection, which costs both sides ten milliseconds."""
OWED, GONE_ON = 3, 0
"""Exit codes: the malformed task is owed; nothing is."""
QUIET: frozenset[int] = frozenset({OWED, GONE_ON, 5, -signal.SIGKILL})
"""How runs may end: done, killed, or giving up with a word of why (5), as on a full disk."""


@dataclass
class Role:
    """Runs of one kind of sandbox, and their run sets one after the other."""

    name: str
    home: Home
    trials: int
    wave: int = 0
    runs: list[Run] = field(default_factory=list)

    @property
    def fake(self) -> bool:
        return self.name == "fake"

    @property
    def living(self) -> list[Run]:
        return [run for run in self.runs if run.alive]

    @property
    def at_work(self) -> list[Run]:
        """Runs past their planning."""
        return [run for run in self.living if "cells queued" in run.printed]

    def title(self, wave: int) -> str:
        return f"{self.name}-{wave}"

    def file(self, wave: int) -> Path:
        return self.home.folder / f"{self.title(wave)}.toml"

    def ensure(self) -> None:
        """One run lives; the next run set is begun once one is done."""
        if self.living:
            return
        if self.wave == 0 or self.runs[-1].process.poll() in (OWED, GONE_ON):
            self.wave += 1
            write_file(self.file(self.wave), self.title(self.wave), trials=self.trials)
        self.start()

    def start(self, more: Mapping[str, str] | None = None) -> Run:
        """One more run of the newest run set."""
        run = self.home.start("run", str(self.file(self.wave)), more=more, program=self.fake)
        self.runs.append(run)
        return run


def write_file(path: Path, name: str, *, trials: int) -> None:
    """A run-set file of the rig's profiles that reuses nothing, its cells long enough to leave a machine time."""
    source = RUN_SET.format(trials=trials).replace('name = "chaos"', f'name = "{name}"\nreuse = "off"', 1)
    path.write_text(source.replace("sleep 0.2", "sleep 0.6").replace("sleep 0.05", "sleep 0.3"))


@dataclass
class BatchReport:
    """What a batch came to."""

    number: int
    struck: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    """Strikes that found nobody, and were repeated."""
    seconds: Counter[str] = field(default_factory=Counter)
    looks: int = 0
    attempts: dict[str, int] = field(default_factory=dict)
    cells: int = 0
    runs: int = 0
    exits: Counter[int] = field(default_factory=Counter)
    gave_up: Counter[str] = field(default_factory=Counter)
    """Runs that ended by themselves with a word of why."""
    cost_nano: int = 0
    took: float = 0.0


def _open_the_node(connection: Connection) -> None:
    """What is killed on purpose here looks to the scheduler like a machine that starts no sandboxes: as an operator
    would who knows better, it is opened again and its failures are forgotten."""
    connection.execute(text("DELETE FROM proctor.recent_end"))
    opened = (
        "UPDATE proctor.queue_lane SET failures = 0, closed_until = NULL WHERE provider LIKE 'node/%' AND failures > 0"
    )
    connection.execute(text(opened))


class Batch:
    """The faults of one data folder. Every choice is the generator's, so a seed repeats them."""

    def __init__(self, home: Home, number: int, seed: str, kinds: Sequence[str]) -> None:
        self.home, self.kinds = home, kinds
        self.rng = random.Random(seed)
        self.report = BatchReport(number)
        self.history = History()
        self.roles = (Role("local", home, trials=3), Role("fake", home, trials=6))
        self.plans: list[tuple[str, Path]] = []
        """Files of run sets that a planner was killed over."""
        self._began = time.monotonic()

    # --- what faults use ------------------------------------------------------------------------------------------

    def tell(self, what: str) -> None:
        """Printed as it happens: a hang shows where."""
        print(f"[{self.report.number}] {time.monotonic() - self._began:7.2f} {what}", flush=True)

    def wait_for(self, condition: Callable[[], T], what: str, within: float = PATIENCE_SEC) -> T:
        return wait_for(condition, within, f"{what} (batch {self.report.number})", LOOK_SEC)

    def pause(self, longest: float = MOMENT_SEC) -> None:
        """To a moment that the seed chose."""
        moment = time.monotonic() + self.rng.uniform(0, longest)
        wait_for(lambda: time.monotonic() >= moment, PATIENCE_SEC, "a moment")

    def sql(self, query: str, **parameters: object) -> list[Any]:
        """Rows that the tenant sees."""
        return self.home.read(lambda c: list(c.execute(text(query), parameters).all()))

    def sql_of_all(self, query: str, **parameters: object) -> list[Any]:
        """The same with the queue's workers."""

        def work(connection: Connection) -> list[Any]:
            database.set_tenant(connection, TENANT)
            return list(connection.execute(text(query), parameters).all())

        with self.home.database() as database:
            return database.as_scheduler(work)

    def worker_of(self, run: Run) -> UUID | None:
        """How the queue knows a run's worker."""
        rows = self.sql_of_all("SELECT id FROM proctor.worker WHERE pid = :pid", pid=run.process.pid)
        return rows[0].id if rows else None

    def role_of(self, run: Run) -> Role:
        return next(role for role in self.roles if run in role.runs)

    def at_work(self) -> list[Run]:
        return [run for role in self.roles for run in role.at_work]

    # --- the faults, one after the other ----------------------------------------------------------------------------

    def run(self) -> BatchReport:
        """All faults, then to the end."""
        write_suite(self.home.folder / "suite", tasks=TASKS, malformed=MALFORMED)
        for kind in self.kinds:
            began = time.monotonic()
            self._strike(kind)
            self.report.struck[kind] += 1
            self.report.seconds[kind] += time.monotonic() - began  # type: ignore[assignment]
        self._finish()
        self.report.took = time.monotonic() - self._began
        self.tell(f"done: {dict(self.report.attempts)}")
        return self.report

    def _strike(self, kind: str) -> None:
        for _ in range(TRIES):
            fault = FAULTS[kind]()
            self._ready()
            self.look()
            self.pause()
            if fault.strike(self):
                fault.aftermath(self)
                self.look()
                return
            self.report.missed[kind] += 1
        raise AssertionError(f"{kind}: nobody was found {TRIES} times")

    def _ready(self) -> None:
        """Runs are at work, and nothing is left of those that were killed."""
        self.wait_for(self._working, "runs at work")
        try:
            self.wait_for(lambda: not self.stranded(), "an end to what the dead held")
        except AssertionError:
            raise AssertionError(f"left by the dead: {self.stranded()}") from None

    def _working(self) -> bool:
        for role in self.roles:
            role.ensure()
        self.home.open_sandboxes()
        if any(role.at_work for role in self.roles):
            self.home.read(_open_the_node)
        return all(role.at_work for role in self.roles)

    def stranded(self) -> list[str]:
        """What faults left that nobody has ended yet: attempts, rows, scratch folders, sandboxes, processes."""
        return [
            *self._stranded_attempts(),
            *self.home.read(queued_for_nothing),
            *self._stranded_scratch(),
            *self._stranded_sandboxes(),
            *self._stranded_processes(),
        ]

    def _stranded_attempts(self) -> list[str]:
        living = [run.process.pid for run in self.home.living]
        rows = self.sql_of_all(
            """SELECT a.id FROM proctor.attempt a LEFT JOIN proctor.worker w ON w.id = a.worker_id
               WHERE a.ended_at IS NULL AND (w.pid IS NULL OR NOT w.pid = ANY(:living))""",
            living=living,
        )
        return [str(row.id) for row in rows]

    def _stranded_scratch(self) -> list[str]:
        return [str(path) for path in (self.home.data / "tmp").glob("*") if not _held(path)]

    def _stranded_sandboxes(self) -> list[str]:
        folders = [self.home.data / "sandboxes" / name for name in self.home.open_sandboxes()]
        records = [(folder, read_record(folder)) for folder in folders]
        return [str(folder) for folder, record in records if record is not None and not is_running(record.maker)]

    def _stranded_processes(self) -> list[str]:
        """Bubblewraps whose run is gone; the sandbox's own processes end with them."""
        found = []
        for process in psutil.process_iter(["name", "ppid", "cmdline"]):
            words = process.info["cmdline"] or []
            ours = process.info["name"] == "bwrap" and any(str(self.home.data) in word for word in words)
            if ours and process.info["ppid"] == 1:
                found.append(f"bwrap {process.pid}")
        return found

    # --- looking ------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Every invariant, now."""

        def work(connection: Connection) -> list[str]:
            self.history.add(facts(connection))
            return broken(connection) + self._half_planned(connection)

        problems = self.home.read(work) + self.history.problems
        assert not problems, "\n".join(problems)
        self.report.looks += 1

    def _half_planned(self, connection: Connection) -> list[str]:
        """A run set on record has all of its cells."""
        rows = connection.execute(text("""
            SELECT s.name, count(e.cell_id) AS cells, (s.spec->>'trials')::int * :each * (
                SELECT count(*) FROM proctor.run_set_profile p WHERE p.run_set_id = s.id) AS wanted
            FROM proctor.run_set s LEFT JOIN proctor.expected_cell e ON e.run_set_id = s.id
            GROUP BY s.tenant_id, s.id"""), {"each": TASKS + MALFORMED})  # fmt: skip
        return [f"{row.name} expects {row.cells}, not {row.wanted}" for row in rows if row.cells != row.wanted]

    # --- the end ------------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        """To the end of every run set: the same command again, then ``resume`` for what is among the dead letters."""
        self.tell("to the end")
        runs = self.home.living
        at_work = [role.title(role.wave) for role in self.roles if role.living]
        for verb in ("run", "run", "resume", "resume"):
            for (name, file), program in self._to_do():
                if name not in at_work:
                    runs.append(self.home.start(verb, str(file) if verb == "run" else name, program=program))
            codes = Counter(run.wait(PATIENCE_SEC) for run in runs)
            assert set(codes) <= QUIET, codes
            self.look()
            if not self._to_do():
                break
            runs, at_work = [], []
        self._check_the_end()
        self._count()

    def _to_do(self) -> list[tuple[tuple[str, Path], bool]]:
        """Run sets, by name and file, that are not at their end on record; those never planned too."""
        files = [((role.title(n), role.file(n)), role.fake) for role in self.roles for n in range(1, role.wave + 1)]
        files += [(plan, False) for plan in self.plans]
        return [one for one in files if self._undecided(one[0][0]) or self._state(one[0][0]) != "complete_with_gaps"]

    def _state(self, name: str) -> str:
        rows = self.sql("SELECT state FROM proctor.run_set WHERE name = :name", name=name)
        return str(rows[0].state) if rows else "never planned"

    def _undecided(self, name: str) -> int:
        """Cells that could have a verdict and have none."""
        rows = self.sql(
            """SELECT s.id, count(e.cell_id) FILTER (WHERE r.cell_id IS NULL) AS undecided,
                (s.spec->>'trials')::int * :malformed * (
                SELECT count(*) FROM proctor.run_set_profile p WHERE p.run_set_id = s.id) AS never
               FROM proctor.run_set s JOIN proctor.expected_cell e ON e.run_set_id = s.id
               LEFT JOIN proctor.result r ON r.cell_id = e.cell_id WHERE s.name = :name GROUP BY s.tenant_id, s.id""",
            name=name,
            malformed=MALFORMED,
        )
        return sum(row.undecided - row.never for row in rows)

    def _check_the_end(self) -> None:
        names = [role.title(n) for role in self.roles for n in range(1, role.wave + 1)]
        for name in [*names, *(plan for plan, _ in self.plans)]:
            assert self._state(name) == "complete_with_gaps", f"{name} is {self._state(name)}"
            assert not self._undecided(name), f"{name} owes {self._undecided(name)} cells"
        found = self.home.read(unended) + self.home.read(lambda c: broken_objects(c, self.home.objects))
        assert not found, "\n".join(found)
        assert self.home.known_workers() == 0
        self.wait_for(lambda: not self.home.left_running(), f"the end of {self.home.left_running()}", within=20)
        assert self.home.left_behind() == []
        assert set(exit_codes(self.home.runs)) <= QUIET, Counter(exit_codes(self.home.runs))

    def _count(self) -> None:
        self.report.attempts = self.home.read(class_counts)
        self.report.cells = self.sql("SELECT count(*) AS rows FROM proctor.result")[0].rows
        self.report.cost_nano = int(self.sql("SELECT coalesce(sum(nano), 0) AS nano FROM proctor.ledger")[0].nano)
        self.report.runs = len(self.home.runs)
        self.report.exits = Counter(exit_codes(self.home.runs))
        for run in self.home.runs:
            if run.process.poll() == 5:
                said = [line for line in run.printed.splitlines() if "error [" in line]
                self.report.gave_up[said[-1][:160].replace(str(self.home.folder), "…") if said else "no word"] += 1


def _held(folder: Path) -> bool:
    """Whether a living process holds a scratch folder."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return True  # its process removed it a moment ago
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
