"""A data folder of its own, the real command in it, and what is left of it afterwards.

The folder can be passed through by any user (0711), as the sandboxes' own users need where Proctor runs as root.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import psutil
from sqlalchemy import Connection, text

from proctor.database.embedded import EmbeddedServer
from proctor.database.engine import Database
from proctor.kernel.ids import derived_id
from proctor.objects.store import ObjectStore
from proctor.sandboxes.local.cgroups import control_group, leftover
from proctor.sandboxes.local.homes import PREFIX, owner_of
from tests.chaos.disks import Disk, can_mount, mounted

__all__ = ["PROGRAM", "TENANT", "Home", "Run", "fresh_home", "wait_for", "write_suite"]

T = TypeVar("T")

TENANT: UUID = derived_id("tenant", "local")
POLL_SEC: float = 0.01
PROGRAM: Path = Path(__file__).with_name("program.py")
"""``proctor`` with a fake sandbox, known costs, and a settler that can be disturbed."""
DATA_DISK_MB: int = 192
"""A batch ends with 75 MB there; what is left over is memory that a full disk takes."""
OBJECT_DISK_MB: int = 64

TASK: str = """schema_version = "1.4"
[agent]
timeout_sec = 60
[environment]
network_mode = "no-network"
workdir = "/app"
memory_mb = 256
[metadata.proctor]
verification = "{mode}"
"""
VERIFIER: str = '#!/bin/bash\n[ "$(cat /app/answer)" = 42 ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n'

RUN_SET: str = """name = "chaos"
suite = "suite"
trials = {trials}
[policy.resources]
request_storage_mb = 1
[[profiles]]
name = "quick"
agent = "command"
command = "sleep 0.05; echo 42 > answer"
[[profiles]]
name = "slow"
agent = "command"
command = "sleep 0.5; echo 42 > answer"
[[profiles]]
name = "wrong"
agent = "command"
command = "sleep 0.2; echo 41 > answer"
[execution]
concurrency = 4
"""
"""Two profiles that always pass and one that always fails: any other verdict is a lie that a kill made. Their disk is
small, so they ask for next to nothing of it."""


def wait_for(condition: Callable[[], T], within: float, what: str, every: float = POLL_SEC) -> T:
    """The first true answer. Fails when there is none in time: the one place where these tests sleep."""
    deadline = time.monotonic() + within
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within:.0f} s: {what}")
        time.sleep(every)
    return answer


def write_suite(folder: Path, *, tasks: int, malformed: int = 0) -> None:
    """Tasks that want 42 in a file, verified in a snapshot or live, and some that are not TOML."""
    for number in range(tasks + malformed):
        task = folder / f"task-{number:02d}"
        (task / "tests").mkdir(parents=True)
        mode = "live" if number % 4 == 3 else "snapshot"
        (task / "task.toml").write_text(TASK.format(mode=mode) if number < tasks else "[agent")
        (task / "instruction.md").write_text(f"Write 42 into answer, for the {number}th time.\n")
        (task / "tests" / "test.sh").write_text(VERIFIER)


@dataclass(frozen=True)
class Run:
    """One ``proctor`` process and what it printed."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def printed(self) -> str:
        return self.log.read_text(errors="replace")

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait(10)

    def wait(self, within: float) -> int:
        """Its exit code."""
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {within:.0f} s:\n{self.printed[-3000:]}") from None

    def printed_at_end(self, code: int, within: float = 60.0) -> str:
        """What it printed, once it ended with that exit code."""
        assert self.wait(within) == code, self.printed[-3000:]
        return self.printed


@dataclass
class Home:
    """A data folder with a suite and a run-set file in it."""

    folder: Path
    lease_sec: float = 2.0
    runs: list[Run] = field(default_factory=list)
    sandboxes: set[str] = field(default_factory=set)
    disk: Disk | None = None
    """What the data folder is on, where it is a disk of its own."""
    object_disk: Disk | None = None

    @property
    def data(self) -> Path:
        return self.folder / "home"

    @property
    def file(self) -> Path:
        return self.folder / "chaos.toml"

    def write(self, *, tasks: int, malformed: int = 0, trials: int = 1, source: str = RUN_SET) -> None:
        """The suite and the run-set file."""
        write_suite(self.folder / "suite", tasks=tasks, malformed=malformed)
        self.file.write_text(source.format(trials=trials))

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "PROCTOR_HOME": str(self.data),
            "PROCTOR_LEASE_SEC": str(self.lease_sec),
            "PROCTOR_CHAOS_CONTROL": str(self.control),
            "TMPDIR": str(self.folder / "tmp"),
        }

    @staticmethod
    def command(*words: str) -> list[str]:
        return [str(Path(sys.executable).with_name("proctor")), *words]

    @property
    def control(self) -> Path:
        """Where ``PROGRAM`` is told what to do and tells what it did."""
        return self.folder / "control"

    def start(
        self,
        *words: str,
        more: Mapping[str, str] | None = None,
        program: bool = False,
        inside: Sequence[str] = (),
    ) -> Run:
        """Start ``proctor`` with these words, ``run FILE`` without any; ``program``: the one that can be disturbed.

        ``inside``: a command that starts another somewhere else.
        """
        command = self.command(*(words or ("run", str(self.file))))
        log = self.folder / f"run-{len(self.runs):03d}.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*inside, *([sys.executable, str(PROGRAM), *command[1:]] if program else command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env=self.environment | dict(more or {}),
                start_new_session=True,
            )
        self.runs.append(Run(process, log))
        return self.runs[-1]

    @property
    def living(self) -> list[Run]:
        return [run for run in self.runs if run.alive]

    @property
    def server(self) -> EmbeddedServer:
        return EmbeddedServer(self.data / "postgres")

    @contextmanager
    def database(self) -> Iterator[Database]:
        """The data folder's database; its server runs as long."""
        with self.server as urls:
            database = Database(urls.app, urls.scheduler)
            try:
                yield database
            finally:
                database.close()

    def read(self, work: Callable[[Connection], T]) -> T:
        """Read as the data folder's tenant."""
        with self.database() as database:
            return database.as_tenant(TENANT, work)

    def known_workers(self) -> int:
        """Workers that the queue believes in."""
        with self.database() as database:
            return int(
                database.as_scheduler(lambda c: c.execute(text("SELECT count(*) FROM proctor.worker")).scalar_one())
            )

    @property
    def objects(self) -> ObjectStore:
        return ObjectStore(self.data / "objects")

    def open_sandboxes(self) -> list[str]:
        """The sandboxes whose folders are there now; every one seen is remembered."""
        found = [path.name for path in self.data.glob(f"sandboxes/{PREFIX}*")]
        self.sandboxes.update(found)
        return found

    def left_running(self) -> list[str]:
        """Processes of this data folder and of any sandbox seen in it."""
        owners = {owner_of(name) for name in self.sandboxes} - {None}
        return [words for process in psutil.process_iter() if (words := self._ours(process, owners))]

    def _ours(self, process: psutil.Process, owners: set[int | None]) -> str:
        try:
            words = " ".join(process.cmdline())
            mine = str(self.data) in words or process.cwd().startswith(str(self.data))
            mine = mine or process.uids().real in owners
            return f"{process.pid} {words[:200]}" if mine and process.status() != psutil.STATUS_ZOMBIE else ""
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return ""

    def left_behind(self) -> list[str]:
        """Sandbox folders, control groups and scratch folders that nobody removed."""
        groups = [name for name in self.sandboxes if leftover(name)]
        scratch = [str(path) for path in (self.data / "tmp").glob("*")]
        return [*self.open_sandboxes(), *groups, *scratch]


@contextmanager
def fresh_home(*, lease_sec: float = 2.0, disks: bool = False) -> Iterator[Home]:
    """A data folder that goes at the end, and with it whatever still runs in it.

    ``disks``: the data folder and its object store are small disks of their own, where they can be mounted.
    """
    folder = Path(tempfile.mkdtemp(prefix="proctor-chaos-"))
    home = Home(folder, lease_sec=lease_sec)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for path in (folder, home.data):
            path.mkdir(exist_ok=True)
            path.chmod(0o711)
        for path in (home.control, folder / "tmp"):
            path.mkdir()
        if disks and not can_mount():
            home.disk = stack.enter_context(mounted(home.data, DATA_DISK_MB, mode=0o711))
            home.object_disk = stack.enter_context(mounted(home.data / "objects", OBJECT_DISK_MB, mode=0o700))
        stack.callback(_end_all, home)
        yield home


def _end_all(home: Home) -> None:
    """End what a test left, that failed or not."""
    for disk in (home.disk, home.object_disk):
        if disk is not None:
            disk.empty()
    for run in home.living:
        run.kill()
    if home.data.exists():
        home.server.stop()
    for name in home.sandboxes:
        if group := control_group(name):
            group.remove()


def exit_codes(runs: Sequence[Run]) -> list[int]:
    """How each run that has ended did."""
    return [code for run in runs if (code := run.process.poll()) is not None]
