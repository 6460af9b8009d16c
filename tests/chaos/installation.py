"""A whole server as separate processes on one PostgreSQL, each started again when it dies, as a supervisor does."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from sqlalchemy import Connection, text

from proctor.database.engine import Database
from proctor.database.upgrade import upgrade
from proctor.identity.audit_log import Actor
from proctor.identity.service import tenant_id
from proctor.identity.setup import found_tenant
from tests.chaos.rig import Home, Run, fresh_home, wait_for

__all__ = ["PATIENCE_SEC", "SLOTS", "Installation", "Process", "Tenant", "installed"]

SECRET = b"a secret of the chaos tests' own, 32 bytes or more"
PROGRAM = Path(__file__).with_name("server_program.py")
PATIENCE_SEC: float = 180.0
"""For any state that must come: the machine may be busy with others."""
SLOTS: int = 3
LOOK_SEC: float = 0.05


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """One of the server's, with its owner's key."""

    id: UUID
    name: str
    key: str


@dataclass
class Process:
    """One role's process, whichever it is now."""

    role: str
    words: tuple[str, ...]
    port: int | None = None
    run: Run | None = None
    starts: int = 0

    @property
    def name(self) -> str:
        return self.role if self.port is None else f"{self.role} {self.port}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def up(self) -> bool:
        """Whether it said that it serves."""
        return self.run is not None and self.run.alive and '"roles"' in self.run.printed


@dataclass
class Installation:
    """Two APIs and one process of every other role."""

    home: Home
    database: Database
    processes: list[Process]
    tenants: list[Tenant]
    unexpected: list[str] = field(default_factory=list)
    """Ends that nobody caused."""
    _killed: set[int] = field(default_factory=set)
    _stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def apis(self) -> list[Process]:
        return [one for one in self.processes if one.port is not None]

    def supervise(self) -> None:
        """Start what does not run, until it is told to stop."""
        while not self._stopping.wait(LOOK_SEC):
            for one in self.processes:
                if one.run is None or not one.run.alive:
                    self._note_end(one)
                    self._start(one)

    def kill(self, process: Process) -> bool:
        """kill -9, if it runs."""
        run = process.run
        if run is None or not run.alive:
            return False
        self._killed.add(run.process.pid)
        run.signal(signal.SIGKILL)
        return True

    def _start(self, process: Process) -> None:
        """``serve`` of that role; only an API has anything to disturb."""
        inside = [sys.executable, str(PROGRAM)] if process.port is not None else []
        more = {"PROCTOR_SERVER_SECRET": SECRET.decode(), "PROCTOR_SERVER_SLOTS": str(SLOTS)}
        process.starts += 1
        process.run = self.home.start("serve", "--json", *process.words, more=more, inside=inside)

    def _note_end(self, process: Process) -> None:
        run = process.run
        if run is not None and run.process.returncode != -signal.SIGKILL:
            said = run.printed[-1500:]
            self.unexpected.append(f"{process.name} ended by itself with {run.process.returncode}: {said}")

    def wait_up(self) -> None:
        """Until every role serves."""
        wait_for(lambda: all(one.up for one in self.processes), PATIENCE_SEC, "every role is up", every=LOOK_SEC)

    def stop(self) -> dict[str, int]:
        """Have every role end as on Ctrl-C; how each ended."""
        self._stopping.set()
        self._supervisor.join()
        self.wait_up()
        for one in self.processes:
            assert one.run is not None
            one.run.signal(signal.SIGTERM)
        return {one.name: one.run.wait(PATIENCE_SEC) for one in self.processes if one.run is not None}

    def begin(self) -> None:
        """Start everything, with its supervisor."""
        self._supervisor = threading.Thread(target=self.supervise, name="supervisor", daemon=True)
        self._supervisor.start()
        self.wait_up()

    def cut_connections(self, share: float) -> int:
        """Terminate about that share of the connections of the server's roles; how many."""
        query = text("""
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE usename = current_user AND pid <> pg_backend_pid() AND backend_type = 'client backend'
              AND application_name IS DISTINCT FROM 'chaos' AND random() < :share""")

        def work(connection: Connection) -> int:
            return int(connection.execute(query, {"share": share}).scalar_one())

        return self.database.as_scheduler(work) + self.database.as_tenant(self.tenants[0].id, work)

    def starts(self) -> Counter[str]:
        """How often each role was started."""
        found: Counter[str] = Counter()
        for one in self.processes:
            found[one.role] += one.starts
        return found


@contextmanager
def installed(tenants: tuple[str, ...]) -> Iterator[Installation]:
    """A server with these tenants, at work; it is ended with the block, however that ends."""
    with fresh_home(lease_sec=3.0) as home, home.server as urls:
        upgrade(urls.owner)
        database = Database(urls.app, urls.scheduler)
        others = [Process(role, ("--roles", role)) for role in ("relay", "planner", "worker", "operations")]
        apis = [Process("api", ("--roles", "api", "--port", str(port)), port=port) for port in _free_ports(2)]
        made = Installation(home, database, [*apis, *others], [_tenant(database, name) for name in tenants])
        try:
            made.begin()
            yield made
        finally:
            made._stopping.set()
            time.sleep(2 * LOOK_SEC)
            for run in home.living:
                run.signal(signal.SIGCONT)
                run.kill()
            database.close()


def _tenant(database: Database, name: str) -> Tenant:
    owner = f"owner@{name}.example"
    founded = database.as_tenant(tenant_id(name), lambda c: found_tenant(c, SECRET, Actor(), name=name, owner=owner))
    return Tenant(id=founded.tenant, name=name, key=founded.issued.secret)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports
