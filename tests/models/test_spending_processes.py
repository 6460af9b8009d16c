"""Several processes spend from one budget, some are killed: it is never exceeded, and nothing of it is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import text

from proctor.database.engine import Database
from proctor.models.spending.reconciling import reconcile
from tests.conftest import Urls
from tests.models.spending import books

pytestmark = pytest.mark.database

PROCESSES = 5
AT_ONCE = 200
LIMIT = 3_000_000_000
LARGE = 4 * LIMIT
"""Enough for all to be at work while some are killed."""


def start(
    urls: Urls, tenant: UUID, folder: Path, *, seed: str, calls: int, limit: int = LIMIT
) -> subprocess.Popen[bytes]:
    spec = {
        "app": urls.app.render_as_string(hide_password=False),
        "scheduler": urls.scheduler.render_as_string(hide_password=False),
        "tenant": str(tenant),
        "folder": str(folder / "journals"),
        "notes": str(folder / "notes"),
        "seed": seed,
        "calls": calls,
        "at_once": AT_ONCE,
        "limit": limit,
    }
    return subprocess.Popen([sys.executable, "-m", "tests.models.spending_program", json.dumps(spec)])


@contextmanager
def watched(database: Database, tenant: UUID) -> Iterator[list[int]]:
    """Look at the books all the time; the highest sums of what is spent and held that were seen."""
    over, seen = threading.Event(), [0]

    def watch() -> None:
        while not over.is_set():
            now = books(database, tenant)
            seen.append(now.spent.get("tenant", 0) + now.held.get("tenant", 0))
            assert now.spent.get("tenant", 0) == now.ledger == now.charged
            assert now.held.get("tenant", 0) == now.slices

    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            watch()
        except BaseException as error:  # noqa: BLE001  told by the test
            failed.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
    assert not failed, failed


def break_connections(urls: Urls) -> None:
    """Of every process, in the middle of whatever it does: as a database does that is started anew."""
    plain = urls.app.set(drivername="postgresql").render_as_string(hide_password=False)
    others = "FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()"
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) {others}")


def settled(folder: Path) -> dict[str, int]:
    lines = (folder / "notes").read_text().splitlines()
    return {line.split()[0]: int(line.split()[1]) for line in lines}


def written(database: Database, tenant: UUID) -> dict[str, int]:
    with database.tenant(tenant) as connection:
        rows = connection.execute(text("SELECT id::text, charged_nano FROM proctor.model_call"))
        return {row[0]: row[1] for row in rows}


def test_a_thousand_calls_at_once_never_exceed_a_budget(
    urls: Urls, database: Database, tenant: UUID, tmp_path: Path
) -> None:
    seed = os.environ.get("PROCTOR_TEST_SEED", "1")
    print(f"seed {seed}")
    with watched(database, tenant) as seen:
        started = time.monotonic()
        children = [start(urls, tenant, tmp_path, seed=f"{seed}.{number}", calls=2000) for number in range(PROCESSES)]
        assert [child.wait(90) for child in children] == [0] * PROCESSES
        took = time.monotonic() - started
    now = books(database, tenant)
    print(f"{now.calls} calls in {took:.1f} s; {len(seen)} looks; {now.spent} of {LIMIT}")
    assert max(seen) <= LIMIT
    assert now.spent["tenant"] == now.ledger == now.charged <= LIMIT
    assert now.held["tenant"] == now.slices == 0
    assert settled(tmp_path) == written(database, tenant)
    assert now.spent["tenant"] > LIMIT - 2_000_000, "room for the dearest call was not left unused"
    assert list((tmp_path / "journals").iterdir()) == []


def test_killed_processes_and_broken_connections_lose_no_call_and_exceed_no_budget(
    urls: Urls, database: Database, tenant: UUID, tmp_path: Path
) -> None:
    seed = os.environ.get("PROCTOR_TEST_SEED", "1")
    print(f"seed {seed}")
    chance = random.Random(seed)
    with watched(database, tenant) as seen:
        living: list[subprocess.Popen[bytes]] = []
        for number in range(PROCESSES):
            living.append(start(urls, tenant, tmp_path, seed=f"{seed}.{number}", calls=100_000, limit=LARGE))
        killed = 0
        for number in range(6):
            time.sleep(chance.uniform(0.3, 1.2))
            victim = living.pop(chance.randrange(len(living)))
            killed += victim.poll() is None
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            break_connections(urls)
            if number % 2:
                reconcile(database, tmp_path / "journals")
            living.append(start(urls, tenant, tmp_path, seed=f"{seed}.again.{number}", calls=100_000, limit=LARGE))
        assert [child.wait(90) for child in living] == [0] * len(living)
        found = reconcile(database, tmp_path / "journals")
    now = books(database, tenant)
    print(f"{now.calls} calls; {killed} killed; {len(seen)} looks; {now.spent} of {LARGE}; at last {found}")
    assert killed
    assert max(seen) <= LARGE
    assert now.spent["tenant"] == now.ledger == now.charged <= LARGE
    assert now.held["tenant"] == now.slices == 0
    kept = written(database, tenant)
    assert settled(tmp_path).items() <= kept.items()
    assert list((tmp_path / "journals").iterdir()) == []
    assert reconcile(database, tmp_path / "journals") == []
