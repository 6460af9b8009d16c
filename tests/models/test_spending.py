"""One process spends: what is refused, what waits, what is charged, and what the books say of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.database.engine import Database
from proctor.database.errors import DatabaseUnavailable
from proctor.identity.service import ensure_tenant
from proctor.kernel.errors import IntegrityError
from proctor.kernel.ids import new_id
from proctor.models.calls import End, Payer
from proctor.models.errors import BudgetExhausted, PriceUnknown
from proctor.models.ports import ScopeKind
from proctor.models.spending.accounts import Reported, add_reported, open_slices, release_slices, settle
from proctor.models.spending.rows import Account, Settlement, call_row
from proctor.models.spending.service import Spender
from proctor.models.spending.tills import Timing
from tests.models.spending import FixedBudgets, books, call_of

pytestmark = pytest.mark.database

QUICK = Timing(batch=0.01, idle=0.1)


@asynccontextmanager
async def spending(
    database: Database, budgets: FixedBudgets, folder: Path, timing: Timing = QUICK
) -> AsyncIterator[Spender]:
    spender = Spender(database, budgets, folder / "journals", timing=timing)
    try:
        yield spender
    finally:
        await spender.close()


async def until(true: Callable[[], bool]) -> None:
    """Look until it is so; the test's own time limit ends it otherwise."""
    while not await asyncio.to_thread(true):
        await asyncio.sleep(0.01)


def limited(nano: int, kind: ScopeKind = ScopeKind.TENANT) -> FixedBudgets:
    return FixedBudgets(limits={kind: nano})


async def test_every_budget_of_a_payer_counts_what_a_call_cost(
    database: Database, tenant: UUID, tmp_path: Path
) -> None:
    payer = Payer(tenant=tenant, run_set=new_id(), profile="opus", user=str(new_id()), attempt=new_id())
    async with spending(database, FixedBudgets(), tmp_path) as spender:
        spender.settle(reserved := await spender.reserve(payer, 100, wait_sec=0), call := call_of(reserved, 60))
    now = books(database, tenant)
    assert now.spent == {"tenant": 60, "user": 60, "run_set": 60, "profile": 60}
    assert (now.ledger, now.slices, set(now.held.values())) == (60, 0, {0})
    with database.tenant(tenant) as connection:
        row = connection.execute(text("SELECT * FROM proctor.model_call")).one()
        money = connection.execute(text("SELECT id, run_set_id, attempt_id, profile FROM proctor.ledger")).one()
    assert (row.id, row.attempt_id, row.profile, row.user_id) == (call.id, payer.attempt, "opus", payer.user)
    assert (row.input_tokens, row.cache_read_tokens, row.cache_write_tokens) == (1, 2, None)
    assert (row.ended_as, row.wire, row.cost_nano, row.reserved_nano) == ("done", "openai-chat", 60, 100)
    assert tuple(money) == (call.id, payer.run_set, None, "opus"), "an attempt that nobody knows is none"


@pytest.mark.parametrize("kind", list(ScopeKind))
async def test_the_narrowest_budget_refuses_and_says_whose_it_is(
    database: Database, tenant: UUID, tmp_path: Path, kind: ScopeKind
) -> None:
    payer = Payer(tenant=tenant, run_set=new_id(), profile="opus", user=str(new_id()))
    if kind is ScopeKind.JOB:
        payer = Payer(tenant=tenant, job=new_id(), user=str(new_id()))
    async with spending(database, limited(100, kind), tmp_path) as spender:
        with pytest.raises(BudgetExhausted, match="budget of 0.0000001 USD has no room") as caught:
            await spender.reserve(payer, 101, wait_sec=60)
        assert caught.value.scope == kind.value
        spender.settle(reserved := await spender.reserve(payer, 100, wait_sec=0), call_of(reserved, 100))
        await until(lambda: books(database, tenant).ledger == 100)
        with pytest.raises(BudgetExhausted):
            await spender.reserve(payer, 1, wait_sec=60)
        spender.settle(free := await spender.reserve(payer, 0, wait_sec=0), call_of(free, 0))
    assert books(database, tenant).calls == 2


