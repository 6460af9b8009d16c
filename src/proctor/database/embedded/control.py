"""Starting a keeper, waiting for its server to answer, and stopping it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
from sqlalchemy.engine import URL

from proctor.database.embedded import keeper
from proctor.database.embedded.account import Account
from proctor.database.embedded.errors import DiskFull, ServerElsewhere, StartFailed, StopFailed
from proctor.database.embedded.folder import Folder, KeeperId

__all__ = ["check_place", "connect", "launch", "postmaster", "stop", "wait_until_it_answers"]

NO_PROGRESS_SEC: float = 60.0
"""How long a starting server may neither write to its log nor read nor write a byte."""
STOP_SEC: float = 100.0
"""Longer than the keeper's own patience, after which it kills."""
ANSWER_POLL_SEC: float = 0.01
PROGRESS_POLL_SEC: float = 1.0


def launch(folder: Folder, command: list[str], sockets: Path, who: Account | None) -> None:
    """Start a keeper in the background. It holds its lock and has named itself when this returns."""
    plan = {
        "folder": str(folder.path),
        "command": command,
        "sockets": str(sockets),
        "uid": who.uid if who else None,
        "gid": who.gid if who else None,
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", keeper.__file__, json.dumps(plan)],
        env={},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        kind = DiskFull if "No space left on device" in said else StartFailed
        raise kind(f"The keeper did not start: {said[-500:]}", where=str(folder.log))


def check_place(living: KeeperId, folder: Folder) -> None:
    """Refuse a server whose pids and socket belong to another container, mount or machine."""
    if living.place != keeper.place():
        raise ServerElsewhere(
            f"Its keeper is pid {living.pid} of another container or machine.", where=str(folder.path)
        )
    if not Path(folder.read("sockets")).is_dir():
        raise ServerElsewhere(f"Its socket folder {folder.read('sockets')} is not to be seen.", where=str(folder.path))


def wait_until_it_answers(folder: Folder, superuser: URL) -> None:
    """Until a real connection succeeds; as long as recovery shows progress, and no longer than its keeper lives."""
    seen, progress_at = (0, 0), time.monotonic()
    while True:
        try:
            connect(superuser).close()
            return
        except psycopg.OperationalError as error:
            refusal = str(error).strip()
        named = folder.keeper_named()
        if named is None or not named.alive():
            raise _start_failure(folder, refusal)
        now = time.monotonic()
        if now - progress_at > PROGRESS_POLL_SEC and (moved := _progress(folder, named)) != seen:
            seen, progress_at = moved, now
        if now - progress_at > NO_PROGRESS_SEC:
            raise StartFailed(f"No progress for {NO_PROGRESS_SEC:.0f} s: {refusal}", where=str(folder.log))
        time.sleep(ANSWER_POLL_SEC)


def connect(url: URL) -> psycopg.Connection:
    """One connection outside every pool, in autocommit mode."""
    return psycopg.connect(
        host=str(url.query["host"]),
        user=url.username,
        password=url.password,
        dbname=url.database,
        autocommit=True,
        connect_timeout=10,
    )


def stop(folder: Folder, named: KeeperId) -> None:
    """Under the lock: tell the keeper to stop its server, and wait until both are gone."""
    check = folder.keeper
    try:
        process = os.pidfd_open(named.pid)
    except ProcessLookupError:
        process = -1
    try:
        if process >= 0 and named.alive():
            signal.pidfd_send_signal(process, signal.SIGTERM)
            select.select([process], [], [], STOP_SEC)
    finally:
        if process >= 0:
            os.close(process)
    if check() is not None:
        raise StopFailed(f"Its keeper is pid {named.pid}.", where=str(folder.log))


def postmaster(named: KeeperId) -> int | None:
    """The server's pid: the keeper's only child."""
    try:
        return next((child.pid for child in psutil.Process(named.pid).children()), None)
    except psutil.NoSuchProcess:
        return None


def _progress(folder: Folder, named: KeeperId) -> tuple[int, int]:
    """Something that changes while the server works: its log's size, and the bytes it read and wrote."""
    moved = 0
    try:
        for process in psutil.Process(named.pid).children(recursive=True):
            counters = process.io_counters()
            moved += counters.read_chars + counters.write_chars
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        pass  # a process that just ended is progress too: the sum differs
    return folder.log_size(), moved


def _start_failure(folder: Folder, refusal: str) -> StartFailed:
    tail = folder.log_tail().strip().splitlines()[-40:]
    fatal = [line for line in tail if "FATAL:" in line or "PANIC:" in line] or tail[-3:] or [refusal]
    kind = DiskFull if any("No space left on device" in line for line in tail) else StartFailed
    return kind(" ".join(fatal[-3:]), where=str(folder.log))
