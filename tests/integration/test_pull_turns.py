"""Turns at a registry over one PostgreSQL: whatever number of workers, whichever tenants, and whoever dies."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from proctor.database.engine import Database
from proctor.engine.pulls import SharedTurns
from proctor.engine.waits import WaitState, wait_of
from proctor.kernel.ids import new_id
from proctor.queue import service as queue
from proctor.sandboxes.docker.fetching import Fetching
from tests.conftest import Urls
from tests.contracts.turns import PullTurnsContract
from tests.integration.test_queue_order import KIND, Tenant, change, claim

pytestmark = [pytest.mark.endurance, pytest.mark.database, pytest.mark.usefixtures("clean_queue")]

EVERY_SEC = 60 / 48
PULLER = """
import asyncio, sys, time, uuid
from sqlalchemy.engine import make_url
from proctor.database.engine import Database
from proctor.engine.pulls import SharedTurns
from proctor.sandboxes.docker.fetching import Fetching

async def pull(tenant):
    database = Database(make_url(sys.argv[1]), make_url(sys.argv[2]))
    fetching = Fetching(turns=SharedTurns(database, uuid.UUID(tenant)))
    while True:
        await fetching.turn("a.example/x:1")
        print(time.time(), flush=True)

asyncio.run(pull(sys.argv[3]))
"""


@pytest.fixture
def one(database: Database) -> Tenant:
    return Tenant(database)


@pytest.fixture
def turns(database: Database, one: Tenant) -> SharedTurns:
    return SharedTurns(database, one.id)


def pass_time(database: Database, seconds: float) -> None:
    for column in ("next_start", "closed_until"):
        change(database, f"UPDATE proctor.queue_lane SET {column} = {column} - make_interval(secs => :s)", s=seconds)


class TestSharedTurns(PullTurnsContract):
    @pytest.fixture(autouse=True)
    def _database(self, database: Database) -> None:
        self.database, self.passed = database, 0.0

    async def later(self, seconds: float) -> None:
        pass_time(self.database, seconds)
        self.passed += seconds

    def now(self) -> float:
        return time.monotonic() + self.passed


@contextmanager
def puller(urls: Urls, tenant: Tenant) -> Iterator[subprocess.Popen[str]]:
    """A process that pulls as fast as it may, and says when."""
    spoken = [url.render_as_string(hide_password=False) for url in (urls.app, urls.scheduler)]
    command = [sys.executable, "-c", PULLER, *spoken, str(tenant.id)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_three_workers_of_two_tenants_share_the_limit(database: Database, urls: Urls, one: Tenant) -> None:
    two, seconds = Tenant(database), 8.0
    with ExitStack() as stack:
        pullers = [stack.enter_context(puller(urls, tenant)) for tenant in (one, one, two)]
        first = [process.stdout.readline() for process in pullers if process.stdout is not None]
        time.sleep(seconds)
        for process in pullers:
            process.kill()
        more = [process.stdout.read() for process in pullers if process.stdout is not None]
    times = sorted(float(word) for word in "".join(first + more).split())
    spent = times[-1] - times[0]
    assert 12 + (seconds - 2) / EVERY_SEC <= len(times) <= 12 + 1 + spent / EVERY_SEC


def test_who_dies_waiting_leaves_no_debt(database: Database, urls: Urls, one: Tenant, turns: SharedTurns) -> None:
    with puller(urls, one) as process:
        assert process.stdout is not None
        for _ in range(12):
            process.stdout.readline()
        time.sleep(0.5)  # now it waits
        process.kill()
    pass_time(database, 60)
    given = [asyncio.run(turns.take("a.example")) for _ in range(13)]
    assert given[:12] == [0] * 12
    assert given[12] > 0


async def test_a_wait_for_a_turn_can_be_given_up(turns: SharedTurns) -> None:
    fetching = Fetching(turns=turns)
    while await turns.take("a.example") == 0:
        pass
    waiting = asyncio.create_task(fetching.turn("a.example/x:1"))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, 2)


async def test_who_waits_is_told_whatever_his_rows_are_doing(
    database: Database, one: Tenant, turns: SharedTurns
) -> None:
    def told() -> list[queue.Blocked]:
        return database.as_tenant(one.id, lambda c: queue.blocked(c, one.id, KIND, one.holder))

    one.many(2, provider="lane/p + registry/a.example", gates=("p", "registry/a.example"))
    one.many(1, provider="lane/p + registry/b.example", gates=("p", "registry/b.example"))
    await turns.take("b.example")
    for _ in range(12):
        await turns.take("a.example")
    assert told() == []  # pulls were made, and nobody waited
    await turns.take("a.example")
    (wait,) = map(wait_of, told())
    assert (wait.scope, wait.name, wait.state, wait.per_minute) == ("pulls", "a.example", WaitState.FULL, 60)
    assert len(claim(database, 9)) == 3  # cells start all the same: their images may be here
    assert len(told()) == 1
    stranger = new_id()
    assert database.as_tenant(one.id, lambda c: queue.blocked(c, one.id, KIND, stranger)) == []
    pass_time(database, 5)
    assert told() == []