async def test_what_has_no_price_can_not_be_held_by_a_hard_budget(
    database: Database, tenant: UUID, tmp_path: Path
) -> None:
    payer = Payer(tenant=tenant)
    async with spending(database, limited(100), tmp_path) as spender:
        for _ in range(2):  # the second time the budgets are known
            with pytest.raises(PriceUnknown, match="a/b has no known price"):
                await spender.reserve(payer, None, wait_sec=60, model="a/b")
    async with spending(database, FixedBudgets(), tmp_path) as spender:
        spender.settle(unknown := await spender.reserve(payer, None, wait_sec=0), call_of(unknown, None))
        spender.settle(known := await spender.reserve(payer, None, wait_sec=0), call_of(known, 7))
    now = books(database, tenant)
    assert (now.calls, now.ledger, now.spent) == (2, 7, {"tenant": 7})


async def test_a_cost_that_is_not_known_is_all_that_was_reserved(
    database: Database, tenant: UUID, tmp_path: Path
) -> None:
    async with spending(database, limited(100), tmp_path) as spender:
        reserved = await spender.reserve(Payer(tenant=tenant), 40, wait_sec=0)
        spender.settle(reserved, call_of(reserved, None))
    assert books(database, tenant).ledger == 40
    with database.tenant(tenant) as connection:
        row = connection.execute(text("SELECT cost_nano, charged_nano FROM proctor.model_call")).one()
    assert tuple(row) == (None, 40)


async def test_an_overrun_is_charged_whole_and_said(database: Database, tenant: UUID, tmp_path: Path) -> None:
    async with spending(database, limited(100), tmp_path) as spender:
        reserved = await spender.reserve(Payer(tenant=tenant), 90, wait_sec=0)
        spender.settle(reserved, call_of(reserved, 130))
    now = books(database, tenant)
    assert (now.spent, now.held, now.ledger) == ({"tenant": 130}, {"tenant": 0}, 130)
    with database.tenant(tenant) as connection:
        assert connection.execute(text("SELECT overrun FROM proctor.model_call")).scalar_one() is True


async def test_room_that_others_only_hold_is_waited_for(database: Database, tenant: UUID, tmp_path: Path) -> None:
    payer = Payer(tenant=tenant)
    async with (
        spending(database, limited(100), tmp_path) as one,
        spending(database, limited(100), tmp_path) as other,
    ):
        held = await one.reserve(payer, 80, wait_sec=0)
        with pytest.raises(BudgetExhausted):
            await other.reserve(payer, 50, wait_sec=0)
        waiting = asyncio.create_task(other.reserve(payer, 50, wait_sec=60))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        one.settle(held, call_of(held, 10))
        reserved = await waiting
        other.settle(reserved, call_of(reserved, 50))
    assert books(database, tenant).spent == {"tenant": 60}


async def test_a_process_does_not_sit_on_what_it_does_not_use(database: Database, tenant: UUID, tmp_path: Path) -> None:
    payer = Payer(tenant=tenant)
    async with spending(database, FixedBudgets(), tmp_path) as spender:
        reserved = await spender.reserve(payer, 10, wait_sec=0)
        assert books(database, tenant).slices == 160, "some more than was asked for"
        await until(lambda: books(database, tenant).slices == 10)
        spender.settle(reserved, call_of(reserved, 10))
        await until(lambda: books(database, tenant).slices == 0)
        with database.tenant(tenant) as connection:
            assert open_slices(connection, tenant) == []


async def test_a_changed_limit_and_another_month_hold_for_the_next_slice(
    database: Database, tenant: UUID, tmp_path: Path
) -> None:
    payer = Payer(tenant=tenant)
    budgets = FixedBudgets(month="2026-11", limits={ScopeKind.TENANT: 100})
    timing = Timing(batch=0.01, idle=0.1, age=0.0)
    async with spending(database, budgets, tmp_path, timing) as spender:
        over_midnight = await spender.reserve(payer, 60, wait_sec=0)
        budgets.month = "2026-12"
        of_december = await spender.reserve(payer, 90, wait_sec=0)
        budgets.limits[ScopeKind.TENANT] = 80
        with pytest.raises(BudgetExhausted, match="budget of 0.00000008 USD"):
            await spender.reserve(payer, 81, wait_sec=60)
        spender.settle(over_midnight, call_of(over_midnight, 50))
        spender.settle(of_december, call_of(of_december, 90))
    with database.tenant(tenant) as connection:
        query = "SELECT period, spent_nano, held_nano FROM proctor.budget_account ORDER BY 1"
        assert [tuple(row) for row in connection.execute(text(query))] == [("2026-11", 50, 0), ("2026-12", 90, 0)]
        query = "SELECT to_char(created_at, 'YYYY-MM'), nano FROM proctor.ledger ORDER BY 2"
        assert [tuple(row) for row in connection.execute(text(query))] == [("2026-11", 50), ("2026-12", 90)]


