"""Bands, target waits and shares on a fleet that is never idle: the real queue, with hours played in seconds."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from uuid import UUID

import pytest

from proctor.database.engine import Database
from proctor.headroom import Need
from proctor.kernel.ids import new_id
from proctor.queue import service as queue
from proctor.queue.service import Band, Claim, Item
from tests.integration.test_queue_headroom import node, worker
from tests.integration.test_queue_order import KIND, Tenant, change, finish

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue")]

STEP_SEC = 600
"""What every cell takes: at each step all slots are free again."""
SLOTS = 5
WORKERS = 2


class Fleet:
    """Two workers of one machine, and a clock that its rows' waiting is measured by."""

    def __init__(self, database: Database) -> None:
        self.database, self.now, self.workers = database, 0, [worker(database) for _ in range(WORKERS)]
        self.queued: dict[UUID, int] = {}
        self.waits: dict[str, list[int]] = defaultdict(list)
        self.served: Counter[UUID] = Counter()

    def put(self, tenant: Tenant, band: Band, count: int, need: Need | None = None) -> None:
        items = [
            Item(id=new_id(), band=band, payload=band.name, expected_sec=STEP_SEC, need=need) for _ in range(count)
        ]
        tenant.put(*items)
        self.queued.update((item.id, self.now) for item in items)

    def step(self) -> None:
        """Serve whatever fits into all slots, and let its time pass."""
        running = [row for one in self.workers for row in self._fill(one)]
        for row in running:
            self.waits[row.payload].append(self.now - self.queued[row.id])
            self.served[row.tenant_id] += 1
        finish(self.database, running)
        self.now += STEP_SEC
        change(self.database, "UPDATE proctor.queue_item SET enqueued_at = enqueued_at - interval '10 min'")

    def _fill(self, identity: UUID) -> list[Claim]:
        room, rows = node(memory_mb=100 * SLOTS * WORKERS), list[Claim]()
        while len(rows) < SLOTS:
            free = SLOTS - len(rows)
            claimed = self.database.as_scheduler(
                lambda c: queue.claim(c, KIND, worker_id=identity, limit=free, slots=SLOTS, admit=room)  # noqa: B023
            )
            rows += claimed
            if not claimed:
                break
        return rows


@pytest.fixture
def fleet(database: Database) -> Fleet:
    return Fleet(database)


def run(fleet: Fleet, hours: float, arrive: Callable[[], None]) -> None:
    for _ in range(int(hours * 3600 / STEP_SEC)):
        arrive()
        fleet.step()


def test_target_waits_hold_while_others_ask_for_all_there_is(database: Database, fleet: Fleet) -> None:
    """High rows alone fill the fleet; critical ones are served at once, normal ones soon after their eight hours."""
    flood, patient, urgent = Tenant(database), Tenant(database), Tenant(database)
    fleet.put(flood, Band.HIGH, 2 * SLOTS * WORKERS)
    fleet.put(patient, Band.NORMAL, 20)
    rng = random.Random(7)

    def arrive() -> None:
        fleet.put(flood, Band.HIGH, SLOTS * WORKERS)
        if rng.random() < 0.3:
            fleet.put(urgent, Band.CRITICAL, 1)

    run(fleet, 10, arrive)
    assert max(fleet.waits["CRITICAL"]) == 0
    assert len(fleet.waits["NORMAL"]) == 20
    assert min(fleet.waits["NORMAL"]) >= 8 * 3600
    assert max(fleet.waits["NORMAL"]) < 9 * 3600
    assert max(fleet.waits["HIGH"]) <= 2 * 3600


def test_low_rows_run_in_what_is_left_and_never_before(database: Database, fleet: Fleet) -> None:
    work, background = Tenant(database), Tenant(database)
    fleet.put(background, Band.LOW, 200)

    def arrive() -> None:
        fleet.put(work, Band.NORMAL, SLOTS)

    run(fleet, 4, arrive)
    assert max(fleet.waits["NORMAL"]) == 0
    assert fleet.served[background.id] == fleet.served[work.id] == 4 * 6 * SLOTS


def test_shares_hold_where_room_is_what_is_short(database: Database, fleet: Fleet) -> None:
    """Each slot's worth of memory goes to tenants by weight, whatever the batches are cut to."""
    tenants = {Tenant(database): weight for weight in (1.0, 2.0, 5.0)}
    for tenant, weight in tenants.items():
        fleet.put(tenant, Band.NORMAL, 250, Need(memory_mb=125, cpus=1, disk_mb=1))
        database.as_tenant(tenant.id, lambda c, t=tenant, w=weight: queue.set_share(c, t.id, KIND, weight=w))  # type: ignore[misc]
    run(fleet, 5, lambda: None)
    assert fleet.served.total() == 5 * 6 * 8  # eight fit at once
    for tenant, weight in tenants.items():
        assert fleet.served[tenant.id] / fleet.served.total() == pytest.approx(weight / 8, abs=0.03)
