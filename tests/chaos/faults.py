"""The faults: each strikes once, says whether it hit, and then waits for what it should have caused.

A strike that found nobody is no fault; it is repeated by whoever counts them.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import psutil
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from proctor.database.embedded.errors import says_disk_full
from proctor.kernel.errors import ProctorError
from tests.chaos.disks import can_mount
from tests.chaos.rig import RUN_SET, TENANT, Run

if TYPE_CHECKING:
    from tests.chaos.runs import Batch

__all__ = ["FAULTS", "Fault", "deck", "impossible"]

STARTUP_SEC: float = 1.5
PLANNING_SEC: float = 0.08
"""What planning a few cells takes on a busy machine: some kills come before its commit and some after."""
FULL_SEC: float = 1.0
"""A disk stays full at most so long after somebody noticed."""


class Fault(Protocol):
    """One thing that goes wrong."""

    def strike(self, batch: Batch) -> bool:
        """Do it now; False where it hit nobody."""
        ...

    def aftermath(self, batch: Batch) -> None:
        """Wait for what it should have caused, and fail if it caused something else."""
        ...


class KillWorker:
    """kill -9 of a run at work: its attempts end as ``lease_lost``, or had ended, before the next fault comes."""

    def strike(self, batch: Batch) -> bool:
        found = batch.at_work()
        if not found:
            return False
        run = batch.rng.choice(found)
        batch.tell(f"kill worker {run.process.pid}")
        run.kill()
        return run.process.returncode == -signal.SIGKILL

    def aftermath(self, batch: Batch) -> None:
        """Whoever lives or is started next ends them."""


class KillStartup:
    """kill -9 of a run on its way up, anywhere in its imports, the server's start, planning and first claims."""

    def strike(self, batch: Batch) -> bool:
        role = batch.rng.choice(batch.roles)
        run = role.start()
        batch.pause(STARTUP_SEC)
        batch.tell(f"kill starting {run.process.pid}")
        run.kill()
        return run.process.returncode == -signal.SIGKILL

    def aftermath(self, batch: Batch) -> None:
        """Nothing is half planned: each look sees to that."""


class KillPlanner:
    """kill -9 of ``run`` inside its planning transaction: the run set is there whole, or not at all.

    The plan lock is held here until the run waits for it, so the kill falls into the transaction and not beside it.
    """

    def strike(self, batch: Batch) -> bool:
        name, file = self._plan(batch)
        wait = text("""
            SELECT count(*) FROM pg_locks mine JOIN pg_locks other USING (locktype, classid, objid, objsubid)
            WHERE mine.pid = pg_backend_pid() AND mine.locktype = 'advisory' AND NOT other.granted""")
        lock = text("SELECT pg_advisory_xact_lock(hashtextextended('proctor.plan.' || :tenant, 0))")
        with batch.home.database() as database, database.tenant(TENANT) as connection:
            connection.execute(lock, {"tenant": str(TENANT)})
            run = batch.home.start("run", str(file))
            batch.wait_for(lambda: connection.execute(wait).scalar_one() or not run.alive, "a planner")
        batch.pause(PLANNING_SEC)
        run.kill()
        planning = "cells queued" not in run.printed
        batch.tell(f"kill planner {run.process.pid} of {name}{'' if planning else ', too late'}")
        return planning and run.process.returncode == -signal.SIGKILL

    def aftermath(self, batch: Batch) -> None:
        name, _ = batch.plans[-1]
        found = batch.sql("SELECT id FROM proctor.run_set WHERE name = :name", name=name)
        batch.tell(f"{name} is {'planned' if found else 'not planned'}")

    def _plan(self, batch: Batch) -> tuple[str, Path]:
        """A file of its own, a new one once the last is planned."""
        planned = "SELECT id FROM proctor.run_set WHERE name = :name"
        if not batch.plans or batch.sql(planned, name=batch.plans[-1][0]):
            name = f"plan-{len(batch.plans) + 1}"
            head, _, _ = RUN_SET.partition('[[profiles]]\nname = "slow"')
            file = batch.home.folder / f"{name}.toml"
            source = head.format(trials=1).replace('name = "chaos"', f'name = "{name}"\nreuse = "off"', 1)
            file.write_text(source + "[execution]\nconcurrency = 4\n")
            batch.plans.append((name, file))
        return batch.plans[-1]


