"""Gates: what several lanes wait for together, a registry or a provider's limit, and the node of a worker."""

from __future__ import annotations

from uuid import UUID

import pytest
from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.queue import service as queue
from tests.integration.test_queue_order import KIND, Tenant, change, claim

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue")]


@pytest.fixture
def one(database: Database) -> Tenant:
    return Tenant(database)


def test_lanes_of_one_provider_share_its_limit(database: Database, one: Tenant) -> None:
    one.many(5, provider="lane/p + registry/a", gates=("p", "registry/a"))
    one.many(5, provider="lane/p + registry/b", gates=("p", "registry/b"))
    one.many(3, provider="p")
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "p", max_running=4))
    assert len(claim(database, 20)) == 4
    assert claim(database, 20) == []


def test_a_closed_registry_closes_its_lanes_and_no_other(database: Database, one: Tenant) -> None:
    one.many(5, provider="lane/p + registry/a", gates=("p", "registry/a"))
    one.many(5, provider="lane/p + registry/b", gates=("p", "registry/b"))
    one.many(5, provider="lane/q + registry/a", gates=("q", "registry/a"))
    fail(database, one, "registry/a")
    assert {row.provider for row in claim(database, 20)} == {"lane/p + registry/b"}
    change(database, "UPDATE proctor.queue_lane SET closed_until = now() WHERE failures > 0")
    assert len(claim(database, 20)) == 1
    assert claim(database, 20) == []
    database.as_tenant(one.id, lambda c: queue.lanes_worked(c, one.id, KIND, {"registry/a": None}))
    assert len(claim(database, 20)) == 9


def test_what_a_full_gate_holds_back_takes_nobody_elses_place(database: Database, one: Tenant) -> None:
    """The rows of the narrow lanes come first in the order, and more of them than the batch is long."""
    for lane in "abcdefgh":
        one.many(5, provider=f"lane/{lane}", gates=("p",), expected_sec=100)
    one.many(9, provider="q", expected_sec=1)
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "p", max_running=1))
    claimed = [row.provider for _ in range(3) for row in claim(database, 8)]
    assert claimed.count("q") == 9
    assert len(claimed) == 10


def test_a_probe_waits_for_no_row_from_before_the_breaker_opened(database: Database, one: Tenant) -> None:
    one.many(3, provider="p")
    (before,) = claim(database, 1)
    fail(database, one, "p")
    change(database, "UPDATE proctor.queue_lane SET closed_until = now()")
    (probe,) = claim(database, 9)
    worked = lambda token: database.as_tenant(  # noqa: E731
        one.id, lambda c: queue.lanes_worked(c, one.id, KIND, {"p": token})
    )
    assert not worked(before.token)
    assert claim(database, 9) == []
    assert worked(probe.token)
    assert not worked(probe.token)
    assert len(claim(database, 9)) == 1


def test_starts_are_spread_over_the_minute(database: Database, one: Tenant) -> None:
    one.many(100, provider="lane/p + x", gates=("p",))
    one.many(100, provider="p")
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "p", max_running=None, per_minute=2))
    assert [len(claim(database, 50)), len(claim(database, 50))] == [1, 0]
    for passed, due in (("30 s", 1), ("20 s", 0), ("15 s", 1), ("1 h", 1)):
        change(database, f"UPDATE proctor.queue_lane SET next_start = next_start - interval '{passed}'")
        assert len(claim(database, 50)) == due, passed
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "p", max_running=None, per_minute=120))
    change(database, "UPDATE proctor.queue_lane SET next_start = next_start - interval '1 h'")
    assert len(claim(database, 50)) == 2, "of 120 a minute, two are due at once"


def test_a_provider_that_limited_our_rate_gets_two_at_once_for_a_while(database: Database, one: Tenant) -> None:
    one.many(20, provider="p")
    fail(database, one, "p", careful=True)
    change(database, "UPDATE proctor.queue_lane SET closed_until = now()")
    (probe,) = claim(database, 9)
    database.as_tenant(one.id, lambda c: queue.lanes_worked(c, one.id, KIND, {"p": probe.token}))
    assert len(claim(database, 9)) == 1
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "p", max_running=5))
    assert len(claim(database, 9)) == 3  # who says what it bears is believed
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "p", max_running=None))
    change(database, "UPDATE proctor.queue_lane SET careful_until = careful_until - interval '11 min'")
    assert len(claim(database, 9)) == 9


