"""The outbox: what a relay may publish, in which order, and that a late commit is never skipped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, create_engine, text

from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.notifications import outbox
from proctor.notifications.outbox import Event
from tests.conftest import Urls

pytestmark = pytest.mark.database


@pytest.fixture
def empty(urls: Urls) -> None:
    engine = create_engine(urls.owner)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE proctor.event"))
    engine.dispose()


@pytest.fixture
def app(urls: Urls, empty: None) -> Iterator[Engine]:
    engine = create_engine(urls.app)
    yield engine
    engine.dispose()


def emit(connection: Connection, tenant: UUID, name: str, *, identity: UUID | None = None) -> None:
    Database.set_tenant(connection, tenant)
    insert = (
        "INSERT INTO proctor.event (tenant_id, id, name, subject, trace_id, payload)"
        " VALUES (:tenant, :id, :name, :id, 'trace', '{\"n\": 1}') ON CONFLICT DO NOTHING"
    )
    connection.execute(text(insert), {"tenant": tenant, "id": identity or new_id(), "name": name})


def publish(database: Database, limit: int = 100) -> list[Event]:
    """A relay's turn: what it published."""
    with database.apart() as connection:
        before = outbox.newest(connection)
        count = outbox.publish(connection, limit)
        events = outbox.published(connection, before, 1_000)
    assert len(events) == count
    return events


def names(events: list[Event]) -> list[str]:
    return [event.name for event in events]


def test_events_of_all_tenants_come_in_the_order_of_their_positions(database: Database, app: Engine) -> None:
    one, two = new_id(), new_id()
    for tenant, name in ((one, "a"), (two, "b"), (one, "c")):
        with app.begin() as connection:
            emit(connection, tenant, name)
            emit(connection, tenant, f"{name}-more")
    first, rest = publish(database, 2), publish(database)
    assert (names(first), names(rest)) == (["a", "a-more"], ["b", "b-more", "c", "c-more"])
    assert {event.tenant_id for event in [*first, *rest]} == {one, two}
    assert first[0].payload == {"n": 1}
    assert publish(database) == []


def test_readers_see_what_is_published_and_a_tenant_its_own(database: Database, app: Engine) -> None:
    one, two = new_id(), new_id()
    for tenant, name in ((one, "a"), (two, "b"), (one, "c")):
        with app.begin() as connection:
            emit(connection, tenant, name)
    assert database.as_tenant(one, lambda c: outbox.newest_of(c, one)) is None
    a, b, c = publish(database)
    with database.tenant(one) as connection:
        assert outbox.published_of(connection, one, 0, 10) == [a, c]
        assert outbox.published_of(connection, one, a.position, 10) == [c]
        assert outbox.newest_of(connection, one) == (c.position, c.id, c.created_at)
        assert outbox.position_of(connection, one, a.id) == a.position
        assert outbox.position_of(connection, one, b.id) is None
        assert outbox.published_of(connection, two, 0, 10) == []
        assert outbox.published(connection, 0, 10) == [a, c], "without a policy of its own"


def test_one_relay_at_a_time(database: Database) -> None:
    with database.apart() as second:
        with database.apart() as first:
            assert outbox.lead(first)
            assert not outbox.lead(second)
        deadline = time.monotonic() + 10
        while not outbox.lead(second):  # a server lets the lock go when it has seen the connection's end
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_late_commit_holds_back_what_began_after_it_and_is_not_skipped(database: Database, app: Engine) -> None:
    tenant = new_id()
    with app.begin() as connection:
        emit(connection, tenant, "early")
    with app.connect() as slow:
        emit(slow, tenant, "slow")
        with app.begin() as connection:
            emit(connection, tenant, "fast")
        assert names(publish(database)) == ["early"]
        assert publish(database) == []
        slow.commit()
    assert names(publish(database)) == ["slow", "fast"]


def test_a_rolled_back_change_has_no_event(database: Database, app: Engine) -> None:
    tenant = new_id()
    with app.connect() as connection:
        emit(connection, tenant, "undone")
        connection.rollback()
    with app.begin() as connection:
        emit(connection, tenant, "done")
    assert names(publish(database)) == ["done"]


