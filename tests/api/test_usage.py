"""What a tenant uses and may use: counted, told, demoted over a quota, stopped at the budget."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.app import Server
from proctor.database.engine import Database
from proctor.engine.budgets import EngineBudgets
from proctor.engine.overseeing import oversee
from proctor.engine.quotas import exceeded, keep_quotas
from proctor.engine.usage import Used
from proctor.identity.quotas import Quota
from proctor.kernel.ids import new_id
from proctor.models.calls import End, Payer
from proctor.models.ports import ScopeKind
from proctor.models.spending.service import Spender
from proctor.objects.store import ObjectStore
from proctor.serving.planner import Planner
from tests.api.conftest import Tenant, new_tenant
from tests.bench import Bench, write_tasks
from tests.integration.test_engine_recording import claimed
from tests.models.spending import call_of

RUN_SET = """
name = "counted"
suite = "suite"
trials = 2
[execution]
sandbox = "local"
[[profiles]]
name = "a"
agent = "oracle"
model = "acme/one"
[[profiles]]
name = "b"
agent = "noop"
"""
DOLLAR = 1_000_000_000


@pytest.fixture
def own(acme: Tenant, database: Database, objects: ObjectStore, bench: Bench, tmp_path: Path) -> Bench:
    write_tasks(tmp_path / "suite", 3)
    return Bench(database=database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)


def spend(server: Server, tenant: UUID, nano: int) -> None:
    """As if an attempt of this month had cost so much."""
    with server.database.tenant(tenant) as connection:
        connection.execute(
            text(
                "INSERT INTO proctor.ledger (tenant_id, id, run_set_id, attempt_id, price_version, nano)"
                " SELECT tenant_id, gen_random_uuid(), run_set_id, id, 'test', :nano FROM proctor.attempt LIMIT 1"
            ),
            {"nano": nano},
        )


def over_quota(server: Server, tenant: UUID) -> bool:
    with server.database.tenant(tenant) as connection:
        query = text("SELECT over_quota FROM proctor.queue_share WHERE kind = 'cell'")
        return bool(connection.execute(query).scalar_one_or_none())


def test_usage_is_told_apart(acme: Tenant, rival: Tenant, own: Bench) -> None:
    row = own.run(RUN_SET)
    (whole,) = acme.owner.get("usage?by=tenant")["rows"]
    assert (whole["attempts"], whole["cost_nano"]) == (12, 0)
    assert whole["sandbox_sec"] > 0
    assert [one["key"] for one in acme.owner.get("usage?by=run_set")["rows"]] == [str(row.id)]
    assert {one["key"]: one["attempts"] for one in acme.owner.get("usage?by=profile")["rows"]} == {"a": 6, "b": 6}
    assert {one["key"]: one["attempts"] for one in acme.owner.get("usage?by=model")["rows"]} == {"acme/one": 6, "": 6}
    (nobody,) = acme.owner.get("usage?by=user")["rows"]
    assert nobody["name"] == "nobody on this server"
    yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert acme.owner.get(f"usage?by=tenant&until={yesterday}")["rows"][0]["attempts"] == 0
    assert rival.owner.get("usage?by=tenant")["rows"][0]["attempts"] == 0
    table = acme.owner("GET", "usage?by=profile&as_csv=true")
    assert table.text.splitlines()[0] == "key,name,attempts,sandbox_sec,cost_nano,unpriced"
    assert acme.owner.get(f"usage?since={yesterday}&until={yesterday}", 422)["code"] == "usage-time"


def test_what_an_attempt_under_way_costs_is_not_known_yet(acme: Tenant, own: Bench) -> None:
    claimed(own, own.open(RUN_SET).run_set.id)
    for by in ("tenant", "run_set", "profile", "model", "user"):
        rows = acme.owner.get(f"usage?by={by}")["rows"]
        assert sum(one["attempts"] for one in rows) == sum(one["unpriced"] for one in rows) > 0, by


def test_the_log_says_by_name_which_run_set_was_started(acme: Tenant, own: Bench) -> None:
    suite = own.open(RUN_SET).run_set.suite_id
    spec = {"name": "by-server", "suite": suite, "profiles": [{"name": "a", "agent": "noop"}]}
    started = acme.owner("POST", "run-sets", {"spec": spec, "spec_digest": "0" * 64})
    assert started.status_code == 202, started.text
    (entry,) = acme.owner.get("audit-log?action=run-set.started")["items"]
    assert (entry["target"], entry["detail"]) == (started.json()["run_set"]["id"], {"name": "by-server", "queued": 3})


def test_an_administrator_sees_every_tenant_and_nobody_else_does(
    server: Server, acme: Tenant, rival: Tenant, own: Bench
) -> None:
    administrator = new_tenant(server, acme.http, administrator=True)
    own.run(RUN_SET)
    rows = {row["key"]: row["attempts"] for row in administrator.owner.get("tenants/usage")["rows"]}
    assert (rows[acme.name], rows[rival.name]) == (12, 0)
    assert {acme.name, rival.name, administrator.name} <= {
        one["name"] for one in administrator.owner.get("tenants?limit=1000")["items"]
    }
    assert [one["name"] for one in administrator.owner.get(f"tenants?name={acme.name}")["items"]] == [acme.name]
    assert acme.owner("GET", "tenants").status_code == 403
    assert acme.owner("GET", "tenants/usage").status_code == 403


def test_who_is_over_a_quota_is_served_after_the_others(server: Server, acme: Tenant, own: Bench) -> None:
    administrator = new_tenant(server, acme.http, administrator=True)
    own.run(RUN_SET)
    path = f"tenants/{acme.name}/quota"
    assert administrator.owner("PUT", path, {"evaluations_per_day": 12}).status_code == 200
    assert keep_quotas(server.database, acme.id) == ("evaluations_per_day",)
    assert over_quota(server, acme.id)
    assert acme.owner.get("allowance")["over"] == ["evaluations_per_day"]
    assert acme.owner.get("allowance")["used"]["evaluations_today"] == 12
    assert administrator.owner("PUT", path, {"evaluations_per_day": 13}).status_code == 200
    assert keep_quotas(server.database, acme.id) == ()
    assert not over_quota(server, acme.id)
    assert acme.owner("PUT", path, {}).status_code == 403, "a tenant does not set its own"


def test_nothing_starts_over_the_budget_and_nothing_is_lost(server: Server, acme: Tenant, own: Bench) -> None:
    own.run(RUN_SET)
    waiting = own.open(RUN_SET.replace("counted", "waiting"), fresh=True)
    assert acme.owner("PUT", "budget", {"month_nano": 5 * DOLLAR}).status_code == 200
    keep_quotas(server.database, acme.id)
    assert acme.owner.get(f"run-sets/{waiting.run_set.id}")["run_set"]["state"] == "running"
    spend(server, acme.id, 5 * DOLLAR)
    keep_quotas(server.database, acme.id)
    after = acme.owner.get(f"run-sets/{waiting.run_set.id}")
    assert after["run_set"]["state"] == "paused"
    assert after["run_set"]["reason"] == "the tenant's budget of 5.00 USD a month is used up"
    assert after["progress"]["expected"] == 12
    body = {
        "spec": {"name": "x", "suite": waiting.run_set.suite_id, "profiles": [{"name": "a", "agent": "noop"}]},
        "spec_digest": "0" * 64,
    }
    refused = acme.owner("POST", "run-sets", body)
    assert (refused.status_code, refused.json()["code"]) == (402, "budget-used")
    assert acme.owner("POST", f"run-sets/{waiting.run_set.id}/resume").status_code == 402
    assert acme.owner("PUT", "budget", {"month_nano": None}).status_code == 200
    assert acme.owner("POST", f"run-sets/{waiting.run_set.id}/resume").json()["queued"] == 12


def test_a_user_has_a_budget_that_owners_set_and_the_log_has(server: Server, acme: Tenant, rival: Tenant) -> None:
    me = acme.owner.get("me")
    path = f"users/{me['user']}/budget"
    none = {"id": me["user"], "name": me["name"], "month_nano": None}
    assert acme.owner.get(path) == none
    assert acme.owner("PUT", path, {"month_nano": 5 * DOLLAR}).json() == none | {"month_nano": 5 * DOLLAR}
    assert acme.owner("PUT", path, {"month_nano": 6 * DOLLAR}).json()["month_nano"] == 6 * DOLLAR
    assert acme.owner.get("user-budgets")["items"] == [none | {"month_nano": 6 * DOLLAR}]
    assert acme.owner.get("user-budgets?fields=name")["items"] == [{"name": me["name"]}]
    assert rival.owner("PUT", path, {"month_nano": 1}).status_code == 404
    assert rival.owner.get("user-budgets")["items"] == []
    payer = Payer(tenant=acme.id, user=me["user"])
    with server.database.tenant(acme.id) as connection:
        found = {scope.kind: scope.limit_nano for scope in EngineBudgets().scopes(connection, payer)}
    assert found == {ScopeKind.TENANT: None, ScopeKind.USER: 6 * DOLLAR}
    assert acme.owner("PUT", path, {"month_nano": None}).json() == none
    assert acme.owner.get("user-budgets")["items"] == []
    entries = acme.owner.get("audit-log?action=quota.set")["items"]
    steps = [(None, 5 * DOLLAR), (5 * DOLLAR, 6 * DOLLAR), (6 * DOLLAR, None)]
    assert [(one["target"], one["detail"]) for one in entries] == [
        (me["user"], {"user_month_nano": after, "before": {"user_month_nano": before}}) for before, after in steps
    ]


def test_the_ledger_tells_of_every_call_page_by_page(
    server: Server, acme: Tenant, rival: Tenant, tmp_path: Path
) -> None:
    payer = Payer(tenant=acme.id, run_set=new_id(), attempt=new_id(), profile="opus")

    async def spend_some() -> None:
        spender = Spender(server.database, EngineBudgets(), tmp_path / "journals")
        for cost, end in ((10, End.DONE), (20, End.REFUSED), (200, End.DONE)):
            reserved = await spender.reserve(payer, 100, wait_sec=0)
            spender.settle(reserved, call_of(reserved, cost, end=end))
        await spender.close()

    asyncio.run(spend_some())
    first = acme.owner.get("ledger?limit=2")
    last = acme.owner.get(f"ledger?limit=2&cursor={first['next']}")
    assert (len(first["items"]), len(last["items"]), last["next"]) == (2, 1, None)
    told = sorted((one["cost_nano"], one["overrun"]) for one in first["items"] + last["items"])
    assert told == [(10, False), (20, False), (200, True)]
    (refused,) = acme.owner.get(f"ledger?end=refused&run_set={payer.run_set}&model=mock/m&fields=ended_as,profile")[
        "items"
    ]
    assert refused == {"ended_as": "refused", "profile": "opus"}
    assert acme.owner.get(f"ledger?attempt={new_id()}")["items"] == []
    assert len(acme.owner.get(f"ledger?attempt={payer.attempt}")["items"]) == 3
    assert rival.owner.get("ledger")["items"] == []
    assert acme.owner.get("allowance")["used"]["cost_month_nano"] == 230


def test_a_budget_of_time_counts_anew_when_a_run_set_goes_on(server: Server, acme: Tenant, own: Bench) -> None:
    row = own.open(RUN_SET + '[budget]\nwall = "1h"\n').run_set
    hour_ago = text("UPDATE proctor.run_set SET created_at = now() - :age, running_since = now() - :since")
    with server.database.tenant(acme.id) as connection:
        connection.execute(hour_ago, {"age": timedelta(days=2), "since": timedelta(minutes=61)})
    assert oversee(server.database, acme.id) == 1
    after = acme.owner.get(f"run-sets/{row.id}")["run_set"]
    assert (after["state"], after["reason"]) == ("paused", "budget.wall of 1h is used up")
    assert acme.owner("POST", f"run-sets/{row.id}/resume").json()["queued"] == 12
    assert oversee(server.database, acme.id) == 0
    assert acme.owner.get(f"run-sets/{row.id}")["run_set"]["state"] == "running"


def test_storage_is_measured_and_old_answers_are_forgotten(
    server: Server, acme: Tenant, own: Bench, objects: ObjectStore
) -> None:
    own.run(RUN_SET)
    assert acme.owner.get("allowance")["stored_bytes"] is None
    planner = Planner(server)
    asked = acme.owner("POST", "keys", {"name": "once"}, idempotency_key="a-word")
    with server.database.tenant(acme.id) as connection:
        connection.execute(text("UPDATE proctor.idempotent_request SET began_at = now() - interval '6 days'"))
    planner._keep_house(acme.id)
    again = acme.owner("POST", "keys", {"name": "once"}, idempotency_key="a-word")
    assert again.json()["key"] == asked.json()["key"]
    with server.database.tenant(acme.id) as connection:
        connection.execute(text("UPDATE proctor.idempotent_request SET began_at = now() - interval '8 days'"))
    planner._keep_house(acme.id)
    with server.database.tenant(acme.id) as connection:
        assert connection.execute(text("SELECT count(*) FROM proctor.idempotent_request")).scalar_one() == 0
    assert acme.owner.get("allowance")["stored_bytes"] == objects.size(f"{acme.id}/") > 0


def test_each_quota_counts() -> None:
    quota = Quota(evaluations_per_day=1, cost_month_nano=2, storage_bytes=3, sandboxes=4)
    used = Used(evaluations_today=1, cost_month_nano=2, sandboxes=4)
    assert exceeded(quota, used, 3) == ("evaluations_per_day", "cost_month_nano", "storage_bytes", "sandboxes")
    assert exceeded(quota, Used(evaluations_today=0, cost_month_nano=0, sandboxes=0), None) == ()
    assert exceeded(Quota(), used, 3) == ()