class _KillProcess:
    """kill -9 of one process that is looked for when it strikes."""

    name: str

    def find(self, batch: Batch) -> Sequence[psutil.Process]:
        raise NotImplementedError

    def strike(self, batch: Batch) -> bool:
        deadline = time.monotonic() + 2.0
        while time.monotonic() < deadline:
            batch.home.open_sandboxes()
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                if found := self.find(batch):
                    self._victim = batch.rng.choice(found)
                    batch.tell(f"kill {self.name} {self._victim.pid}")
                    self._victim.kill()  # compares the start time: never another's
                    return True
        return False

    def aftermath(self, batch: Batch) -> None:
        batch.wait_for(lambda: not _lives(self._victim), f"the end of {self.name}")


class KillBubblewrap(_KillProcess):
    """The program around a sandbox: its attempt ends as ``sandbox_error`` and is tried again."""

    name = "bubblewrap"

    def find(self, batch: Batch) -> Sequence[psutil.Process]:
        return _bubblewraps(batch)


class KillSandbox(_KillProcess):
    """A sandbox's first process."""

    name = "sandbox"

    def find(self, batch: Batch) -> Sequence[psutil.Process]:
        return [inner for outer in _bubblewraps(batch) for inner in outer.children()]


class KillPostmaster(_KillProcess):
    """The server itself: its keeper starts it again."""

    name = "postmaster"

    def find(self, batch: Batch) -> Sequence[psutil.Process]:
        return _postmasters(batch)


class KillBackend(_KillProcess):
    """One process of the server: it ends all others and recovers."""

    name = "backend"

    def find(self, batch: Batch) -> Sequence[psutil.Process]:
        return [child for process in _postmasters(batch) for child in process.children()]


class KillKeeper(_KillProcess):
    """The process above the server: the kernel tells the server to shut down; runs start both again."""

    name = "keeper"

    def find(self, batch: Batch) -> Sequence[psutil.Process]:
        parents = [process.parent() for process in _postmasters(batch)]
        return [parent for parent in parents if parent is not None and parent.pid != 1]


class Zombie:
    """SIGSTOP of a worker until others ended its attempts, then SIGCONT: nothing it writes is taken."""

    def strike(self, batch: Batch) -> bool:
        found = batch.at_work()
        if not found:
            return False
        self._run = batch.rng.choice(found)
        role = batch.role_of(self._run)
        if len(role.living) < 2:
            role.start()
        self._run.signal(signal.SIGSTOP)
        try:
            return self._sleep(batch)
        finally:
            self._run.signal(signal.SIGCONT)

    def _sleep(self, batch: Batch) -> bool:
        worker = batch.worker_of(self._run)
        rows = batch.sql("SELECT id FROM proctor.attempt WHERE worker_id = :w AND ended_at IS NULL", w=worker)
        self._lost = [row.id for row in rows]
        if not self._lost:
            return False
        batch.tell(f"stop {self._run.process.pid} with {len(self._lost)} attempts")
        batch.wait_for(lambda: self._ended(batch) == len(self._lost), "the end of a sleeper's attempts")
        batch.pause()
        self._before = self._stored(batch)
        batch.tell(f"wake {self._run.process.pid}")
        return True

    def _ended(self, batch: Batch) -> int:
        query = "SELECT count(*) AS rows FROM proctor.attempt WHERE id = ANY(:ids) AND ended_at IS NOT NULL"
        return int(batch.sql(query, ids=self._lost)[0].rows)

    def _stored(self, batch: Batch) -> list[Any]:
        """All that is said of the attempts, but for where the sleeper's cells have got to since."""
        query = """SELECT a::text, ARRAY(SELECT e::text FROM proctor.evidence e WHERE e.attempt_id = a.id ORDER BY 1),
                ARRAY(SELECT o::text FROM proctor.outcome o WHERE o.attempt_id = a.id ORDER BY 1),
                ARRAY(SELECT g::text FROM proctor.grading g WHERE g.attempt_id = a.id ORDER BY 1),
                ARRAY(SELECT l::text FROM proctor.ledger l WHERE l.attempt_id = a.id ORDER BY 1),
                ARRAY(SELECT r::text FROM proctor.result r WHERE r.attempt_id = a.id ORDER BY 1)
            FROM proctor.attempt a WHERE a.id = ANY(:ids) ORDER BY a.id"""
        return [tuple(row) for row in batch.sql(query, ids=self._lost)]

    def aftermath(self, batch: Batch) -> None:
        words = ("lease.lost", "attempts.discarded")
        batch.wait_for(
            lambda: any(word in self._run.printed for word in words) or not self._run.alive,
            "a sleeper that notices what it lost",
        )
        outcomes = batch.sql("SELECT class FROM proctor.outcome WHERE attempt_id = ANY(:ids)", ids=self._lost)
        assert {row[0] for row in outcomes} == {"lease_lost"}, outcomes
        assert self._stored(batch) == self._before


