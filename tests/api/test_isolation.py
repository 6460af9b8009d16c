"""Two tenants: of what the one has, the other reads nothing, changes nothing and learns nothing.

Learning nothing: an id of somebody else's and one of nothing at all get the same answer, byte for byte but for the id
itself and the request's own. Every route is asked; a new one without a probe fails ``test_permissions``.
"""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

import pytest

from proctor.app import Server
from proctor.database.engine import Database
from proctor.engine.worker import recover
from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
from proctor.objects.store import ObjectStore
from tests.api.conftest import Tenant, send, work_until_done
from tests.api.routes import PROBES
from tests.api.test_permissions import NOWHERE, ask
from tests.bench import Bench, write_tasks

RUN_SET = """
name = "planted-run-set"
suite = "planted-suite"
[execution]
sandbox = "local"
[[profiles]]
name = "planted-profile"
series = "planted-series"
agent = "oracle"
[[profiles]]
name = "planted-other"
agent = "noop"
"""


@pytest.fixture
def planted(  # type: ignore[no-untyped-def]
    acme: Tenant, server: Server, database: Database, objects: ObjectStore, bench: Bench, tmp_path
) -> dict[str, str]:
    """One of everything that a tenant has."""
    own = Bench(database=database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)
    write_tasks(tmp_path / "planted-suite", 2)
    row = own.run(RUN_SET)
    suite = acme.owner.get("suites")["items"][0]["suite_id"]
    assert acme.owner("PUT", "labels/suites/planted-label", {"suite": suite}).status_code == 200
    assert acme.owner("PUT", "labels/run-sets/planted-mark", {"run_set": str(row.id)}).status_code == 200
    cells = acme.owner.get(f"run-sets/{row.id}/cells")["items"]
    attempt = cells[0]["attempt"]
    artifacts = acme.owner.get(f"attempts/{attempt}")["attempt"]["artifacts"]
    user = acme.owner.post("users", {"name": "planted@example.org", "role": "member"})
    key = acme.owner.post("keys", {"name": "planted-key", "user": user["id"]})
    assert acme.owner("PUT", "secrets/PLANTED_SECRET", {"value": "planted-value"}).status_code == 200
    assert acme.owner("PUT", "alerts/acknowledgements/planted.alert", {"note": "planted-note"}).status_code == 200
    wanted = {"name": "planted-evaluator", "type": "regex", "configuration": {"pattern": "planted"}}
    acme.owner.post("evaluators", wanted)
    acme.owner.post("prompts", {"name": "planted-prompt", "prompt": "planted {{input}}"})
    operation = acme.owner.post(f"run-sets/{row.id}/exports", {}, 202)["id"]
    assert work_until_done(server, acme.owner, operation)["state"] == "done"
    examples = [{"id": "planted-example", "input": "planted-input"}]
    examples += [{"id": "planted-too", "input": "x", "expected": "planted-output"}]
    lines = "".join(json.dumps(one) + "\n" for one in examples).encode()
    importing = send(acme.owner, "datasets/imports?name=planted-data&format=jsonl&file=planted.jsonl", lines)
    assert work_until_done(server, acme.owner, importing.json()["id"])["state"] == "done"
    outputs = [{"id": one["id"], "output": "planted-output"} for one in examples]
    asked = "samples?dataset=planted-data&name=planted-samples&file=planted.jsonl"
    importing = send(acme.owner, asked, "".join(json.dumps(one) + "\n" for one in outputs).encode())
    assert work_until_done(server, acme.owner, importing.json()["id"])["state"] == "done"
    judged = {"dataset": "planted-data", "samples": "planted-samples"}
    jobs = {"planted-job": ["contains", "exact-match"], "other-planted": ["contains"]}
    for name, by in jobs.items():
        job = UUID(acme.owner.post("jobs", {**judged, "evaluators": by, "name": name})["id"])
        worker = ChunkWorker(database, objects, ChunkWorkerSettings(processes=1, scope=job), recover=recover)
        worker.run(lambda job=job: acme.owner.get(f"jobs/{job}")["job"]["state"] in ("queued", "running"))
    acme.owner.post("streams", {"name": "planted-stream", "evaluators": ["contains"]})
    acme.owner.post("streams/planted-stream/rows", {"id": "planted-row", "said": "planted-output"}, 200)
    return {
        "stream": "planted-stream",
        "dataset": "planted-data",
        "samples": "planted-samples",
        "job": "planted-job",
        "other_job": "other-planted",
        "operation": operation,
        "digest": "1" * 64,
        "secret": "PLANTED_SECRET",
        "alert": "planted.alert",
        "evaluator": "planted-evaluator",
        "prompt": "planted-prompt",
        "user": user["id"],
        "key": key["key"]["id"],
        "suite": suite,
        "suite_label": "planted-label",
        "run_set": str(row.id),
        "run_set_label": "planted-mark",
        "series": "planted-series",
        "attempt": attempt,
        "cell": cells[0]["cell"],
        "tenant": acme.name,
        "scope": "provider",
        "provider": "planted-lane",
        "artifact": artifacts[0]["name"] if artifacts else "x",
        "step": "1",
    }


