"""Evaluators over HTTP: registered by members, forbidden by administrators, and answered as the SDK has them."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.app import Server
from proctor.evaluators.facts import DatasetFacts
from proctor.evaluators.samples import MISSING, Sample
from proctor.evaluators.service import Registration
from proctor.identity.permissions import Role
from proctor.sdk.client import Client
from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.errors import ServerRefused
from tests.api.conftest import Tenant, new_tenant

REGEX = {"name": "one-line", "type": "regex", "configuration": {"pattern": "^.{1,80}$"}}
PYTHON = {"name": "own", "type": "python", "configuration": {"source": "def evaluate(i, e, o): return e == o"}}


def remote(tenant: Tenant) -> RemoteClient:
    """The SDK over the test's own app."""
    from proctor.sdk.remote.transport import Transport

    return RemoteClient(Transport("http://testserver", tenant.owner_key, http=tenant.http))  # type: ignore[arg-type]


def test_a_version_is_registered_once_and_that_is_written_down(acme: Tenant) -> None:
    member = acme.as_role(Role.MEMBER)
    made = member.post("evaluators", REGEX)
    assert made["row"]["reference"] == "one-line@1"
    assert member.post("evaluators", REGEX) == made
    assert member.post("evaluators", {**REGEX, "configuration": {"pattern": "x"}})["row"]["version"] == 2
    assert member.get("evaluators/one-line@1") == made
    listed = member.get("evaluators?name=one-line&fields=reference,version")
    assert listed["items"] == [{"reference": f"one-line@{n}", "version": n} for n in (2, 1)]
    noted = [one for one in acme.owner.get("audit-log")["items"] if one["action"] == "evaluator.registered"]
    assert noted[0]["target"] == "one-line@1"
    assert noted[0]["detail"] == {"type": "regex", "digest": made["row"]["digest"]}


def test_a_viewer_looks_and_registers_nothing(acme: Tenant) -> None:
    viewer = acme.as_role(Role.VIEWER)
    assert viewer.get("evaluators/bleu")["row"]["allowed"]
    assert viewer.post("evaluators/suggestions", {"json": 3}, 200)[0]["evaluator"]["type"] == "json-distance"
    assert viewer.post("evaluators", REGEX, 403)["code"] == "forbidden"
    assert viewer.post("evaluators/bleu/trials", {"output": "x"}, 403)["code"] == "forbidden"


def test_the_list_comes_in_pages(acme: Tenant) -> None:
    whole = [row["reference"] for row in acme.owner.get("evaluators")["items"]]
    first = acme.owner.get("evaluators?limit=5")
    second = acme.owner.get(f"evaluators?limit=5&cursor={first['next']}")
    assert [row["reference"] for row in first["items"] + second["items"]] == whole[:10]


@pytest.mark.parametrize(
    ("body", "code", "where"),
    [
        ({**REGEX, "name": "bleu"}, "evaluator-name", "name"),
        ({**REGEX, "type": "regexp"}, "evaluator-type", "type"),
        ({**REGEX, "configuration": {"pattern": "(?=x)"}}, "evaluator-configuration", "configuration.pattern"),
        ({**REGEX, "configuration": {"patern": "x"}}, "evaluator-configuration", "configuration.patern"),
        ({**REGEX, "cost_nano": -1}, "request-invalid", "body.cost_nano"),
        ({**REGEX, "extra": 1}, "request-invalid", "body.extra"),
        ({**REGEX, "description": "a\0"}, "evaluator-configuration", "description"),
    ],
)
def test_what_is_wrong_is_named(acme: Tenant, body: Any, code: str, where: str) -> None:
    told = acme.owner.post("evaluators", body, 422)
    assert (told["code"], told["where"]) == (code, where)
    assert told["remedy"]


def test_an_output_is_judged(acme: Tenant) -> None:
    trial = acme.owner.post("evaluators/exact-match/trials", {"expected": {"a": 1}, "output": {"a": 1.0}}, 200)
    assert (trial["score"], trial["status"]) == (1, "scored")
    missing = acme.owner.post("evaluators/exact-match/trials", {"output": None}, 200)
    assert (missing["score"], missing["status"]) == (None, "invalid_example")
    null = acme.owner.post("evaluators/exact-match/trials", {"expected": None, "output": None}, 200)
    assert null["score"] == 1
    assert acme.owner.post("evaluators/gone/trials", {"output": ""}, 404)["code"] == "evaluator-unknown"


