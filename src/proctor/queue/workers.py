"""Workers as the database knows them: a local one's death is read off its pid and start time, at once."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psutil
from sqlalchemy import Connection

from proctor.database.queries import load_queries
from proctor.kernel.ids import new_id

__all__ = ["WorkerIdentity", "dead_local_workers", "forget", "register"]

_SAME_START_SEC: float = 0.05
"""Process start times are read in clock ticks; two readings of one process agree to less than this."""


@dataclass(frozen=True, kw_only=True)
class WorkerIdentity:
    """Which process a worker is, so that a reused pid is never taken for it."""

    id: UUID
    host: str
    boot_id: str
    pid: int
    process_started: float

    @classmethod
    def of_this_process(cls) -> WorkerIdentity:
        """A new worker identity for the calling process."""
        process = psutil.Process()
        return cls(
            id=new_id(),
            host=socket.gethostname(),
            boot_id=_boot_id(),
            pid=process.pid,
            process_started=process.create_time(),
        )

    @property
    def owner(self) -> str:
        """``host:pid:start-time``, as sandbox labels carry it."""
        return f"{self.host}:{self.pid}:{self.process_started:.2f}"


def register(connection: Connection, identity: WorkerIdentity, *, slots: int) -> None:
    """Make a worker known before it claims."""
    queries = load_queries("proctor.queue")
    connection.execute(
        queries["register_worker"],
        {
            "worker": identity.id,
            "host": identity.host,
            "boot_id": identity.boot_id,
            "pid": identity.pid,
            "process_started": identity.process_started,
            "slots": slots,
        },
    )


def forget(connection: Connection, workers: Sequence[UUID]) -> None:
    """Drop workers that hold nothing any more."""
    connection.execute(load_queries("proctor.queue")["forget_worker"], {"workers": list(workers)})


def dead_local_workers(connection: Connection) -> list[UUID]:
    """Workers of this host whose process is gone, or that lived before its last boot."""
    queries = load_queries("proctor.queue")
    here = {"host": socket.gethostname(), "boot_id": _boot_id()}
    rows = connection.execute(queries["local_workers"], here).all()
    gone = [row.id for row in rows if not _runs(row.pid, row.process_started)]
    return gone + [row.id for row in connection.execute(queries["rebooted_workers"], here)]


def _runs(pid: int, process_started: float) -> bool:
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - process_started) < _SAME_START_SEC
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _boot_id() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip() if path.exists() else str(psutil.boot_time())