class Clock:
    """A worker whose clock is an hour off, one way or the other, in the place of one that is killed.

    Leases go by the database's clock, so nothing of its or of others' work is lost for it.
    """

    def strike(self, batch: Batch) -> bool:
        role = batch.rng.choice(batch.roles)
        for run in role.living:
            run.kill()
        offset = batch.rng.choice(("+1h", "-1h"))
        run = role.start(_faketime(offset))
        batch.tell(f"clock {offset} of {run.process.pid}")
        batch.wait_for(lambda: not run.alive or run in role.at_work, "a worker with a wrong clock")
        worker = batch.wait_for(lambda: batch.worker_of(run) or not run.alive, "its registration")
        off = """SELECT count(*) AS rows FROM proctor.attempt a JOIN proctor.evidence e ON e.attempt_id = a.id
            WHERE a.worker_id = :w AND abs(extract(epoch FROM e.started_at - a.started_at)) BETWEEN 3000 AND 4200"""
        if isinstance(worker, bool):
            return False
        batch.wait_for(lambda: batch.sql(off, w=worker)[0].rows or not run.alive, "evidence with a wrong time")
        return bool(batch.sql(off, w=worker)[0].rows)

    def aftermath(self, batch: Batch) -> None:
        """It works on among the others."""


class FullObjects:
    """No room in the object store: attempts end as the infrastructure's fault and are tried again."""

    def strike(self, batch: Batch) -> bool:
        disk = batch.home.object_disk
        assert disk is not None
        query = "SELECT count(*) AS rows FROM proctor.evidence WHERE detail->>'exception' = 'ObjectStoreFull'"
        before = batch.sql(query)[0].rows
        batch.tell("the object store is full")
        deadline = time.monotonic() + 20.0
        try:
            while batch.sql(query)[0].rows == before:
                if time.monotonic() > deadline or not batch.at_work():
                    return False
                disk.fill()
                time.sleep(0.1)
            batch.pause(FULL_SEC / 2)
        finally:
            disk.empty()
        return True

    def aftermath(self, batch: Batch) -> None:
        """No attempt is the agent's failure for it: each look sees to that."""


class FullDisk:
    """No room on the data disk, the database's too, until the server has said so."""

    def strike(self, batch: Batch) -> bool:
        disk, log = batch.home.disk, batch.home.data / "postgres" / "server.log"
        assert disk is not None
        offset = log.stat().st_size
        batch.tell("the data disk is full")
        deadline = time.monotonic() + 20.0
        try:
            while not self._noticed(batch, log, offset):
                if time.monotonic() > deadline:
                    return False
                disk.fill()
                self._ask_for_room(batch)
            batch.pause(FULL_SEC)
        finally:
            disk.empty()
        return True

    @staticmethod
    def _ask_for_room(batch: Batch) -> None:
        """In a transaction that is taken back: with logs and pages to spare the server may need no more for minutes."""
        rows = """INSERT INTO proctor.event (tenant_id, id, name, subject, trace_id, payload)
                  SELECT :tenant, gen_random_uuid(), 'chaos', gen_random_uuid(), 'chaos', to_jsonb(random()::text)
                  FROM generate_series(1, 20000)"""
        with (
            suppress(ProctorError, DBAPIError),
            batch.home.database() as database,
            database.tenant(TENANT) as connection,
        ):
            connection.execute(text(rows), {"tenant": TENANT})
            connection.rollback()

    @staticmethod
    def _noticed(batch: Batch, log: Path, offset: int) -> bool:
        with log.open("rb") as file:
            file.seek(offset)
            said = file.read().decode(errors="replace")
        return says_disk_full(said) or not batch.home.living

    def aftermath(self, batch: Batch) -> None:
        """The next look reads a database that recovered."""


class _Disturb:
    """The program's settler does something twice, once it is told to."""

    kind: str

    def strike(self, batch: Batch) -> bool:
        control, told = batch.home.control, batch.home.control / "done.jsonl"
        before = len(told.read_text().splitlines()) if told.exists() else 0
        (control / self.kind).touch()
        deadline = time.monotonic() + 10.0
        while time.monotonic() < deadline:
            lines = told.read_text().splitlines()[before:] if told.exists() else []
            said = [json.loads(line) for line in lines]
            if found := next((one for one in said if one["kind"] == self.kind), None):
                batch.tell(f"{self.kind}: {found}")
                return self.check(found)
            time.sleep(0.02)
        (control / self.kind).unlink(missing_ok=True)
        return False

    def check(self, said: Mapping[str, int]) -> bool:
        raise NotImplementedError

    def aftermath(self, batch: Batch) -> None:
        """Nothing was added and nothing changed: each look sees to that."""


class SettledTwice(_Disturb):
    """The same finished attempts are recorded twice: the second time nothing is written."""

    kind = "twice"

    def check(self, said: Mapping[str, int]) -> bool:
        assert said["again"] == 0, said
        return said["first"] > 0


class UnknownCommit(_Disturb):
    """A commit succeeds and its answer is lost: the work is repeated, found done, and counted once."""

    kind = "unknown"

    def check(self, said: Mapping[str, int]) -> bool:
        assert said["found"] <= said["asked"], said
        return said["found"] > 0


FAULTS: Mapping[str, type[Fault]] = {
    "worker": KillWorker,
    "startup": KillStartup,
    "planner": KillPlanner,
    "sandbox": KillSandbox,
    "bubblewrap": KillBubblewrap,
    "postmaster": KillPostmaster,
    "backend": KillBackend,
    "keeper": KillKeeper,
    "zombie": Zombie,
    "clock": Clock,
    "full-objects": FullObjects,
    "full-disk": FullDisk,
    "settled-twice": SettledTwice,
    "unknown-commit": UnknownCommit,
}

SHARES: Mapping[str, int] = {
    "worker": 15, "startup": 9, "planner": 8, "sandbox": 6, "bubblewrap": 6, "postmaster": 8, "backend": 10,
    "keeper": 8, "zombie": 7, "clock": 5, "full-objects": 5, "full-disk": 4, "settled-twice": 5, "unknown-commit": 4,
}  # fmt: skip
"""Of a hundred faults; those that take long come seldom."""


def impossible() -> dict[str, str]:
    """Kinds that can't be had on this machine, and why."""
    found: dict[str, str] = {}
    if reason := can_mount():
        found |= {"full-objects": reason, "full-disk": reason}
    if not _library():
        found["clock"] = "libfaketime is not installed: apt-get install libfaketime"
    return found


def deck(number: int, rng: random.Random, without: Mapping[str, str]) -> list[str]:
    """So many faults by their shares, shuffled; every kind is among the first fourteen dealt."""
    kinds = {kind: share for kind, share in SHARES.items() if kind not in without}
    dealt: dict[str, int] = dict.fromkeys(kinds, 0)
    for _ in range(number):
        neediest = min(kinds, key=lambda kind: (dealt[kind] > 0, dealt[kind] / kinds[kind]))
        dealt[neediest] += 1
    cards = [kind for kind, count in dealt.items() for _ in range(count)]
    rng.shuffle(cards)
    return cards


def _library() -> str:
    found = glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    return found[0] if found else ""


def _faketime(offset: str) -> dict[str, str]:
    """Only the time of day is off: timeouts go by the monotonic clock, and files have the kernel's times."""
    return {
        "LD_PRELOAD": _library(),
        "FAKETIME": offset,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
        "PYTHONPATH": str(Path(__file__).with_name("wrong_clock")),
    }


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _children(run: Run) -> list[psutil.Process]:
    try:
        return psutil.Process(run.process.pid).children()
    except psutil.NoSuchProcess:
        return []


def _bubblewraps(batch: Batch) -> list[psutil.Process]:
    return [child for run in batch.home.living for child in _children(run) if child.name() == "bwrap"]


def _postmasters(batch: Batch) -> list[psutil.Process]:
    pid = batch.home.server.status().pid
    return [psutil.Process(pid)] if pid and os.path.exists(f"/proc/{pid}") else []
