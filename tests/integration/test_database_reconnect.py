"""Work that is safe to repeat is repeated when its connection breaks, and only then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from proctor.database import engine as engines
from proctor.database.engine import Database
from proctor.database.errors import DatabaseUnavailable
from proctor.kernel.ids import new_id
from tests.conftest import Urls

pytestmark = pytest.mark.database

KILL_TRIES: int = 5
"""The killer's own connection may be dropped too, where a flaky proxy is in between."""


def kill(url: URL, pid: int) -> None:
    """End a backend of the same role, which any role may do on any server."""
    for _ in range(KILL_TRIES):
        try:
            plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
            with psycopg.connect(plain, autocommit=True) as connection:
                connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
                return
        except psycopg.OperationalError:
            continue
    raise AssertionError("the backend could not be ended")


class Fragile:
    """Work whose connection is killed in mid-transaction, the first ``times``."""

    def __init__(self, url: URL, tenant: UUID, times: int, *, before: bool) -> None:
        self._url, self._tenant, self._left, self._before, self.calls = url, tenant, times, before, 0

    def __call__(self, connection: Connection) -> str:
        self.calls += 1
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        if not self._before:
            self._write(connection)
        if self._left:
            self._left -= 1
            kill(self._url, pid)
        if self._before:
            self._write(connection)
        return "done"

    def _write(self, connection: Connection) -> None:
        insert = "INSERT INTO proctor.queue_lane (tenant_id, kind, provider) VALUES (:tenant, 'cell', 'fragile')"
        connection.execute(text(insert), {"tenant": self._tenant})


@pytest.mark.parametrize("before", [True, False], ids=["between-statements", "before-commit"])
@pytest.mark.parametrize("role", ["tenant", "scheduler"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_killed_connection_is_replaced_and_the_work_done_once(
    database: Database, urls: Urls, role: str, times: int, before: bool
) -> None:
    tenant = new_id()
    work = Fragile(urls.app if role == "tenant" else urls.scheduler, tenant, times, before=before)
    run: Callable[[Fragile], str] = (
        (lambda w: database.as_tenant(tenant, w)) if role == "tenant" else database.as_scheduler
    )
    assert run(work) == "done"
    assert work.calls > times
    count = text("SELECT count(*) FROM proctor.queue_lane")
    assert database.as_tenant(tenant, lambda c: c.execute(count).scalar_one()) == 1


def test_idle_connections_that_were_killed_are_noticed_before_use(database: Database, urls: Urls) -> None:
    tenant = new_id()
    pid = database.as_tenant(tenant, lambda c: int(c.execute(text("SELECT pg_backend_pid()")).scalar_one()))
    kill(urls.app, pid)
    calls = 0

    def work(connection: Connection) -> int:
        nonlocal calls
        calls += 1
        return int(connection.execute(text("SELECT 1")).scalar_one())

    assert database.as_tenant(tenant, work) == 1
    assert calls >= 1


def test_an_interrupt_while_a_connection_is_looked_at_stays_an_interrupt(
    urls: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, tenant = Database(urls.app, urls.scheduler), new_id()  # a pool in which nobody has killed anything
    database.as_tenant(tenant, lambda c: c.execute(text("SELECT 1")))  # one is in the pool
    execute = psycopg.Cursor.execute

    def interrupted(self: psycopg.Cursor, query: str, *more: object, **options: object) -> object:
        if query != ";":
            return execute(self, query, *more, **options)
        self.connection.pgconn.send_query(b"SELECT pg_sleep(2)")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(engines, "RESTED_SEC", 0.0)
        patch.setattr(psycopg.Cursor, "execute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            database.as_tenant(tenant, lambda c: c.execute(text("SELECT 1")))
    assert database.as_tenant(tenant, lambda c: c.execute(text("SELECT 2")).scalar_one()) == 2
    database.close()


@pytest.fixture
def away(urls: Urls, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A database that nobody answers for, and little patience."""
    monkeypatch.setattr(engines, "RECONNECT_SEC", 0.3)
    nowhere = URL.create("postgresql+psycopg", username="proctor_app", host="127.0.0.1", port=1, database="proctor")
    database = Database(nowhere, nowhere)
    yield database
    database.close()


def test_a_server_that_stays_away_is_given_up_in_time(away: Database) -> None:
    start = time.monotonic()
    with pytest.raises(DatabaseUnavailable) as caught:
        away.as_scheduler(lambda c: c.execute(text("SELECT 1")))
    assert caught.value.code == "database-unavailable"
    assert "doctor" in caught.value.remedy
    assert time.monotonic() - start < 10


def test_a_connection_that_breaks_every_time_is_given_up(urls: Urls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "RECONNECT_SEC", 0.5)
    database = Database(urls.app, urls.scheduler)
    tenant = new_id()
    work = Fragile(urls.app, tenant, 1000, before=True)
    with pytest.raises(DatabaseUnavailable):
        database.as_tenant(tenant, work)
    assert work.calls > 1
    database.close()


@pytest.mark.parametrize(
    "statement", ["SELECT 1/0", "SELECT nothing", "INSERT INTO proctor.queue_lane VALUES (NULL)", "nonsense"]
)
def test_an_error_of_the_statement_is_raised_at_once(database: Database, statement: str) -> None:
    calls = 0

    def work(connection: Connection) -> None:
        nonlocal calls
        calls += 1
        connection.execute(text(statement)).all()

    with pytest.raises(DBAPIError):
        database.as_tenant(new_id(), work)
    assert calls == 1


def test_a_statement_that_takes_too_long_is_not_tried_again(database: Database) -> None:
    calls = 0

    def work(connection: Connection) -> None:
        nonlocal calls
        calls += 1
        connection.execute(text("SET LOCAL statement_timeout = 20"))
        connection.execute(text("SELECT pg_sleep(5)"))

    with pytest.raises(DBAPIError, match="statement timeout"):
        database.as_tenant(new_id(), work)
    assert calls == 1


def test_what_the_work_itself_raises_passes_through(database: Database) -> None:
    calls = 0

    def work(_connection: Connection) -> None:
        nonlocal calls
        calls += 1
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        database.as_scheduler(work)
    assert calls == 1


def test_the_loser_of_a_deadlock_tries_again(database: Database) -> None:
    tenant = new_id()
    insert = "INSERT INTO proctor.queue_lane (tenant_id, kind, provider) VALUES (:t, 'cell', 'a'), (:t, 'cell', 'b')"
    database.as_tenant(tenant, lambda c: c.execute(text(insert), {"t": tenant}) and None)
    meet = threading.Barrier(2)
    calls: list[str] = []

    def lock(connection: Connection, provider: str) -> None:
        select = text("SELECT FROM proctor.queue_lane WHERE provider = :p FOR UPDATE")
        connection.execute(select, {"p": provider})

    def work(connection: Connection, first: str, second: str) -> None:
        connection.execute(text("SET LOCAL lock_timeout = '20s'"))
        lock(connection, first)
        calls.append(first)
        if calls.count(first) == 1:
            meet.wait(30)
        lock(connection, second)

    threads = [
        threading.Thread(target=lambda pair=pair: database.as_tenant(tenant, lambda c: work(c, *pair)))  # type: ignore[misc]
        for pair in ("ab", "ba")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(calls) == 3