async def test_an_account_begins_with_what_the_ledger_has(database: Database, tenant: UUID, tmp_path: Path) -> None:
    run_set, user = new_id(), str(new_id())
    insert = text(
        "INSERT INTO proctor.ledger (tenant_id, id, run_set_id, price_version, nano, profile, user_id, created_at)"
        " VALUES (:tenant, gen_random_uuid(), :run_set, 'reported', :nano, :profile, :user, CAST(:at AS timestamptz))"
    )
    with database.tenant(tenant) as connection:
        for nano, profile, whose, at in (
            (1, None, None, "2026-11-30 23:59:59.999999+00"),
            (10, "opus", user, "2026-12-01 00:00:00+00"),
            (100, "other", user, "2026-12-31 23:59:59.999999+00"),
            (1000, "opus", user, "2027-01-01 00:00:00+00"),
        ):
            said = {"tenant": tenant, "run_set": run_set, "nano": nano, "profile": profile, "user": whose, "at": at}
            connection.execute(insert, said)
    payer = Payer(tenant=tenant, run_set=run_set, profile="opus", user=user)
    async with spending(database, FixedBudgets(month="2026-12"), tmp_path) as spender:
        spender.settle(reserved := await spender.reserve(payer, 0, wait_sec=0), call_of(reserved, 0))
    assert books(database, tenant).spent == {"tenant": 110, "user": 110, "run_set": 1111, "profile": 1010}


async def test_what_agents_report_counts_once_and_in_every_budget(
    database: Database, tenant: UUID, tmp_path: Path
) -> None:
    payer = Payer(tenant=tenant, run_set=new_id(), profile="opus")
    told = [Reported(id=new_id(), payer=payer, nano=70)]
    budgets = limited(100, ScopeKind.PROFILE)
    for _ in range(2):
        database.as_tenant(tenant, lambda c: add_reported(c, tenant, budgets, told))
    assert books(database, tenant).spent == {"tenant": 70, "run_set": 70, "profile": 70}
    async with spending(database, budgets, tmp_path) as spender:
        with pytest.raises(BudgetExhausted):
            await spender.reserve(payer, 31, wait_sec=60)
        spender.settle(reserved := await spender.reserve(payer, 30, wait_sec=0), call_of(reserved, 30))
    assert books(database, tenant).spent == {"tenant": 100, "run_set": 100, "profile": 100}


async def test_a_reservation_is_settled_once(database: Database, tenant: UUID, tmp_path: Path) -> None:
    async with spending(database, FixedBudgets(), tmp_path) as spender:
        reserved = await spender.reserve(Payer(tenant=tenant), 10, wait_sec=0)
        spender.settle(reserved, call_of(reserved, 1))
        with pytest.raises(IntegrityError, match="settled before"):
            spender.settle(reserved, call_of(reserved, 2))
    assert books(database, tenant).ledger == 1


async def test_the_same_call_twice_is_one_and_another_under_its_id_is_refused(
    database: Database, tenant: UUID, tmp_path: Path
) -> None:
    async with spending(database, FixedBudgets(), tmp_path) as spender:
        reserved = await spender.reserve(Payer(tenant=tenant), 10, wait_sec=0)
        accounts = (Account("tenant", str(tenant), "2026-12"),)
        row = call_row(new_id(), call_of(reserved, 5), reserved=10)
        for _ in range(2):
            one = Settlement(row=row, accounts=accounts)
            database.as_tenant(tenant, lambda c, one=one: settle(c, tenant, [one], {}))  # type: ignore[misc]
        other = Settlement(row={**row, "charged_nano": 6}, accounts=accounts)
        with pytest.raises(IntegrityError, match="settled before, and otherwise"):
            database.as_tenant(tenant, lambda c: settle(c, tenant, [other], {}))
        spender.settle(reserved, call_of(reserved, 0))
    assert books(database, tenant).ledger == 5


