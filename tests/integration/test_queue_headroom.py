"""Admission: a claim takes no more than fits on its worker's node; what does not fit is neither lost nor starved."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

import pytest

from proctor.database.engine import Database
from proctor.headroom import Admit, HeldBack, Need, Reserved, Room
from proctor.kernel.ids import new_id
from proctor.queue import service as queue
from proctor.queue.service import Claim, Item, PutBack
from tests.integration.test_queue_order import KIND, Tenant, change, finish, lose, named, served

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue")]

HERE = "this-boot"
LARGE = Need(memory_mb=600, cpus=1, disk_mb=10)
SMALL = Need(memory_mb=100, cpus=1, disk_mb=10)


def node(memory_mb: float = 1000, cpus: float = 100, disk_mb: float = 10_000, *, others_mb: float = 0) -> Admit:
    """A node of that size, ``others_mb`` of which somebody else uses."""
    whole = Need(memory_mb=memory_mb, cpus=cpus, disk_mb=disk_mb)

    def room(reserved: Reserved) -> Room:
        used, free = reserved.promised, memory_mb - others_mb
        left = Need(memory_mb=free - used.memory_mb, cpus=cpus - used.cpus, disk_mb=disk_mb - used.disk_mb)
        return Room(left=left, most=Need(memory_mb=free, cpus=cpus, disk_mb=disk_mb), ever=whole)

    return room


def blind(reserved: Reserved) -> Room:
    """A node that can't be read."""
    return Room(rows=0 if reserved.rows else 1)


def worker(database: Database, boot: str = HERE) -> UUID:
    identity = new_id()
    change(
        database,
        "INSERT INTO proctor.worker (id, host, boot_id, pid, process_started, slots)"
        " VALUES (:id, 'any', :boot, 1, 1, 10)",
        id=identity,
        boot=boot,
    )
    return identity


def claim(database: Database, limit: int, mine: UUID, admit: Admit, *, begun: Sequence[int] = ()) -> list[Claim]:
    return database.as_scheduler(
        lambda c: queue.claim(c, KIND, worker_id=mine, limit=limit, slots=10, admit=admit, begun=begun)
    )


def held_back(database: Database, one: Tenant, mine: UUID, admit: Admit) -> HeldBack | None:
    return database.as_scheduler(
        lambda c: queue.held_back(c, KIND, worker_id=mine, scope=one.holder, admit=admit, begun=())
    )


@pytest.fixture
def one(database: Database) -> Tenant:
    return Tenant(database)


def rows(one: Tenant, count: int, need: Need | None = None, **fields: object) -> None:
    one.put(*(Item(id=new_id(), need=need, **fields) for _ in range(count)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("admit", "fits"),
    [(node(), 10), (node(cpus=3), 3), (node(disk_mb=75), 7), (node(others_mb=850), 1)],
    ids=["memory", "cpus", "disk", "others"],
)
def test_rows_are_taken_as_far_as_they_fit_together(database: Database, one: Tenant, admit: Admit, fits: int) -> None:
    rows(one, 30, SMALL)
    mine = worker(database)
    first = claim(database, 20, mine, admit)
    assert len(first) == fits
    assert claim(database, 20, mine, admit) == []
    finish(database, first[:1])
    assert len(claim(database, 20, mine, admit)) == 1


def test_workers_of_one_machine_share_its_room_and_others_have_their_own(database: Database, one: Tenant) -> None:
    rows(one, 40, SMALL)
    first, second, elsewhere = worker(database), worker(database), worker(database, "another-boot")
    assert len(claim(database, 6, first, node())) == 6
    assert len(claim(database, 10, second, node())) == 4
    assert len(claim(database, 20, elsewhere, node())) == 10


def test_workers_that_claim_at_once_never_grant_the_same_room(database: Database, one: Tenant) -> None:
    rows(one, 100, SMALL)
    mine = [worker(database) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda identity: claim(database, 10, identity, node()), mine * 3))
    assert sum(len(claims) for claims in taken) == 10


def test_what_was_lost_or_put_back_is_room_again(database: Database, one: Tenant) -> None:
    rows(one, 30, SMALL)
    mine = worker(database)
    claims = claim(database, 20, mine, node())
    lose(database, claims[:4])
    back = [PutBack(id=row.id, token=row.token) for row in claims[4:6]]
    database.as_tenant(one.id, lambda c: queue.put_back(c, one.id, KIND, back))
    assert len(claim(database, 20, mine, node())) == 6


def test_rows_that_need_nothing_are_not_counted(database: Database, one: Tenant) -> None:
    rows(one, 30)
    mine = worker(database)
    assert len(claim(database, 20, mine, node(cpus=0.5, memory_mb=1))) == 20
    assert held_back(database, one, mine, node(cpus=0.5, memory_mb=1)) is None


