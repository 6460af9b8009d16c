"""What a process leaves when it dies is settled exactly as far as its journal knows, once, whoever does it."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.models.calls import Payer
from proctor.models.ports import ScopeKind
from proctor.models.spending import journal as journals
from proctor.models.spending.accounts import open_slices, release_slices
from proctor.models.spending.reconciling import reconcile
from proctor.models.spending.service import Spender
from proctor.models.spending.tills import Timing
from tests.models.spending import FixedBudgets, books, call_of

pytestmark = pytest.mark.database

NEVER = Timing(batch=3600, idle=3600)
"""Nothing is written in time: the process dies first."""
HARD = FixedBudgets(limits={ScopeKind.TENANT: 10_000})


def die(spender: Spender) -> Path:
    """As SIGKILL does it: nothing more is written, and the kernel lets go of the journal. Returns where that is."""
    journal = spender._journal
    os.close(journal._file)
    return journal._path


async def left_behind(database: Database, tenant: UUID, folder: Path, budgets: FixedBudgets = HARD) -> Path:
    """A call of 40 that ended, of 100; a call that runs, of 50; a call that was not made after all."""
    spender = Spender(database, budgets, folder, timing=NEVER)
    payer = Payer(tenant=tenant, run_set=new_id(), attempt=new_id())
    ended = await spender.reserve(payer, 100, wait_sec=0, model="mock/m")
    await spender.reserve(payer, 50, wait_sec=0, model="openai/gpt-4o")
    spender.settle(ended, call_of(ended, 40))
    path = die(spender)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    return path


async def test_what_ended_is_settled_and_what_ran_costs_all_that_was_reserved(
    database: Database, tenant: UUID, tmp_path: Path
) -> None:
    path = await left_behind(database, tenant, tmp_path)
    assert books(database, tenant).ledger == 0
    assert books(database, tenant).held["tenant"] > 150
    (found,) = reconcile(database, tmp_path)
    assert (found.ended, found.abandoned, found.given_back_nano > 0) == (1, 1, True)
    now = books(database, tenant)
    assert now.spent == {"tenant": 90, "run_set": 90}
    assert (now.ledger, now.slices, now.held) == (90, 0, {"tenant": 0, "run_set": 0})
    with database.tenant(tenant) as connection:
        query = text("SELECT provider, model, cost_nano FROM proctor.model_call WHERE ended_as = 'abandoned'")
        assert tuple(connection.execute(query).one()) == ("openai", "openai/gpt-4o", 50)
    assert not path.exists()
    assert reconcile(database, tmp_path) == []


async def test_the_journal_of_a_living_process_is_left_alone(database: Database, tenant: UUID, tmp_path: Path) -> None:
    spender = Spender(database, HARD, tmp_path)
    reserved = await spender.reserve(Payer(tenant=tenant), 100, wait_sec=0)
    assert reconcile(database, tmp_path) == []
    spender.settle(reserved, call_of(reserved, 1))
    await spender.close()
    assert books(database, tenant).ledger == 1


@pytest.mark.parametrize("cut", [1, 30])
async def test_a_line_that_is_not_whole_is_none(database: Database, tenant: UUID, tmp_path: Path, cut: int) -> None:
    """The end of the call is what is torn: it may have cost all that was reserved."""
    path = await left_behind(database, tenant, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut] if cut > 1 else whole[: len(whole) - len(whole.splitlines()[-1])])
    (found,) = reconcile(database, tmp_path)
    assert (found.ended, found.abandoned) == (0, 2)
    assert books(database, tenant).spent == {"tenant": 150, "run_set": 150}


async def test_a_line_after_a_torn_one_counts(database: Database, tenant: UUID, tmp_path: Path) -> None:
    """As a disk leaves it that was full for a moment."""
    path = await left_behind(database, tenant, tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-1], lines[-1][:20] + b"\n", lines[-1]]))
    (found,) = reconcile(database, tmp_path)
    assert (found.ended, found.abandoned) == (1, 1)


async def test_an_empty_journal_is_removed(database: Database, tmp_path: Path) -> None:
    (tmp_path / f"{new_id()}.journal").write_bytes(b'{"t":"he')
    assert reconcile(database, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


async def test_several_who_reconcile_at_once_charge_once(database: Database, tenant: UUID, tmp_path: Path) -> None:
    copies = [tmp_path / str(number) for number in range(4)]
    path = await left_behind(database, tenant, tmp_path)
    for copy in copies:  # as if there were no lock
        copy.mkdir()
        (copy / path.name).write_bytes(path.read_bytes())
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda folder: reconcile(database, folder), [*copies, tmp_path, tmp_path]))
    assert sum(map(len, found)) in (5, 6)
    assert books(database, tenant).spent == {"tenant": 90, "run_set": 90}
    assert books(database, tenant).held == {"tenant": 0, "run_set": 0}


async def test_what_was_written_before_the_end_is_not_written_again(
    database: Database, tenant: UUID, tmp_path: Path
) -> None:
    spender = Spender(database, HARD, tmp_path, timing=Timing(batch=0.01))
    reserved = await spender.reserve(Payer(tenant=tenant), 100, wait_sec=0)
    spender.settle(reserved, call_of(reserved, 40))
    while not books(database, tenant).calls:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    die(spender)
    reconcile(database, tmp_path)
    assert books(database, tenant).spent == {"tenant": 40}
    assert books(database, tenant).held == {"tenant": 0}


async def test_after_a_new_start_of_the_machine_the_rest_stays_held_until_an_operator_releases_it(
    database: Database, tenant: UUID, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last lines of the journal may be missing: what else was spent nobody knows."""
    monkeypatch.setattr(journals, "boot_id", lambda: "an earlier one")
    await left_behind(database, tenant, tmp_path)
    before = books(database, tenant).held["tenant"]
    (found,) = reconcile(database, tmp_path)
    assert found.given_back_nano == 0
    now = books(database, tenant)
    assert now.spent["tenant"] + now.held["tenant"] == before
    with database.tenant(tenant) as connection:
        (left,) = open_slices(connection, tenant)
        assert (left.process, left.amount_nano, left.pid) == (found.process, before - 90, os.getpid())
        release_slices(connection, tenant, left.process)
        assert open_slices(connection, tenant) == []
    assert books(database, tenant).held["tenant"] == 0


async def test_a_long_journal_is_written_anew_and_forgets_nothing_that_is_open(
    database: Database, tenant: UUID, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "ROTATED_BYTES", 2000)
    spender = Spender(database, HARD, tmp_path, timing=Timing(batch=0.01))
    payer = Payer(tenant=tenant)
    await spender.reserve(payer, 50, wait_sec=0)
    for number in range(20):
        reserved = await spender.reserve(payer, 10, wait_sec=0)
        spender.settle(reserved, call_of(reserved, 1))
        while books(database, tenant).calls <= number:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    path = die(spender)
    assert path.stat().st_size < 6000
    assert path.stat().st_mode & 0o777 == 0o600
    (found,) = reconcile(database, tmp_path)
    assert found.abandoned == 1
    assert books(database, tenant).spent == {"tenant": 70}
    assert list(tmp_path.iterdir()) == []
