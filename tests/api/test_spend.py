"""What was spent: summed by day and by what it was for, down to the attempt; by whose fault without a verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.app import Server
from proctor.database.engine import Database
from proctor.engine.spend.entries import EntriesWanted, EntryPlace
from proctor.engine.spend.sums import SpendBy
from proctor.identity.audit_log import Action, Actor, note
from proctor.identity.permissions import Role
from proctor.kernel.ids import new_id
from proctor.models.calls import Call, Payer, Purpose
from proctor.models.spending.service import Spender
from proctor.objects.store import ObjectStore
from proctor.sdk.client import Client
from tests.api.conftest import Tenant, new_tenant
from tests.api.test_usage import RUN_SET
from tests.api.test_usage import spend as report
from tests.bench import Bench, write_tasks
from tests.models.spending import FixedBudgets, call_of

FAULTY = """
[[faults]]
kind = "verifier_crash"
profiles = ["b"]
"""


@pytest.fixture
def own(acme: Tenant, database: Database, objects: ObjectStore, bench: Bench, tmp_path: Path) -> Bench:
    write_tasks(tmp_path / "suite", 3)
    return Bench(database=database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)


@pytest.fixture
def spent(acme: Tenant, own: Bench, server: Server, tmp_path: Path) -> dict[str, Any]:
    """A run set whose profile "b" has no verdict; calls of two of its attempts, and of a job, one of unknown cost."""
    row = own.run(RUN_SET.replace("trials = 2", "trials = 1") + FAULTY)
    cells = acme.owner.get(f"run-sets/{row.id}/cells")["items"]
    good, bad = (next(one["attempt"] for one in cells if one["profile"] == place) for place in (0, 1))
    ada = acme.owner.get("me")["user"]
    of_run = Payer(tenant=acme.id, run_set=row.id, user=ada)
    of_good = replace(of_run, attempt=UUID(good), profile="a")
    of_bad = replace(of_run, attempt=UUID(bad), profile="b")
    of_job = Payer(tenant=acme.id, job=new_id())
    calls: list[tuple[Payer, int | None, Callable[[Call], Call]]] = [
        (of_good, 40, lambda call: call),
        (of_good, 10, lambda call: replace(call, provider="acme", model="acme/one")),
        (of_bad, 30, lambda call: call),
        (of_job, 7, lambda call: replace(call, purpose=Purpose.JUDGE)),
        (of_job, None, lambda call: replace(call, purpose=Purpose.JUDGE, provider="acme", model="acme/two")),
    ]
    asyncio.run(_settle(server, tmp_path, calls))
    return {"run_set": str(row.id), "good": good, "bad": bad, "user": ada}


async def _settle(server: Server, folder: Path, calls: list[tuple[Payer, int | None, Callable[[Call], Call]]]) -> None:
    spender = Spender(server.database, FixedBudgets(month=f"{datetime.now(UTC):%Y-%m}"), folder / "journals")
    for payer, cost, change in calls:
        reserved = await spender.reserve(payer, 100, wait_sec=0)
        spender.settle(reserved, change(call_of(reserved, cost)))
    await spender.close()


def sums(answer: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {row["name"]: (row["cost_nano"], row["unpriced"]) for row in answer["rows"]}


def test_spend_is_told_apart_and_what_is_not_known_is_in_no_sum(acme: Tenant, spent: dict[str, Any]) -> None:
    by_run_set = acme.owner.get("spend")
    whole = {"cost_nano": 87, "assumed_nano": 100, "entries": 9, "unpriced": 1}
    assert by_run_set["whole"] == whole, "five calls, and four attempts whose agents called nobody by us"
    assert sums(by_run_set) == {"counted": (80, 0), "": (7, 1)}
    assert by_run_set["unpriced"] == [{"provider": "acme", "model": "acme/two", "entries": 1}]
    assert sums(acme.owner.get("spend?by=profile")) == {"a": (50, 0), "b": (30, 0), "": (7, 1)}
    assert sums(acme.owner.get("spend?by=provider"))["acme"] == (10, 1)
    assert sums(acme.owner.get("spend?by=model"))["mock/m"] == (77, 0)
    assert sums(acme.owner.get("spend?by=kind")) == {"agent": (80, 0), "judge": (7, 1), "reported": (0, 0)}
    assert sums(acme.owner.get("spend?by=user")) == {acme.owner.get("me")["name"]: (80, 0), "": (7, 1)}
    assert sums(acme.owner.get("spend?by=tenant")) == {"": (87, 1)}


def test_what_agents_report_is_the_spend_of_who_started_the_run_set(
    acme: Tenant, server: Server, spent: dict[str, Any]
) -> None:
    """It has no user of its own where it costs nothing, or was written down before it had one."""
    ada = UUID(spent["user"])
    report(server, acme.id, 5)
    assert sums(acme.owner.get("spend?by=user"))[""] == (12, 1), "nobody started it through a server"
    with server.database.tenant(acme.id) as connection:
        for actor in (Actor(user=ada), Actor(user=new_id())):
            note(connection, acme.id, actor, Action.RUN_SET_STARTED, spent["run_set"])
    answer = acme.owner.get("spend?by=user")
    assert {row["key"]: (row["cost_nano"], row["entries"]) for row in answer["rows"]} == {str(ada): (85, 8), "": (7, 2)}
    assert {one["key"]: one["cost_nano"] for one in answer["days"]} == {str(ada): 85, "": 7}
    whole = acme.owner.get(f"spend/entries?user={ada}")["items"]
    assert (len(whole), sum(one["cost_nano"] for one in whole)) == (8, 85)
    assert {one["kind"] for one in acme.owner.get("spend/entries?user=")["items"]} == {"judge"}


def test_a_bar_of_a_day_is_the_sum_of_its_entries(acme: Tenant, spent: dict[str, Any]) -> None:
    days = acme.owner.get("spend?by=profile")["days"]
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    assert {one["day"] for one in days} <= {today.isoformat().replace("+00:00", "Z")}
    assert {one["key"]: one["cost_nano"] for one in days} == {"a": 50, "b": 30, "": 7}
    found = acme.owner.get("spend/entries?profile=a&limit=2")
    rest = acme.owner.get(f"spend/entries?profile=a&cursor={found['next']}")["items"]
    whole = found["items"] + rest
    assert sum(one["cost_nano"] for one in whole) == 50
    assert len({one["id"] for one in whole}) == len(whole) == 4
    assert {one["attempt_id"] for one in whole if one["cost_nano"]} == {spent["good"]}
    assert [one["run_set"] for one in whole] == ["counted"] * 4


def test_keys_beyond_the_dearest_are_one_by_day(acme: Tenant, server: Server, tmp_path: Path) -> None:
    calls = [(Payer(tenant=acme.id, profile=f"p{number}"), number + 1, lambda call: call) for number in range(8)]
    asyncio.run(_settle(server, tmp_path, calls))
    answer = acme.owner.get("spend?by=profile")
    assert [row["key"] for row in answer["rows"]] == [f"p{number}" for number in reversed(range(8))]
    told = {one["key"]: one["cost_nano"] for one in answer["days"]}
    assert told == {**{f"p{number}": number + 1 for number in range(2, 8)}, None: 3}


def test_days_are_exported_as_csv(acme: Tenant, spent: dict[str, Any]) -> None:
    table = acme.owner("GET", "spend?by=profile&as_csv=true")
    head, *lines = table.text.splitlines()
    assert head == "cost_nano,assumed_nano,entries,unpriced,day,key"
    assert sorted(int(line.split(",")[0]) for line in lines) == [7, 30, 50]


def test_spend_without_a_verdict_has_an_owner_and_leads_to_its_entries(acme: Tenant, spent: dict[str, Any]) -> None:
    (row,) = acme.owner.get("spend/undecided")["rows"]
    assert (row["owner"], row["attempts"], row["cost_nano"], row["unpriced"]) == ("task", 3, 30, 0)
    found = acme.owner.get("spend/entries?owner=task")["items"]
    assert sum(one["cost_nano"] for one in found) == 30
    assert {one["outcome"] for one in found} == {"verifier_error"}
    assert spent["bad"] in {one["attempt_id"] for one in found}
    assert acme.owner.get("spend/entries?owner=provider")["items"] == []


def test_entries_are_narrowed_by_each_filter(acme: Tenant, spent: dict[str, Any]) -> None:
    def costs(query: str) -> list[int | None]:
        return sorted(one["cost_nano"] for one in acme.owner.get(f"spend/entries?{query}")["items"])

    assert costs("kind=judge&unpriced=false") == [7]
    (unknown,) = acme.owner.get("spend/entries?unpriced=true")["items"]
    assert (unknown["cost_nano"], unknown["assumed_nano"], unknown["model"]) == (None, 100, "acme/two")
    assert costs("provider=mock&kind=agent") == [30, 40]
    assert costs("model=acme/one&kind=agent") == [10]
    assert costs(f"run_set={spent['run_set']}&kind=agent") == [10, 30, 40]
    assert costs("run_set=&unpriced=false") == [7], "the job's"
    assert costs(f"user={spent['user']}") == [10, 30, 40]
    yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert costs(f"until={yesterday}") == []
    assert acme.owner.get(f"spend/entries?since={yesterday}&until={yesterday}", 422)["code"] == "usage-time"
    assert acme.owner.get("spend/entries?owner=everybody", 422)["code"] == "request-invalid"


def test_the_month_is_what_the_budgets_count(acme: Tenant, spent: dict[str, Any]) -> None:
    month = acme.owner.get("spend/month")
    assert month["counted_nano"] == 187 == acme.owner.get("allowance")["used"]["cost_month_nano"]
    assert (month["whole"]["cost_nano"], month["whole"]["unpriced"]) == (87, 1)
    assert acme.owner.get("allowance")["uncounted"] == 0, "all that was reserved is counted for a call of unknown cost"
    assert (month["days_seen"], month["days_needed"], month["forecast"]) == (0, 7, None)


def test_an_attempt_whose_cost_nobody_tells_is_in_no_budget_and_said_to_be_in_none(
    acme: Tenant, server: Server, own: Bench
) -> None:
    own.run(RUN_SET)
    assert acme.owner.get("allowance")["uncounted"] == 0
    with server.database.tenant(acme.id) as connection:
        connection.execute(text("UPDATE proctor.attempt SET usage = NULL"))
    allowance = acme.owner.get("allowance")
    assert (allowance["used"]["cost_month_nano"], allowance["uncounted"]) == (0, 12)


def test_a_week_of_spending_makes_a_forecast(acme: Tenant, server: Server) -> None:
    ten_days = text(
        "INSERT INTO proctor.ledger (tenant_id, id, price_version, nano, created_at)"
        " SELECT :tenant, gen_random_uuid(), 'test', 100, now() - n * interval '1 day' FROM generate_series(0, 9) n"
    )
    with server.database.tenant(acme.id) as connection:
        connection.execute(ten_days, {"tenant": acme.id})
    month = acme.owner.get("spend/month")
    begins, ends = (datetime.fromisoformat(month[name]) for name in ("begins", "ends"))
    assert month["days_seen"] == 9
    days = (ends - begins).days
    passed = min(10, datetime.now(UTC).day)
    left = days - datetime.now(UTC).day
    assert month["counted_nano"] == 100 * passed
    assert month["forecast"]["expected_nano"] == 100 * (passed + left)


def test_no_tenant_sees_anothers_spend_and_the_role_decides(
    server: Server, acme: Tenant, rival: Tenant, spent: dict[str, Any]
) -> None:
    assert rival.owner.get("spend")["whole"]["entries"] == 0
    assert rival.owner.get("spend/entries")["items"] == []
    assert rival.owner.get(f"spend/entries?run_set={spent['run_set']}")["items"] == []
    assert rival.owner.get("spend/undecided")["rows"] == []
    assert rival.owner.get("spend/month")["counted_nano"] == 0
    for path in ("spend", "spend/entries", "spend/undecided", "spend/month"):
        assert acme.as_role(Role.VIEWER)("GET", path).status_code == 403
        assert acme.as_role(Role.MEMBER)("GET", path).status_code == 200
    assert acme.owner("GET", "tenants/spend").status_code == 403
    administrator = new_tenant(server, acme.http, administrator=True)
    answer = administrator.owner.get("tenants/spend")
    assert {row["name"]: row["cost_nano"] for row in answer["rows"]}[acme.name] == 87
    assert "acme/two" not in str(answer["unpriced"]), "models are the tenant's own business"


def test_the_sdk_answers_the_same(server: Server, acme: Tenant, spent: dict[str, Any]) -> None:
    client = Client(server.platform(acme.id))
    assert client.spend.report(SpendBy.KIND).whole.cost_nano == 87
    assert [row.owner for row in client.spend.undecided().rows] == ["task"]
    first, second = client.spend.entries(EntriesWanted(kind="judge"), limit=2)
    place = EntryPlace(first.at, first.id)
    assert client.spend.entries(EntriesWanted(kind="judge"), before=place) == [second]
    assert client.spend.month().counted_nano == 187