def test_nothing_small_passes_a_large_row_that_waits_for_room(database: Database, one: Tenant) -> None:
    """Else small rows, one after the other, would keep it out for ever."""
    mine = worker(database)
    rows(one, 5, SMALL, expected_sec=100)
    running = claim(database, 5, mine, node())
    one.put(named("large", need=LARGE, expected_sec=50))
    rows(one, 50, SMALL, expected_sec=1)
    for row in running[:1]:
        assert claim(database, 5, mine, node()) == []
        finish(database, [row])
    assert served(claim(database, 1, mine, node())) == "large"
    assert len(claim(database, 5, mine, node())) == 0


def test_a_row_that_others_memory_keeps_out_is_passed_by_and_served_once_it_is_free(
    database: Database, one: Tenant
) -> None:
    mine, busy = worker(database), node(others_mb=500)
    one.put(named("large", need=LARGE, expected_sec=50))
    one.put(*(named("small", need=SMALL) for _ in range(9)))
    assert served(claim(database, 2, mine, busy)) == "small small"
    assert claim(database, 3, mine, node())[0].payload == "large"


def test_rows_that_can_never_fit_keep_nobody_waiting_and_are_named(database: Database, one: Tenant) -> None:
    mine = worker(database)
    rows(one, 500, Need(memory_mb=9000), expected_sec=900)
    giant = Item(id=new_id(), need=Need(memory_mb=9000), expected_sec=901)
    one.put(giant, named("small", need=SMALL))
    assert served(claim(database, 5, mine, node())) == "small"
    held = held_back(database, one, mine, node())
    assert held is not None
    assert (held.rows, held.never, held.first, held.need) == (501, 501, giant.id, Need(memory_mb=9000))


def test_more_processors_than_a_node_has_are_all_it_has(database: Database, one: Tenant) -> None:
    rows(one, 2, Need(cpus=64))
    mine = worker(database)
    assert len(claim(database, 5, mine, node(cpus=4))) == 1
    held = held_back(database, one, mine, node(cpus=4))
    assert held is not None
    assert (held.rows, held.never) == (1, 0)


def test_nothing_is_held_back_where_everything_fits(database: Database, one: Tenant) -> None:
    rows(one, 2, SMALL)
    assert held_back(database, one, worker(database), node()) is None


def test_a_node_that_can_t_be_read_runs_one_at_a_time(database: Database, one: Tenant) -> None:
    rows(one, 9, SMALL)
    mine, neighbour = worker(database), worker(database)
    claims = claim(database, 5, mine, blind)
    assert len(claims) == 1
    assert claim(database, 5, neighbour, blind) == []
    held = held_back(database, one, mine, blind)
    assert held is not None
    assert held.rows == 8
    finish(database, claims)
    assert len(claim(database, 5, neighbour, blind)) == 1


def test_what_has_begun_is_told_apart_from_what_is_about_to(database: Database, one: Tenant) -> None:
    rows(one, 9, SMALL)
    mine, neighbour, seen = worker(database), worker(database), list[Reserved]()

    def watch(reserved: Reserved) -> Room:
        seen.append(reserved)
        return node()(reserved)

    tokens = [row.token for row in claim(database, 4, mine, node())]
    claim(database, 1, mine, watch, begun=tokens[:1])
    assert (seen[-1].rows, seen[-1].promised.memory_mb, seen[-1].unbegun.memory_mb) == (4, 400, 300)
    database.as_scheduler(partial(queue.heartbeat, worker_id=mine, tokens=tokens, begun=tokens[:3]))
    claim(database, 1, neighbour, watch)
    assert (seen[-1].rows, seen[-1].unbegun.memory_mb) == (5, 200)


def test_a_suspect_waits_for_room_and_nothing_passes_it(database: Database, one: Tenant) -> None:
    mine, other = worker(database), worker(database)
    rows(one, 3, SMALL)
    running = claim(database, 3, other, node())
    holder = new_id()
    one.put(named("suspect", need=Need(memory_mb=800)), holder=holder)
    for _ in range(2):
        scoped = database.as_scheduler(lambda c: queue.claim(c, KIND, worker_id=mine, limit=1, slots=1, scope=holder))
        lose(database, scoped)
    rows(one, 3, SMALL)
    assert claim(database, 5, mine, node()) == []
    finish(database, running)
    assert served(claim(database, 5, mine, node())) == "suspect"


def test_a_suspect_that_can_never_fit_keeps_nobody_waiting(database: Database, one: Tenant) -> None:
    holder = new_id()
    one.put(named("suspect", need=Need(memory_mb=8000)), holder=holder)
    for _ in range(2):
        lose(
            database,
            database.as_scheduler(lambda c: queue.claim(c, KIND, worker_id=new_id(), limit=1, slots=1, scope=holder)),
        )
    one.put(named("small", need=SMALL))
    assert served(claim(database, 5, worker(database), node())) == "small"
