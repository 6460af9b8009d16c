"""Which budgets a call comes under, with the limits of quotas, users and run-set files."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from proctor.engine.budgets import EngineBudgets
from proctor.engine.usage import used_now
from proctor.identity.audit_log import Actor
from proctor.identity.quotas import set_budget
from proctor.kernel.ids import new_id
from proctor.models.calls import Payer
from proctor.models.errors import BudgetExhausted
from proctor.models.ports import ScopeKind
from proctor.models.spending.accounts import Reported, add_reported
from proctor.models.spending.service import Spender
from tests.bench import Bench, write_tasks
from tests.models.spending import books, call_of

pytestmark = pytest.mark.database

DOLLAR = 1_000_000_000
RUN_SET = """
name = "dear"
suite = "suite"
[budget]
cost = "5 USD"
[execution]
sandbox = "local"
[[profiles]]
name = "opus"
agent = "noop"
budget = "2.50 USD"
[[profiles]]
name = "haiku"
agent = "noop"
"""


@pytest.fixture
def run_set(bench: Bench, tmp_path: Path) -> UUID:
    write_tasks(tmp_path / "suite", 1)
    return bench.open(RUN_SET).run_set.id


def limits(bench: Bench, payer: Payer) -> dict[ScopeKind, int | None]:
    with bench.database.tenant(payer.tenant) as connection:
        return {one.kind: one.limit_nano for one in EngineBudgets().scopes(connection, payer)}


def test_a_run_set_and_its_profiles_have_the_budgets_of_its_file(bench: Bench, run_set: UUID) -> None:
    opus = Payer(tenant=bench.tenant, run_set=run_set, profile="opus")
    assert limits(bench, opus) == {
        ScopeKind.TENANT: None,
        ScopeKind.RUN_SET: 5 * DOLLAR,
        ScopeKind.PROFILE: 5 * DOLLAR // 2,
    }
    haiku = limits(bench, Payer(tenant=bench.tenant, run_set=run_set, profile="haiku"))
    assert haiku[ScopeKind.PROFILE] is None
    unknown = limits(bench, Payer(tenant=bench.tenant, run_set=new_id(), profile="opus"))
    assert set(unknown.values()) == {None}


async def test_the_tenants_month_is_what_its_quota_counts(bench: Bench, run_set: UUID, tmp_path: Path) -> None:
    """Money that agents report, and money of calls, each once."""
    budgets, tenant = EngineBudgets(), bench.tenant
    opus = Payer(tenant=tenant, run_set=run_set, profile="opus")
    bench.database.as_tenant(tenant, lambda c: set_budget(c, tenant, Actor(), 4 * DOLLAR))
    told = [Reported(id=new_id(), payer=opus, nano=DOLLAR)]
    bench.database.as_tenant(tenant, lambda c: add_reported(c, tenant, budgets, told))
    spender = Spender(bench.database, budgets, tmp_path / "journals")
    reserved = await spender.reserve(opus, DOLLAR, wait_sec=0)
    spender.settle(reserved, call_of(reserved, DOLLAR))
    with pytest.raises(BudgetExhausted, match=r"The profile's budget of 2\.50 USD has no room") as caught:
        await spender.reserve(opus, DOLLAR, wait_sec=0)
    assert caught.value.scope == "profile"
    with pytest.raises(BudgetExhausted, match=r"The tenant's budget of 4\.00 USD"):
        await spender.reserve(Payer(tenant=tenant), 3 * DOLLAR, wait_sec=0)
    await spender.close()
    with bench.database.tenant(tenant) as connection:
        used = used_now(connection, tenant).cost_month_nano
    now = books(bench.database, tenant)
    assert used == now.spent["tenant"] == now.spent["run_set"] == now.ledger == 2 * DOLLAR