def test_a_node_that_fails_claims_nothing_while_others_do(database: Database, one: Tenant) -> None:
    one.many(20, provider="p")
    workers = {}
    for host in ("one/pid:[1]", "one/pid:[2]", "two/pid:[1]"):
        workers[host] = new_id()
        _register(database, workers[host], host)
    fail(database, one, "node/one")
    assert claim(database, 5, worker=workers["one/pid:[1]"]) == []
    assert len(claim(database, 5, worker=workers["two/pid:[1]"])) == 5
    change(database, "UPDATE proctor.queue_lane SET closed_until = now() WHERE failures > 0")
    assert len(claim(database, 5, worker=workers["one/pid:[1]"])) == 1
    assert claim(database, 5, worker=workers["one/pid:[2]"]) == []
    assert len(claim(database, 5, worker=workers["two/pid:[1]"])) == 5


def test_no_tenants_failures_close_anything_of_anothers(database: Database, one: Tenant) -> None:
    two, worker = Tenant(database), new_id()
    _register(database, worker, "one/pid:[1]")
    for tenant in (one, two):
        tenant.many(3, provider="lane/p + registry/a", gates=("p", "registry/a"))
    for key in ("p", "registry/a", "node/one"):
        fail(database, one, key)
    assert {row.tenant_id for row in claim(database, 9, worker=worker)} == {two.id}


def test_a_suspect_waits_for_its_gates_too(database: Database, one: Tenant) -> None:
    one.many(1, provider="lane/p", gates=("p", "registry/a"))
    change(database, "UPDATE proctor.queue_item SET losses = 2")
    fail(database, one, "registry/a")
    assert claim(database, 5) == []
    database.as_tenant(one.id, lambda c: queue.open_lane(c, one.id, KIND, "registry/a"))
    assert len(claim(database, 5)) == 1


def test_what_rows_wait_for_is_told_with_counts(database: Database, one: Tenant) -> None:
    one.many(2, provider="lane/p + a", gates=("p", "registry/a"))
    fail(database, one, "registry/a")
    fail(database, one, "registry/a")
    fail(database, one, "registry/b")
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "p", max_running=0))
    full, closed = database.as_tenant(one.id, lambda c: queue.blocked(c, one.id, KIND, one.holder))
    assert (full.key, full.until, full.most) == ("p", None, 0)
    assert (closed.key, closed.failures, closed.counts) == ("registry/a", 1, {"image_error": 2})
    assert closed.until is not None
    assert database.as_tenant(one.id, lambda c: queue.blocked(c, one.id, KIND, new_id())) == []


def test_what_runs_from_a_lane_with_nothing_left_to_serve_still_counts(database: Database, one: Tenant) -> None:
    one.many(2, provider="lane/p + registry/a", gates=("p", "registry/a"))
    assert len(claim(database, 5)) == 2
    one.many(5, provider="lane/p + registry/b", gates=("p", "registry/b"))
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "p", max_running=3))
    assert len(claim(database, 5)) == 1


def test_lanes_without_a_row_of_any_state_go_with_their_limits(database: Database, one: Tenant) -> None:
    states = ("pending", "waiting", "paused", "dead")
    one.many(1, provider="lane/p + limit/gone", gates=("p", "limit/gone"))
    for state in states:
        one.many(1, provider=f"lane/p + limit/{state}", gates=("p", f"limit/{state}"))
        change(database, "UPDATE proctor.queue_item SET state = :to WHERE provider LIKE '%' || :to", to=state)
    change(database, "DELETE FROM proctor.queue_item WHERE provider LIKE '%gone'")
    database.as_tenant(one.id, lambda c: queue.drop_lanes(c, one.id, KIND))
    left = {lane.provider for lane in database.as_tenant(one.id, lambda c: queue.lanes(c, one.id, KIND))}
    assert left == {"p", *(f"{kind}limit/{state}" for kind in ("", "lane/p + ") for state in states)}


def test_a_lane_that_rows_are_being_queued_in_stays(database: Database, one: Tenant) -> None:
    one.many(1, provider="lane/p + x", gates=("p", "x"))
    change(database, "DELETE FROM proctor.queue_item")

    def queue_one(connection: Connection) -> None:
        item = queue.Item(id=new_id(), provider="lane/p + x", gates=("p", "x"))
        queue.enqueue(connection, one.id, KIND, [item], holder=one.holder)
        database.as_tenant(one.id, lambda c: queue.drop_lanes(c, one.id, KIND))

    database.as_tenant(one.id, queue_one)
    assert len(claim(database, 5)) == 1


def fail(database: Database, tenant: Tenant, key: str, *, careful: bool = False) -> None:
    database.as_tenant(
        tenant.id,
        lambda c: queue.lane_failed(c, tenant.id, KIND, key, reason="image_error", retry_after=None, careful=careful),
    )


def _register(database: Database, worker: UUID, host: str) -> None:
    change(
        database,
        "INSERT INTO proctor.worker (id, host, boot_id, pid, process_started, slots) VALUES (:id, :host, '', 1, 1, 4)",
        id=worker,
        host=host,
    )
