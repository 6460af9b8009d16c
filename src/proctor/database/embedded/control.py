"""Starting a keeper, waiting for its server to answer, and stopping it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
from sqlalchemy.engine import URL

from proctor.database.embedded import keeper
from proctor.database.embedded.account import Account
from proctor.database.embedded.errors import DiskFull, ServerElsewhere, StartFailed, StopFailed, says_disk_full
from proctor.database.embedded.folder import Folder, KeeperId

__all__ = [
    "ANSWER_POLL_SEC",
    "ENDING_SEC",
    "answers",
    "check_place",
    "connect",
    "launch",
    "postmaster",
    "start_failure",
    "stop",
]

NO_PROGRESS_SEC: float = 60.0
"""How long a starting server may neither write to its log nor read nor write a byte."""
STOP_SEC: float = 100.0
"""Longer than the keeper's own patience, after which it kills."""
FINAL: tuple[str, ...] = ("authentication failed", "does not exist", "no pg_hba.conf entry", "ermission denied")
"""Refusals that waiting does not change; a server that starts or crashes has many other ways to say no."""
ENDING_SEC: float = 5.0
"""A keeper whose server has ended takes milliseconds to end itself; a busy machine may stretch that."""
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
        start_new_session=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        kind = DiskFull if says_disk_full(said) else StartFailed
        raise kind(f"The keeper did not start: {said[-500:]}", where=str(folder.log))


def check_place(living: KeeperId, folder: Folder) -> None:
    """Refuse a server whose pids and socket belong to another container, mount or machine.

    A keeper on its way out has removed the socket folder too; it is waited for.
    """
    if living.place != keeper.place(str(folder.path)):
        raise ServerElsewhere(
            f"Its keeper is pid {living.pid} of another container, mount or machine.", where=str(folder.path)
        )
    deadline = time.monotonic() + ENDING_SEC
    while living.alive() and not Path(folder.read("sockets")).is_dir():
        if time.monotonic() > deadline:
            raise ServerElsewhere(
                f"Its socket folder {folder.read('sockets')} is not to be seen.", where=str(folder.path)
            )
        time.sleep(ANSWER_POLL_SEC)


def answers(folder: Folder, superuser: URL) -> bool:
    """Wait until a real connection succeeds, as long as recovery shows progress. False: the keeper ended before."""
    seen, progress_at, refusal = (0, 0), time.monotonic(), "it never said that it was ready"
    while True:
        named = folder.keeper_named()
        lives = named is not None and named.alive()
        if folder.postmaster_state() == "ready" and (refusal := _refusal(folder, superuser)) == "":
            return True
        if named is None or not lives:
            return False
        now = time.monotonic()
        if now - progress_at > PROGRESS_POLL_SEC and (moved := _progress(folder, named)) != seen:
            seen, progress_at = moved, now
        if now - progress_at > NO_PROGRESS_SEC:
            raise StartFailed(f"No progress for {NO_PROGRESS_SEC:.0f} s: {refusal}", where=str(folder.log))
        time.sleep(ANSWER_POLL_SEC)


def _refusal(folder: Folder, superuser: URL) -> str:
    """Why a connection failed, if that may still change; nothing when one succeeded."""
    try:
        connect(superuser).close()
    except psycopg.OperationalError as error:
        refusal = str(error).strip()
        if any(words in refusal for words in FINAL):
            raise StartFailed(refusal, where=str(folder.log)) from error
        return refusal
    return ""


def connect(url: URL) -> psycopg.Connection:
    """One connection outside every pool, in autocommit mode."""
    return psycopg.connect(
        host=str(url.query["host"]),
        user=url.username,
        password=url.password,
        dbname=url.database,
        port=int(str(url.query["port"])),
        autocommit=True,
        connect_timeout=10,
    )


def stop(folder: Folder, living: KeeperId | None) -> bool:
    """Under the lock: have the keeper stop its server, and wait until all are gone. False when none was there.

    A server whose keeper was killed is on its way down by itself, and is waited for all the same.
    """
    if living is None and folder.server_gone():
        return False
    deadline = time.monotonic() + STOP_SEC
    if living is not None:
        _terminate(living)
    while folder.keeper() or not folder.server_gone():
        if time.monotonic() > deadline:
            raise StopFailed(where=str(folder.log))
        time.sleep(ANSWER_POLL_SEC)
    return True


def _terminate(living: KeeperId) -> None:
    """Signal that very process; its start time is compared first, and pids are not reused within microseconds."""
    with suppress(ProcessLookupError):
        if living.alive():
            os.kill(living.pid, signal.SIGTERM)


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


def start_failure(folder: Folder, offset: int) -> StartFailed:
    """The reason that the server's log gives for its end, from ``offset`` on."""
    tail = folder.log_since(offset).strip().splitlines()[-40:]
    fatal = [line for line in tail if "FATAL:" in line or "PANIC:" in line] or tail[-3:]
    kind = DiskFull if says_disk_full("\n".join(tail)) else StartFailed
    return kind(" ".join(fatal[-3:]), where=str(folder.log))