def test_a_position_passed_never_gets_another_event(database: Database, app: Engine) -> None:
    """Whatever the order of begins and commits: what is published later stands above what was published."""

    @settings(
        derandomize=True,
        max_examples=25,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["emit", "emit", "commit", "relay"])), max_size=25))
    def run(steps: list[tuple[int, str]]) -> None:
        _interleave(database, app, steps)

    run()


def _interleave(database: Database, app: Engine, steps: list[tuple[int, str]]) -> None:
    connections = [app.connect() for _ in range(3)]
    tenant, sent, emitted = new_id(), list[Event](), 0
    for number, step in [*steps, *((number, "commit") for number in range(3)), (0, "relay")]:
        if step == "emit":
            emit(connections[number], tenant, "event")
            emitted += 1
        elif step == "commit":
            connections[number].commit()
        else:
            sent += publish(database, 3 if number else 100)
    assert [event.position for event in sent] == sorted({event.position for event in sent})
    assert len(sent) == emitted
    for connection in connections:
        connection.close()


def test_the_same_event_is_written_once(database: Database, app: Engine) -> None:
    tenant, identity = new_id(), new_id()
    for _ in range(2):
        with app.begin() as connection:
            emit(connection, tenant, "once", identity=identity)
    assert [event.id for event in publish(database)] == [identity]


def test_a_relay_that_dies_in_its_turn_has_published_nothing(database: Database, app: Engine) -> None:
    with app.begin() as connection:
        emit(connection, new_id(), "again")
    with database.scheduler() as connection:
        assert outbox.publish(connection, 100) == 1
        connection.rollback()
    assert names(publish(database)) == ["again"]


def test_events_from_before_a_restore_are_published_too(database: Database, app: Engine, urls: Urls) -> None:
    """A restored server counts transactions anew: theirs have numbers that it will not come to for long."""
    tenant = new_id()
    with app.begin() as connection:
        Database.set_tenant(connection, tenant)
        insert = (
            "INSERT INTO proctor.event (tenant_id, id, name, subject, trace_id, payload, txid)"
            " VALUES (:t, :t, 'restored', :t, '', '{}', pg_current_xact_id()::text::bigint + 1000000000)"
        )
        connection.execute(text(insert), {"t": tenant})
    assert names(publish(database)) == ["restored"]


def test_published_events_are_pruned_by_age_and_no_others(database: Database, app: Engine) -> None:
    tenant = new_id()
    for name in ("old", "new", "unpublished"):
        with app.begin() as connection:
            emit(connection, tenant, name)
    published = publish(database, 2)
    age = text("UPDATE proctor.event SET published_at = now() - interval '8 days' WHERE name = 'old'")
    database.as_scheduler(lambda c: c.execute(age) and None)
    assert database.as_scheduler(outbox.prune) == 1
    assert database.as_scheduler(outbox.prune) == 0
    assert database.as_scheduler(lambda c: outbox.prune(c, age_sec=0)) <= 1
    assert names(publish(database)) == ["unpublished"]
    with database.tenant(tenant) as connection:
        assert outbox.position_of(connection, tenant, published[0].id) is None


@pytest.mark.parametrize("statement", ["DELETE FROM proctor.event", "UPDATE proctor.event SET published_at = now()"])
def test_a_tenant_can_neither_hide_nor_remove_its_events(database: Database, empty: None, statement: str) -> None:
    work: Callable[[Connection], object] = lambda c: c.execute(text(statement))  # noqa: E731
    with pytest.raises(Exception, match="permission denied"):
        database.as_tenant(new_id(), work)


def test_even_the_relay_removes_no_unpublished_event(database: Database, app: Engine) -> None:
    with app.begin() as connection:
        emit(connection, new_id(), "kept")
    removed = database.as_scheduler(lambda c: c.execute(text("DELETE FROM proctor.event")).rowcount)
    assert removed == 0
    assert names(publish(database)) == ["kept"]