OF_THE_INSTALLATION = ("GET /metrics", "GET /api/v1/tenants", "GET /api/v1/health")
"""For administrators of all tenants, whoever's; ``test_permissions.py`` has who may not."""
READS = [name for name in PROBES if name.startswith("GET ") and not name.startswith(OF_THE_INSTALLATION)]
"""What a tenant's owner may read; metrics are the installation's own, and are looked at in their tests."""


def told(response: Any, things: dict[str, str]) -> tuple[Any, ...]:
    """An answer without the ids that were asked for and the request's own."""
    text = response.text.replace(response.headers["x-request-id"], "").replace(response.headers["x-trace-id"], "")
    for name, value in things.items():
        text = text.replace(value, f"<{name}>")
    ignored = ("x-request-id", "x-trace-id", "content-length", "date")
    return response.status_code, text, [pair for pair in response.headers.items() if pair[0] not in ignored]


def test_the_owner_reaches_what_is_planted(acme: Tenant, planted: dict[str, str]) -> None:
    """Or the rest of the suite would prove nothing."""
    for name in READS:
        response = ask(acme.owner, name, PROBES[name], planted)
        assert response.status_code == 200, f"{name}: {response.text}"


@pytest.mark.parametrize("name", [name for name, probe in PROBES.items() if probe.things or "{" in probe.query])
def test_a_foreign_thing_and_no_thing_are_the_same(
    name: str, acme: Tenant, rival: Tenant, planted: dict[str, str]
) -> None:
    foreign, absent = (ask(rival.owner, name, PROBES[name], things) for things in (planted, NOWHERE))
    assert foreign.status_code >= 400
    assert told(foreign, planted) == told(absent, NOWHERE)


def test_lists_hold_nothing_of_anybody_elses(rival: Tenant, planted: dict[str, str], acme: Tenant) -> None:
    secrets = [*planted.values(), "planted", acme.name, str(acme.id)]
    for name, probe in PROBES.items():
        if name.startswith("GET ") and not probe.things and "{" not in probe.query:
            text = ask(rival.owner, name, probe, planted).text
            assert not [secret for secret in secrets if secret in text and len(secret) > 1], name


def _still(text: str) -> str:
    """Without when it was counted."""
    return re.sub(r'"counted_at":"[^"]+"', "", text)


def test_nothing_of_it_was_changed(acme: Tenant, rival: Tenant, planted: dict[str, str]) -> None:
    before = {name: _still(ask(acme.owner, name, PROBES[name], planted).text) for name in READS}
    for name in [name for name in PROBES if not name.startswith("GET ")]:
        ask(rival.owner, name, PROBES[name], planted)
    after = {name: _still(ask(acme.owner, name, PROBES[name], planted).text) for name in before}
    moving = {f"GET /api/v1/{name}" for name in ("keys", "audit-log", "usage", "spend", "spend/undecided")}  # say when
    assert {name: text for name, text in after.items() if name not in moving} == {
        name: text for name, text in before.items() if name not in moving
    }


def test_an_idempotency_key_is_its_users_own(acme: Tenant, rival: Tenant) -> None:
    body = {"name": "same@example.org", "role": "viewer"}
    first = acme.owner("POST", "users", body, idempotency_key="shared-word")
    second = rival.owner("POST", "users", body, idempotency_key="shared-word")
    assert first.json()["id"] != second.json()["id"]
    assert "idempotency-replayed" not in second.headers


def test_objects_lie_below_their_tenant(acme: Tenant, planted: dict[str, str], objects: ObjectStore) -> None:
    keys = list(objects.list(""))
    assert keys
    assert [key for key in keys if not key.startswith(f"{acme.id}/")] == []


def test_a_key_that_names_another_tenant_opens_nothing(acme: Tenant, rival: Tenant) -> None:
    prefix, tenant, found, secret = acme.owner_key.split("_", 3)
    forged = "_".join([prefix, rival.owner_key.split("_")[1], found, secret])
    assert acme.http.get("/api/v1/me", headers={"Authorization": f"Bearer {forged}"}).status_code == 401
    assert UUID(acme.owner.get("me")["tenant"]) == acme.id, tenant
