"""What is written beside each sandbox so that any later process can tell whose it is and remove it."""

from __future__ import annotations

import json
import os
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

import psutil

from proctor.sandboxes.interfaces import Labels

__all__ = [
    "RECORD",
    "Record",
    "is_running",
    "kill_keeper",
    "made_by_owner",
    "read_record",
    "started_at",
    "write_record",
]

RECORD = "labels.json"
"""Its name: the first file of a sandbox's folder to be there and the last to go."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One sandbox's labels, and its keeper (host pid and start in clock ticks) once it runs."""

    labels: Labels
    maker: str
    """The process that started it, as ``pid:ticks``; it may still be starting without a keeper."""
    keeper: str | None = None


def write_record(folder: Path, record: Record) -> None:
    """Write it whole or not at all."""
    labels = record.labels
    text = json.dumps(
        {
            "tenant": str(labels.tenant),
            "run_set": str(labels.run_set),
            "attempt": str(labels.attempt),
            "owner": labels.owner,
            "expires_at": labels.expires_at.isoformat(),
            "maker": record.maker,
            "keeper": record.keeper,
        }
    )
    draft = folder / f"{RECORD}.new"
    draft.write_text(text)
    draft.chmod(0o600)
    draft.rename(folder / RECORD)


def read_record(folder: Path) -> Record | None:
    """``None`` where there is none or it can't be read."""
    try:
        raw = json.loads((folder / RECORD).read_text())
        labels = Labels(
            tenant=UUID(raw["tenant"]),
            run_set=UUID(raw["run_set"]),
            attempt=UUID(raw["attempt"]),
            owner=raw["owner"],
            expires_at=datetime.fromisoformat(raw["expires_at"]),
        )
        return Record(labels=labels, maker=raw["maker"], keeper=raw["keeper"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def started_at(pid: int) -> str | None:
    """``pid:ticks`` of a living process: two processes never share it until the machine restarts."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else f"{pid}:{fields[19]}"


def is_running(process: str | None) -> bool:
    """Whether the process ``pid:ticks`` is that one still."""
    return process is not None and started_at(int(process.partition(":")[0])) == process


def made_by_owner(record: Record) -> bool:
    """Whether the owner is the process that started it, whose start is known in ticks: when the machine's clock is
    set, a living owner's start by the wall clock seems another."""
    host, _, process = record.labels.owner.partition(":")
    return host == socket.gethostname() and process.partition(":")[0] == record.maker.partition(":")[0]


def kill_keeper(record: Record) -> None:
    """Kill a sandbox's first process, and with it all of them, if it is that process still. Waits for it."""
    if not is_running(record.keeper):
        return
    pid = int((record.keeper or "").partition(":")[0])
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            if is_running(record.keeper):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                psutil.wait_procs([psutil.Process(pid)], timeout=10)
        except psutil.NoSuchProcess:
            return
        finally:
            os.close(handle)
