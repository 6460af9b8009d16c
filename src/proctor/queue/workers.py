"""Workers as the database knows them: a local one's death is read off its pid and start time, at once."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

import psutil
from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.kernel.ids import new_id

__all__ = ["WorkerIdentity", "dead_local_workers", "forget", "living", "register", "unwanted"]

_run = partial(run_query, "proctor.queue")

_PROC = Path("/proc/self/stat")
HEARD_OF_SEC: float = 120.0
"""A worker tells several times a minute that it lives."""


@dataclass(frozen=True, kw_only=True)
class WorkerIdentity:
    """Which process a worker is, so that a reused pid is never taken for it."""

    id: UUID
    host: str
    boot_id: str
    pid: int
    process_started: int
    """Clock ticks since boot; the wall clock may be set, and then a living process would seem another."""
    owner: str
    """``host:pid:start-time``, as sandbox labels carry it."""

    @property
    def node(self) -> str:
        """The machine: what fails on it fails in all its containers."""
        return self.host.partition("/")[0]

    @classmethod
    def of_this_process(cls) -> WorkerIdentity:
        """A new worker identity for the calling process."""
        process = psutil.Process()
        return cls(
            id=new_id(),
            host=_host(),
            boot_id=_boot_id(),
            pid=process.pid,
            process_started=_started(process.pid) or 0,
            owner=f"{socket.gethostname()}:{process.pid}:{process.create_time():.2f}",
        )


def register(connection: Connection, identity: WorkerIdentity, *, slots: int) -> None:
    """Make a worker known before it claims."""
    fields = {"pid": identity.pid, "process_started": identity.process_started, "slots": slots}
    place = {"host": identity.host, "boot_id": identity.boot_id}
    _run(connection, "register_worker", worker=identity.id, **place, **fields)


def forget(connection: Connection, workers: Sequence[UUID]) -> None:
    """Drop those workers that hold nothing any more, and any that nobody heard of for a day."""
    _run(connection, "forget_worker", workers=list(workers))


def dead_local_workers(connection: Connection) -> list[UUID]:
    """Workers of this host whose process is gone, or that lived before its last boot."""
    here = {"host": _host(), "boot_id": _boot_id()}
    rows = _run(connection, "local_workers", **here).all()
    gone = [row.id for row in rows if _started(row.pid) != row.process_started]
    return gone + [row.id for row in _run(connection, "rebooted_workers", **here)]


def living(connection: Connection) -> frozenset[tuple[str, int]]:
    """Machine and pid of the workers that were heard of in the last minutes, on whichever machine."""
    return frozenset((row.node, row.pid) for row in _run(connection, "living_workers", within=HEARD_OF_SEC))


def _started(pid: int) -> int | None:
    """When a process began, in clock ticks since boot; ``None`` if it ended, though nobody waited for it yet."""
    stat = Path(f"/proc/{pid}/stat")
    if not _PROC.exists():
        return _started_by_wall_clock(pid)
    try:
        fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


def _started_by_wall_clock(pid: int) -> int | None:
    """Where there is no ``/proc``: whole seconds."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else int(process.create_time())
    except psutil.NoSuchProcess:
        return None


def _host(namespaces: Path = Path("/proc/self/ns/pid")) -> str:
    """The machine as its pids are counted: two containers may share a host name and a kernel, but no pids."""
    name = socket.gethostname()
    return f"{name}/{namespaces.readlink()}" if namespaces.is_symlink() else name


def _boot_id() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip() if path.exists() else str(psutil.boot_time())


def unwanted(connection: Connection, worker_id: UUID, tokens: Sequence[int]) -> set[int]:
    """Of a worker's claims those whose every holder was cancelled since."""
    return {row.token for row in _run(connection, "unwanted", worker=worker_id, tokens=list(tokens))}