async def test_whoever_goes_away_while_waiting_holds_nothing(database: Database, tenant: UUID, tmp_path: Path) -> None:
    payer = Payer(tenant=tenant)
    async with spending(database, limited(100), tmp_path) as spender:
        first = asyncio.create_task(spender.reserve(payer, 60, wait_sec=60))
        await asyncio.sleep(0)
        first.cancel()
        held = await spender.reserve(payer, 100, wait_sec=60)
        waiting = asyncio.create_task(spender.reserve(payer, 1, wait_sec=60))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.wait([first, waiting])
        spender.settle(held, call_of(held, 100))
    assert books(database, tenant).spent == {"tenant": 100}
    assert list((tmp_path / "journals").iterdir()) == []


async def test_a_call_that_can_not_be_written_does_not_keep_the_others(
    database: Database, tenant: UUID, tmp_path: Path
) -> None:
    payer = Payer(tenant=tenant)
    async with spending(database, FixedBudgets(), tmp_path) as spender:
        several = [await spender.reserve(payer, 10, wait_sec=0) for _ in range(20)]
        for number, reserved in enumerate(several):
            call = call_of(reserved, 10, answered="\0 \ud800 odd words")
            object.__setattr__(call, "http_status", 2**40 if number == 13 else 200)
            spender.settle(reserved, call)
    now = books(database, tenant)
    assert (now.calls, now.ledger, now.held) == (19, 190, {"tenant": 10})
    assert len(list((tmp_path / "journals").iterdir())) == 1, "it is kept, for whoever mends it"
    with database.tenant(tenant) as connection:
        (left,) = open_slices(connection, tenant)
        assert (left.amount_nano, left.slices) == (10, 1)
        assert release_slices(connection, tenant, left.process) == 10
    assert books(database, tenant).held == {"tenant": 0}


async def test_a_database_that_is_away_loses_no_call(
    database: Database, tenant: UUID, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = True
    real = database.as_tenant

    def as_tenant(tenant: UUID, work: Callable[..., Awaitable[None]]) -> object:
        if away:
            raise DatabaseUnavailable("away")
        return real(tenant, work)

    monkeypatch.setattr("proctor.models.spending.tills.RETRY_SEC", 0.01)
    async with spending(database, FixedBudgets(), tmp_path) as spender:
        reserved = await spender.reserve(Payer(tenant=tenant), 10, wait_sec=0)
        monkeypatch.setattr(database, "as_tenant", as_tenant)
        spender.settle(reserved, call_of(reserved, 10, end=End.REFUSED))
        with pytest.raises(DatabaseUnavailable):
            await spender.reserve(Payer(tenant=tenant), 1000, wait_sec=60)
        away = False
        await until(lambda: books(database, tenant).ledger == 10)
    assert books(database, tenant).slices == 0


async def test_tenants_neither_see_nor_spend_one_anothers(database: Database, tenant: UUID, tmp_path: Path) -> None:
    other = ensure_tenant(database, f"t-{new_id().hex}")
    async with spending(database, limited(100), tmp_path) as spender:
        mine = await spender.reserve(Payer(tenant=tenant), 100, wait_sec=0)
        theirs = await spender.reserve(Payer(tenant=other), 100, wait_sec=0)
        spender.settle(mine, call_of(mine, 30))
        spender.settle(theirs, call_of(theirs, 40))
    assert (books(database, tenant).ledger, books(database, other).ledger) == (30, 40)
    assert (books(database, tenant).spent, books(database, other).spent) == ({"tenant": 30}, {"tenant": 40})


async def test_a_journal_without_room_refuses_the_call_before_it_is_made(
    database: Database, tenant: UUID, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = Payer(tenant=tenant)
    async with spending(database, limited(100), tmp_path) as spender:
        ended = await spender.reserve(payer, 50, wait_sec=0)
        with monkeypatch.context() as full:
            full.setattr("proctor.models.spending.journal.os.write", lambda _file, _line: 3)
            with pytest.raises(OSError, match="no room for a line"):
                await spender.reserve(payer, 1, wait_sec=0)
            spender.settle(ended, call_of(ended, 20))
        reserved = await spender.reserve(payer, 50, wait_sec=60)
        spender.settle(reserved, call_of(reserved, 50))
    now = books(database, tenant)
    assert (now.spent, now.held, now.calls) == ({"tenant": 70}, {"tenant": 0}, 2)
    assert list((tmp_path / "journals").iterdir()) == []
