"""Metrics as Prometheus takes them: counted, of the whole installation, and of nobody's business."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from proctor.api.metrics import Metrics
from proctor.app import Server
from proctor.database.engine import Database
from proctor.engine.blaming import recent_ends
from proctor.engine.claiming import Claimer
from proctor.engine.worker import recover
from proctor.identity.permissions import Role
from proctor.kernel.ids import new_id
from proctor.models.calls import End, Payer
from proctor.models.spending.accounts import Ask, Holder, draw, release_slices
from proctor.models.spending.service import Spender
from proctor.objects.store import ObjectStore
from proctor.queue import workers
from proctor.queue.workers import WorkerIdentity
from tests.api.conftest import Tenant, new_tenant
from tests.api.test_isolation import RUN_SET
from tests.bench import Bench, write_tasks
from tests.models.spending import FixedBudgets, call_of


@pytest.fixture
def administrator(server: Server, acme: Tenant) -> Tenant:
    return new_tenant(server, acme.http, administrator=True)


def metrics(administrator: Tenant) -> dict[str, dict[tuple[str, ...], float]]:
    response = administrator.owner("GET", "../../metrics")
    assert response.status_code == 200, response.text
    return read(response.text)


def read(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    return {
        family.name: {tuple(sorted(sample.labels.values())): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(text)
    }


def test_what_waits_and_what_ended_is_counted(
    administrator: Tenant, acme: Tenant, database: Database, objects: ObjectStore, bench: Bench, tmp_path: Path
) -> None:
    own = Bench(database=database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)
    write_tasks(tmp_path / "planted-suite", 2)
    own.run(RUN_SET)
    waiting = RUN_SET.replace("planted-run-set", "waiting")
    own.open(waiting.replace('agent = "noop"', 'agent = "noop"\nmodel = "acme/one"'), fresh=True)
    found = metrics(administrator)
    lane = ("acme", "cell", "normal", "pending")
    assert found["proctor_queue_rows"][lane] == 2, "of the profile that asks a model of this provider's"
    assert found["proctor_queue_rows"]["", "cell", "normal", "pending"] == 2
    assert found["proctor_queue_oldest_seconds"][lane] >= 0
    assert found["proctor_attempts_recent"]["model", "passed"] >= 4
    assert 0 <= found["proctor_infrastructure_share"][()] < 1
    assert found["proctor_storage_bytes"][("database",)] > 1_000_000
    assert found["proctor_leaked_sandboxes"][("local",)] == 0


def test_a_lost_lease_is_counted_and_is_nobodys_failure(
    administrator: Tenant, acme: Tenant, database: Database, objects: ObjectStore, bench: Bench, tmp_path: Path
) -> None:
    own = Bench(database=database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)
    write_tasks(tmp_path / "planted-suite", 2)
    row = own.open(RUN_SET).run_set
    dead = WorkerIdentity.of_this_process()
    database.as_scheduler(lambda c: workers.register(c, dead, slots=2))
    claimer = Claimer(database, dead.id, backend="local", slots=2, scope=row.id, lease_sec=60.0)
    assert len(claimer.claim(2, list)) == 2
    assert recover(database, [dead.id]) == 2
    found = metrics(administrator)
    assert found["proctor_lease_losses_recent"][()] >= 2
    assert found["proctor_attempts_recent"]["infrastructure", "lease_lost"] >= 2
    assert database.as_tenant(acme.id, lambda c: recent_ends(c, acme.id)) == [], "no gate is closed for it"


def test_answers_are_counted_by_route_and_not_by_path(administrator: Tenant, acme: Tenant) -> None:
    acme.owner("GET", "run-sets/secret-name")
    response = administrator.owner("GET", "../../metrics").text
    assert 'proctor_http_request_seconds_count{method="GET",route="/run-sets/{run_set}",status="4xx"} 1.0' in response
    assert "secret-name" not in response


def test_no_label_names_a_tenant(administrator: Tenant, acme: Tenant) -> None:
    text = administrator.owner("GET", "../../metrics").text
    assert acme.name not in text
    assert str(acme.id) not in text


async def called(database: Database, tenant: Tenant, folder: Path) -> None:
    """Three calls: one whose cost is known, one that cost more than was reserved, one whose cost nobody knows."""
    spender = Spender(database, FixedBudgets(), folder / "journals")
    payer = Payer(tenant=tenant.id)
    for cost, end in ((2_500_000, End.DONE), (9_000_000, End.DONE), (None, End.ABANDONED)):
        reserved = await spender.reserve(payer, 5_000_000, wait_sec=0, model="mock/secret-name")
        spender.settle(reserved, replace(call_of(reserved, cost, end=end), provider="counted"))
    await spender.close()


def test_calls_of_models_are_counted_by_provider_end_and_purpose(
    administrator: Tenant, acme: Tenant, database: Database, tmp_path: Path
) -> None:
    asyncio.run(called(database, acme, tmp_path))
    found = metrics(administrator)
    calls = {labels: value for labels, value in found["proctor_model_calls_recent"].items() if "counted" in labels}
    assert calls == {("agent", "counted", "done"): 2, ("abandoned", "agent", "counted"): 1}
    tokens = found["proctor_model_tokens_recent"]
    assert {bucket: tokens[tuple(sorted((bucket, "counted")))] for bucket in ("input", "cache_read", "output")} == {
        "input": 3,
        "cache_read": 6,
        "output": 9,
    }
    assert found["proctor_model_cost_usd_recent"][("counted",)] == pytest.approx(0.0115)
    assert found["proctor_model_calls_unpriced_recent"][("counted",)] == 1
    assert found["proctor_model_overruns_recent"][("counted",)] == 1
    assert "secret-name" not in administrator.owner("GET", "../../metrics").text


@pytest.mark.parametrize(
    ("host", "pid", "left"),
    [("elsewhere", 1, 1), ("living", 7, 0), (socket.gethostname(), os.getpid(), 0), (socket.gethostname(), 2**22, 1)],
    ids=["dead elsewhere", "a living worker", "this process", "a dead process here"],
)
def test_what_dead_processes_hold_of_budgets_is_counted(
    server: Server, administrator: Tenant, acme: Tenant, database: Database, host: str, pid: int, left: int
) -> None:
    before = read(Metrics(server).text().decode())
    started = datetime.fromtimestamp(psutil.Process().create_time(), UTC)
    holder = Holder(id=new_id(), host=host, pid=pid, started=started)
    ask = Ask(slice=new_id(), payer=Payer(tenant=acme.id), least=10, wanted=2 * 10**9, given_back={})
    database.as_tenant(acme.id, lambda c: draw(c, acme.id, holder, FixedBudgets(), ask))
    worker = replace(WorkerIdentity.of_this_process(), host="living/pid:[1]", pid=7)
    database.as_scheduler(lambda c: workers.register(c, worker, slots=1))
    found = metrics(administrator)
    database.as_tenant(acme.id, lambda c: release_slices(c, acme.id, holder.id))
    names = ("proctor_budget_slices_left", "proctor_budget_left_usd")
    assert [found[name][()] - before[name][()] for name in names] == [left, pytest.approx(2 * left)]


def test_only_administrators_see_them(acme: Tenant) -> None:
    for role in Role:
        assert acme.as_role(role)("GET", "../../metrics").status_code == 403