def test_a_model_is_asked_through_the_gateway_with_the_tenants_own_keys(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the operator's own")
    models = {"mock": "mock/embedding", "paid": "openai/text-embedding-3-small", "gone": "nobody/x"}
    for name, model in models.items():
        acme.owner.post("evaluators", {"name": name, "type": "embedding-similarity", "configuration": {"model": model}})
    body = {"expected": "a b", "output": "a b"}
    trial = acme.owner.post("evaluators/mock/trials", body, 200)
    assert (trial["score"], trial["status"]) == (pytest.approx(1), "scored")
    told = acme.owner.post("evaluators/paid/trials", body, 422)
    assert (told["code"], told["detail"]) == ("secret-missing", "OPENAI_API_KEY is not set on this server.")
    assert acme.owner.post("evaluators/gone/trials", body, 422)["code"] == "provider-unknown"
    (call,) = acme.owner.get("ledger")["items"]
    assert (call["model"], call["ended_as"]) == ("mock/embedding", "done")


def test_code_is_judged_by_in_a_sandbox_of_the_server(acme: Tenant) -> None:
    acme.owner.post("evaluators", PYTHON)
    trial = acme.owner.post("evaluators/own/trials", {"expected": "a", "output": "a"}, 200)
    assert (trial["score"], trial["status"], trial["error"]) == (1, "scored", None)


def test_an_administrator_forbids_and_allows(server: Server, acme: Tenant, http: Any) -> None:
    boss = new_tenant(server, http, administrator=True)
    acme.owner.post("evaluators", PYTHON)
    path = f"tenants/{acme.name}/evaluator-rules"
    changed = boss.owner("PUT", f"{path}/python", {"allowed": False})
    assert [(rule["subject"], rule["allowed"]) for rule in changed.json()] == [("python", False)]
    assert boss.owner.get(path)["items"] == changed.json()
    assert acme.owner.get("evaluators/own")["row"]["allowed"] is False
    assert acme.owner.post("evaluators/own/trials", {"output": ""}, 403)["code"] == "evaluator-forbidden"
    assert acme.owner.post("evaluators", {**PYTHON, "name": "other"}, 403)["code"] == "evaluator-forbidden"
    for tenant, target in ((acme, "python"), (boss, f"{acme.name}: python")):
        noted = [one for one in tenant.owner.get("audit-log")["items"] if one["action"] == "evaluator-rule.set"]
        assert [(one["target"], one["detail"]) for one in noted] == [(target, {"allowed": False})]
    assert boss.owner("PUT", f"{path}/python", {"allowed": None}).json() == []
    assert acme.owner.get("evaluators/own")["row"]["allowed"]
    assert acme.owner("PUT", f"{path}/python", {"allowed": True}).status_code == 403
    assert boss.owner("PUT", "tenants/nobody/evaluator-rules/python", {"allowed": True}).status_code == 404


def test_the_sdk_says_the_same_from_afar(server: Server, acme: Tenant) -> None:
    here, there = Client(server.platform(acme.id)), remote(acme)
    wanted = Registration(name="near", type="numeric", configuration={"relative": 0.1}, description="Ten per cent")
    assert there.evaluators.register(wanted) == here.evaluators.register(wanted)
    assert there.evaluators.all() == here.evaluators.all()
    assert there.evaluators.show("near") == here.evaluators.show("near@1")
    facts = DatasetFacts(number=5, json=2, missing=1)
    assert there.evaluators.suggest(facts) == here.evaluators.suggest(facts)
    for expected in (41, MISSING):
        sample = Sample(input="", expected=expected, output="about 42")
        ours, theirs = (one.evaluators.try_out("near", sample) for one in (here, there))
        assert (theirs.score, theirs.status, theirs.error) == (ours.score, ours.status, ours.error)
    with pytest.raises(ServerRefused) as caught:
        there.evaluators.show("gone")
    assert caught.value.code == "evaluator-unknown"


def test_rules_by_the_sdk_of_an_administrator(server: Server, acme: Tenant, http: Any) -> None:
    boss = remote(new_tenant(server, http, administrator=True)).evaluators
    assert [rule.subject for rule in boss.allow(acme.name, "command", allowed=False)] == ["command"]
    assert [rule.allowed for rule in boss.rules(acme.name)] == [False]
    assert boss.allow(acme.name, "command", allowed=None) == []
