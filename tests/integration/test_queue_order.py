"""The order of service: who is served next, and who has to wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.queue import service as queue
from proctor.queue.service import Band, Claim, Item

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue")]

KIND = "cell"
NAMES = {Band.CRITICAL: "c", Band.HIGH: "h", Band.NORMAL: "n", Band.LOW: "l"}


class Tenant:
    """Queues rows with names, and says which were served."""

    def __init__(self, database: Database) -> None:
        self.database, self.id, self.holder = database, new_id(), new_id()

    def put(self, *items: Item, holder: UUID | None = None) -> None:
        self.database.as_tenant(self.id, lambda c: queue.enqueue(c, self.id, KIND, items, holder=holder or self.holder))

    def many(self, count: int, **fields: object) -> None:
        """Rows that are alike, with these fields of an item."""
        self.put(*(Item(id=new_id(), **fields) for _ in range(count)))  # type: ignore[arg-type]

    def age(self, name: str, wait: str) -> None:
        """Let rows with that payload have waited so long."""
        change(
            self.database,
            "UPDATE proctor.queue_item SET enqueued_at = now() - CAST(:wait AS interval)"
            " WHERE tenant_id = :tenant AND payload = :name",
            wait=wait,
            tenant=self.id,
            name=name,
        )


def named(name: str, **fields: object) -> Item:
    return Item(id=new_id(), payload=name, **fields)  # type: ignore[arg-type]


def change(database: Database, statement: str, **parameters: object) -> None:
    database.as_scheduler(lambda c: c.execute(text(statement), parameters) and None)


def claim(
    database: Database, limit: int, *, worker: UUID | None = None, scope: UUID | None = None, slots: int = 10
) -> list[Claim]:
    return database.as_scheduler(
        lambda c: queue.claim(c, KIND, worker_id=worker or new_id(), limit=limit, slots=slots, scope=scope)
    )


def finish(database: Database, claims: Sequence[Claim]) -> None:
    assert len(database.as_scheduler(lambda c: queue.complete_all(c, KIND, claims))) == len(claims)


def served(claims: Sequence[Claim]) -> str:
    return " ".join(claim.payload for claim in claims)


@pytest.fixture
def one(database: Database) -> Tenant:
    return Tenant(database)


@pytest.fixture
def two(database: Database) -> Tenant:
    return Tenant(database)


# --- inside a tenant --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 4])
def test_bands_are_served_from_critical_to_low(database: Database, one: Tenant, batch: int) -> None:
    """Low has no target wait: it was once taken for overdue, and served as critical."""
    one.put(*(named(NAMES[band], band=band) for band in reversed(Band)))
    assert served([row for _ in range(4 // batch) for row in claim(database, batch)]) == "c h n l"


def test_longest_expected_goes_first_and_then_by_time(database: Database, one: Tenant) -> None:
    one.put(named("short", expected_sec=10), named("long", expected_sec=90))
    one.put(named("also-long", expected_sec=90))
    one.put(named("unknown"))
    change(database, "UPDATE proctor.queue_item SET run_at = now() - interval '1 min' WHERE payload = 'also-long'")
    assert served(claim(database, 9)) == "also-long long short unknown"


def test_rows_past_their_target_wait_are_served_one_band_higher(database: Database, one: Tenant) -> None:
    one.put(named("old-normal"), named("high", band=Band.HIGH, expected_sec=5), named("old-low", band=Band.LOW))
    one.put(named("critical", band=Band.CRITICAL), named("old-high", band=Band.HIGH), named("normal"))
    one.age("old-normal", "8h 1min")
    one.age("old-high", "61min")
    one.age("old-low", "10 days")
    assert served(claim(database, 9)) == "critical old-high high old-normal normal old-low"


def test_the_longest_waiting_are_found_behind_a_full_window(database: Database, one: Tenant) -> None:
    one.many(500, expected_sec=100)
    one.put(named("old", expected_sec=1))
    one.age("old", "9h")
    assert served(claim(database, 1)) == "old"


def test_a_lane_that_outranks_the_others_is_served_beyond_its_window(database: Database, one: Tenant) -> None:
    for number in range(20):
        one.many(30, provider=f"p{number}", expected_sec=1000)
    one.many(90, provider="urgent", band=Band.HIGH)
    assert Counter(row.provider for row in claim(database, 100))["urgent"] == 90


def test_a_row_waits_for_its_time(database: Database, one: Tenant) -> None:
    one.put(named("later", delay=3600))
    assert claim(database, 9) == []
    change(database, "UPDATE proctor.queue_item SET run_at = now() - interval '1 s'")
    assert served(claim(database, 9)) == "later"


def test_nobody_runs_a_row_after_its_deadline(database: Database, one: Tenant) -> None:
    one.put(named("late"), named("late-waiting", delay=60), named("free"))
    change(database, "UPDATE proctor.queue_item SET deadline = now() - interval '1 s' WHERE payload LIKE 'late%'")
    assert served(claim(database, 9)) == "free"
    dead = database.as_tenant(one.id, lambda c: queue.dead_letters(c, one.id, KIND))
    assert [row.reason for row in dead] == ["deadline passed"] * 2


def test_a_scope_takes_what_its_holder_wants_and_nothing_else(database: Database, one: Tenant) -> None:
    other, both = new_id(), named("both")
    one.put(named("mine"), both)
    one.put(named("theirs"), both, holder=other)
    assert sorted(row.payload for row in claim(database, 9, scope=other)) == ["both", "theirs"]
    database.as_tenant(one.id, lambda c: queue.let_go(c, one.id, KIND, one.holder, drop=False))
    assert claim(database, 9, scope=one.holder) == []


# --- among tenants ----------------------------------------------------------------------------------------------------


def test_a_tenant_over_its_quota_is_served_one_band_lower(database: Database, one: Tenant, two: Tenant) -> None:
    one.put(named("demoted-critical", band=Band.CRITICAL), named("demoted-normal"), named("demoted-low", band=Band.LOW))
    two.put(named("high", band=Band.HIGH), named("normal"))
    two.put(named("low", band=Band.LOW))
    database.as_tenant(one.id, lambda c: queue.set_share(c, one.id, KIND, over_quota=True))
    order = [row.payload for row in claim(database, 9)]
    assert order.index("normal") < order.index("demoted-normal")
    assert set(order[:2]) == {"demoted-critical", "high"}
    assert set(order[3:]) == {"demoted-normal", "demoted-low", "low"}


def test_critical_rows_beyond_a_tenants_share_queue_as_high(database: Database, one: Tenant, two: Tenant) -> None:
    one.many(30, band=Band.CRITICAL, expected_sec=60)
    two.many(30, band=Band.HIGH, expected_sec=60)
    first = claim(database, 10, slots=50)
    assert [row.tenant_id for row in first] == [one.id] * 10
    second = claim(database, 10, slots=50)
    assert Counter(row.tenant_id for row in second) == {one.id: 5, two.id: 5}


def test_the_critical_share_is_of_the_slots_of_all_live_workers(database: Database, one: Tenant, two: Tenant) -> None:
    change(
        database,
        "INSERT INTO proctor.worker (id, host, boot_id, pid, process_started, slots, seen_at) VALUES"
        " (gen_random_uuid(), 'elsewhere', '', 1, 1, 80, now()),"
        " (gen_random_uuid(), 'gone', '', 1, 1, 9999, '2020-1-1')",
    )
    one.many(30, band=Band.CRITICAL)
    two.many(30, band=Band.HIGH)
    assert [row.tenant_id for row in claim(database, 20, slots=8)].count(one.id) == 18


@pytest.mark.parametrize(("batch", "claims"), [(1, 400), (7, 115), (100, 16)])
def test_service_is_shared_by_weight(database: Database, batch: int, claims: int) -> None:
    tenants = {Tenant(database): weight for weight in (1.0, 2.0, 5.0)}
    for tenant, weight in tenants.items():
        tenant.many(1200, provider="a")
        database.as_tenant(tenant.id, lambda c, t=tenant, w=weight: queue.set_share(c, t.id, KIND, weight=w))  # type: ignore[misc]
    counts: Counter[UUID] = Counter()
    for _ in range(claims):
        rows = claim(database, batch)
        finish(database, rows)
        counts.update(row.tenant_id for row in rows)
    for tenant, weight in tenants.items():
        assert counts[tenant.id] / counts.total() == pytest.approx(weight / 8, abs=0.02)


def test_service_is_time_and_not_rows(database: Database, one: Tenant, two: Tenant) -> None:
    one.many(400, expected_sec=30)
    two.many(400, expected_sec=10)
    counts = Counter(row.tenant_id for _ in range(10) for row in claim(database, 20))
    assert counts[two.id] == pytest.approx(3 * counts[one.id], rel=0.05)


@pytest.mark.parametrize("running", [True, False], ids=["while-others-run", "after-all-finished"])
def test_a_tenant_that_comes_back_neither_hoards_nor_starves(
    database: Database, one: Tenant, two: Tenant, running: bool
) -> None:
    """Service it did not ask for is not owed to it: it begins where the others are."""
    two.many(1)
    one.many(1000)
    early = [row for _ in range(10) for row in claim(database, 50)]
    if not running:
        finish(database, early)
    two.many(500)
    late = Counter(row.tenant_id for row in claim(database, 100))
    assert late[one.id] == pytest.approx(50, abs=1)


def test_service_in_one_band_costs_nothing_in_another(database: Database, one: Tenant, two: Tenant) -> None:
    one.many(200, band=Band.HIGH)
    assert len(claim(database, 200)) == 200
    one.many(100)
    two.many(100)
    assert Counter(row.tenant_id for row in claim(database, 50)) == {one.id: 25, two.id: 25}


def test_a_scoped_worker_is_no_shared_capacity(database: Database, one: Tenant, two: Tenant) -> None:
    one.many(200)
    assert len(claim(database, 100, scope=one.holder)) == 100
    two.many(100)
    assert Counter(row.tenant_id for row in claim(database, 50)) == {one.id: 25, two.id: 25}


# --- lanes ------------------------------------------------------------------------------------------------------------


def test_a_paused_lane_is_not_served_and_keeps_its_limit(database: Database, one: Tenant) -> None:
    one.many(5, provider="p")
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "p", max_running=2))
    database.as_tenant(one.id, lambda c: queue.pause_lane(c, one.id, KIND, "p", reason="by hand"))
    database.as_tenant(one.id, lambda c: queue.lane_failed(c, one.id, KIND, "p", reason="x", retry_after=None))
    assert claim(database, 9) == []
    (lane,) = database.as_tenant(one.id, lambda c: queue.lanes(c, one.id, KIND))
    assert (lane.paused, lane.reason, lane.max_running, lane.failures) == (True, "by hand", 2, 1)
    database.as_tenant(one.id, lambda c: queue.open_lane(c, one.id, KIND, "p"))
    assert len(claim(database, 9)) == 2
    assert claim(database, 9) == []


def test_a_lane_may_be_paused_before_its_first_row(database: Database, one: Tenant) -> None:
    database.as_tenant(one.id, lambda c: queue.pause_lane(c, one.id, KIND, "p", reason="by hand"))
    one.many(5, provider="p")
    one.many(5, provider="q")
    assert {row.provider for row in claim(database, 9)} == {"q"}


def test_a_breaker_lets_one_probe_through_and_then_closes_or_opens_longer(database: Database, one: Tenant) -> None:
    one.many(5, provider="p")
    fail = lambda: database.as_tenant(  # noqa: E731
        one.id, lambda c: queue.lane_failed(c, one.id, KIND, "p", reason="provider_error", retry_after=None)
    )
    for seconds in (30, 60, 120, 240, 480, 900, 900):
        fail()
        fail()  # one that was already on its way
        assert claim(database, 9) == []
        assert _opens_in(database) == pytest.approx(seconds, abs=5)
        change(database, "UPDATE proctor.queue_lane SET closed_until = now()")
        probe = claim(database, 9)
        assert len(probe) == 1
        assert claim(database, 9) == []
        back = queue.PutBack(id=probe[0].id, token=probe[0].token)
        database.as_tenant(one.id, lambda c, back=back: queue.put_back(c, one.id, KIND, [back]))  # type: ignore[misc]
    database.as_tenant(one.id, lambda c: queue.lanes_worked(c, one.id, KIND, {"p": None}))
    assert len(claim(database, 9)) == 5


def test_retry_after_never_shortens_the_wait(database: Database, one: Tenant) -> None:
    one.many(1, provider="p")
    for retry_after in (600.0, 5.0):
        database.as_tenant(
            one.id,
            lambda c, r=retry_after: queue.lane_failed(c, one.id, KIND, "p", reason="429", retry_after=r),  # type: ignore[misc]
        )
    assert _opens_in(database) == pytest.approx(600, abs=5)


def test_no_room_means_none_even_for_a_probe(database: Database, one: Tenant) -> None:
    one.many(5, provider="p")
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "p", max_running=0))
    change(database, "UPDATE proctor.queue_lane SET failures = 1, closed_until = now()")
    assert claim(database, 9) == []


def _opens_in(database: Database) -> float:
    query = text("SELECT extract(epoch FROM closed_until - now()) FROM proctor.queue_lane")
    return float(database.as_scheduler(lambda c: c.execute(query).scalar_one()))


# --- suspects ---------------------------------------------------------------------------------------------------------


def lose(database: Database, claims: Sequence[Claim]) -> list[queue.Lost]:
    change(
        database,
        "UPDATE proctor.queue_item SET lease_until = now() - interval '1 s' WHERE token = ANY(:tokens)",
        tokens=[claim.token for claim in claims],
    )
    return database.as_scheduler(queue.reap)


def suspect(database: Database, one: Tenant) -> None:
    holder = new_id()
    one.put(named("suspect"), holder=holder)
    for _ in range(2):
        assert len(lose(database, claim(database, 1, scope=holder))) == 1


def test_a_row_lost_twice_runs_alone_and_before_all_others(database: Database, one: Tenant) -> None:
    suspect(database, one)
    one.put(named("critical", band=Band.CRITICAL), named("normal"))
    worker = new_id()
    assert served(claim(database, 9, worker=worker)) == "suspect"
    assert claim(database, 9, worker=worker) == []
    assert served(claim(database, 9)) == "critical normal"


def test_the_third_loss_alone_is_poison(database: Database, one: Tenant) -> None:
    suspect(database, one)
    for alone in range(1, 4):
        (lost,) = lose(database, claim(database, 9))
        assert lost.dead == (alone == 3)
    assert lost.reason == "poison: lost 3 times while alone"
    assert claim(database, 9) == []
    (dead,) = database.as_tenant(one.id, lambda c: queue.dead_letters(c, one.id, KIND))
    assert (dead.payload, dead.losses, dead.picks) == ("suspect", 5, 5)
    assert database.as_tenant(one.id, lambda c: queue.requeue_dead(c, one.id, KIND)) == {dead.id}
    assert served(claim(database, 9)) == "suspect"


def test_a_busy_worker_drains_for_a_suspect_and_only_one_does(database: Database, one: Tenant) -> None:
    """On a fleet that is never idle a suspect would wait for ever."""
    first, second = register(database), register(database)
    one.many(8)
    mine, theirs = claim(database, 2, worker=first), claim(database, 2, worker=second)
    suspect(database, one)
    assert claim(database, 2, worker=first) == []
    assert len(claim(database, 1, worker=second)) == 1
    finish(database, mine)
    assert served(claim(database, 2, worker=first)) == "suspect"
    finish(database, theirs)


def test_an_idle_worker_need_not_wait_for_the_one_that_drains(database: Database, one: Tenant) -> None:
    first = register(database)
    one.many(2)
    assert len(claim(database, 2, worker=first)) == 2
    suspect(database, one)
    assert claim(database, 2, worker=first) == []
    assert served(claim(database, 2)) == "suspect"


def test_the_place_of_a_worker_that_died_while_draining_is_taken(database: Database, one: Tenant) -> None:
    first, second = register(database), register(database)
    one.many(4)
    assert len(claim(database, 1, worker=first)) + len(claim(database, 1, worker=second)) == 2
    suspect(database, one)
    assert claim(database, 1, worker=first) == []
    change(database, "UPDATE proctor.worker SET seen_at = now() - interval '2 min' WHERE id = :id", id=first)
    assert claim(database, 1, worker=second) == []


def test_a_suspect_waits_for_its_lane_too(database: Database, one: Tenant) -> None:
    suspect(database, one)
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "", max_running=0))
    assert claim(database, 9) == []
    database.as_tenant(one.id, lambda c: queue.pause_lane(c, one.id, KIND, "", reason="x"))
    database.as_tenant(one.id, lambda c: queue.limit_lane(c, one.id, KIND, "", max_running=1))
    assert claim(database, 9) == []
    database.as_tenant(one.id, lambda c: queue.open_lane(c, one.id, KIND, ""))
    assert served(claim(database, 9)) == "suspect"


def register(database: Database) -> UUID:
    worker = new_id()
    change(
        database,
        "INSERT INTO proctor.worker (id, host, boot_id, pid, process_started, slots)"
        " VALUES (:id, 'elsewhere', '', 1, 1, 1)",
        id=worker,
    )
    return worker
