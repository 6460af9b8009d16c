"""Connections that break while a run goes on: no attempt fails for it, none runs twice, nothing is written twice."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

import psutil
import pytest
from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from proctor.database.engine import Database
from proctor.database.errors import DatabaseUnavailable
from proctor.database.upgrade import upgrade
from proctor.sandboxes.fake import FakeBackend, rewards
from proctor.sandboxes.interfaces import Sandbox, SandboxSpec
from tests.bench import Bench, write_tasks
from tests.chaos.invariants import broken, broken_objects, class_counts
from tests.chaos.rig import RUN_SET, TENANT, Home, fresh_home, wait_for
from tests.conftest import Urls
from tests.external.servers import external_server, flaky_proxy, why_not

pytestmark = pytest.mark.endurance

FILE = """
name = "n"
suite = "suite"
trials = 4
[[profiles]]
name = "p"
agent = "noop"
[execution]
concurrency = 4
"""
TASKS, CELLS = 15, 60
TERMINATE = text("""
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usename = current_user AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1""")


class Unhurried(FakeBackend):
    """A fake whose sandboxes take a moment, so that connections break while attempts run."""

    async def create(self, spec: SandboxSpec) -> Sandbox:
        await asyncio.sleep(0.05)
        return await super().create(spec)


def nothing_failed(bench: Bench, cells: int) -> None:
    """One attempt a cell, all of them passed, every rule of the record kept."""
    assert bench.sql("SELECT class, count(*) FROM proctor.outcome GROUP BY 1") == [("passed", cells)]
    assert bench.sql("SELECT count(*), count(DISTINCT cell_id) FROM proctor.attempt") == [(cells, cells)]
    assert bench.engine.read(broken) == []
    assert bench.engine.read(lambda c: broken_objects(c, bench.objects)) == []


# --- connections that are ended from outside ------------------------------------------------------------------------


@contextmanager
def terminator(urls: Urls, seed: int) -> Iterator[list[int]]:
    """Ends one connection of either role, chosen at random, every 20 to 200 ms."""
    ended: list[int] = []
    over = threading.Event()
    chance = random.Random(seed)
    engines = [create_engine(url, poolclass=NullPool) for url in (urls.app, urls.scheduler)]

    def work() -> None:
        while not over.wait(chance.uniform(0.02, 0.2)):
            with suppress(DBAPIError), chance.choice(engines).connect() as connection:
                ended.extend([1] * len(connection.execute(TERMINATE).all()))

    thread = threading.Thread(target=work, name="terminator")
    thread.start()
    try:
        yield ended
    finally:
        over.set()
        thread.join()


@pytest.mark.database
@pytest.mark.slow
def test_backends_that_are_terminated_at_random_fail_no_attempt(bench: Bench, urls: Urls) -> None:
    seed = int(os.environ.get("PROCTOR_TEST_SEED", "1"))
    write_tasks(bench.folder / "suite", TASKS)
    bench.backend = Unhurried(rewards(1.0))
    with terminator(urls, seed) as ended:
        row = bench.run(FILE)
    print(f"seed {seed}: {len(ended)} connections ended")
    assert len(ended) >= 5
    assert row.state == "complete"
    nothing_failed(bench, CELLS)


# --- answers that are lost on the way back ---------------------------------------------------------------------------


class AnswersLost(Database):
    """After every third commit the connection breaks, and nobody learns that it had been one."""

    def __init__(self, app: URL, scheduler: URL) -> None:
        super().__init__(app, scheduler)
        self.commits = 0
        self.lost = 0

    def _lose(self) -> None:
        self.commits += 1
        if self.commits % 3 == 0:
            self.lost += 1
            raise DatabaseUnavailable("the answer was lost")

    @contextmanager
    def tenant(self, tenant_id: UUID) -> Iterator[Connection]:
        with super().tenant(tenant_id) as connection:
            yield connection
        self._lose()

    @contextmanager
    def scheduler(self) -> Iterator[Connection]:
        with super().scheduler() as connection:
            yield connection
        self._lose()


@pytest.mark.database
@pytest.mark.slow
def test_commits_whose_answer_was_lost_are_found_done_when_they_are_repeated(bench: Bench, urls: Urls) -> None:
    write_tasks(bench.folder / "suite", 5)
    forgetful = AnswersLost(urls.app, urls.scheduler)
    lossy = Bench(
        database=forgetful, tenant=bench.tenant, objects=bench.objects, folder=bench.folder, owner=bench.owner
    )
    lossy.backend = Unhurried(rewards(1.0))
    assert lossy.run(FILE).state == "complete"
    forgetful.close()
    assert forgetful.lost >= 5
    assert lossy.settled == {"passed": 20}
    nothing_failed(bench, 20)


# --- the command itself, over a PostgreSQL of one's own ---------------------------------------------------------------


@pytest.fixture
def home() -> Iterator[Home]:
    with fresh_home(lease_sec=20.0) as made:
        yield made


@pytest.mark.slow
def test_a_run_whose_database_was_killed_with_its_keeper_starts_it_again(home: Home) -> None:
    home.write(tasks=4, trials=2)
    run = home.start()
    wait_for(home.open_sandboxes, 60, "a sandbox")
    before = home.server.status().pid
    keeper = psutil.Process(before).parent()
    assert keeper is not None
    keeper.kill()
    assert run.wait(90) == 0
    assert home.read(broken) == []
    assert home.read(class_counts) == {"passed": 16, "failed": 8}


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_run_through_a_proxy_that_drops_connections_has_no_failed_attempt(home: Home) -> None:
    home.write(tasks=4, trials=2, source=RUN_SET)
    with external_server() as server, flaky_proxy(server.port, 1, 1.0, 0.02) as proxy:
        upgrade(server.owner)
        through = server.through(proxy.port)
        settings = {
            "PROCTOR_DATABASE_URL": through.app.render_as_string(hide_password=False),
            "PROCTOR_DATABASE_SCHEDULER_URL": through.scheduler.render_as_string(hide_password=False),
            "PROCTOR_TENANT": "local",
        }
        assert "24 of 24 decided" in home.start(more=settings).printed_at_end(0, 100)
        assert proxy.dropped >= 3
        print(f"proxy: {proxy.accepted} connections, {proxy.dropped} dropped")
        database = Database(server.app, server.scheduler)
        found = _classes(database)
        database.close()
    assert found == {"passed": 16, "failed": 8}
    assert Path(home.data / "postgres").exists() is False


def _classes(database: Database) -> dict[str, int]:

    assert database.as_tenant(TENANT, broken) == []
    return database.as_tenant(TENANT, class_counts)
