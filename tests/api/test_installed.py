"""What is installed on a server: its agents, and the providers that it knows with the tenant's keys of them."""

from __future__ import annotations

import pytest

from proctor.app import Server, layer_store, providers_file
from proctor.identity.permissions import Role
from proctor.models.errors import ProvidersInvalid
from proctor.sdk.agents import AgentLine, list_agents
from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.transport import Transport
from tests.api.conftest import Tenant

PROVIDERS = """
[providers.gateway]
base_url = "http://10.1.2.3:4000/v1/"
wires = ["openai-chat", "anthropic"]
keys = ["GATEWAY_KEY", "GATEWAY_KEY_2"]
requests_per_minute = 500
concurrency = 32
[providers.cohere]
litellm = true
keys = ["COHERE_API_KEY"]
"""


def write(server: Server, text: str) -> None:
    server.settings.home.mkdir(exist_ok=True)
    (server.settings.home / "providers.toml").write_text(text)


def test_providers_are_told_with_the_keys_that_the_tenant_has_set(
    server: Server, acme: Tenant, rival: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(server, PROVIDERS)
    monkeypatch.setenv("OPENAI_API_KEY", "the operator's own, which is no tenant's")
    acme.owner("PUT", "secrets/GATEWAY_KEY_2", {"value": "never-told-again"})
    answer = acme.as_role(Role.VIEWER)("GET", "providers")
    assert "never-told-again" not in answer.text
    found = {one["name"]: one for one in answer.json()["items"]}
    assert found["gateway"] == {
        "name": "gateway",
        "wires": ["anthropic", "openai-chat"],
        "reached": "http",
        "address": "http://10.1.2.3:4000/v1",
        "keys": ["GATEWAY_KEY", "GATEWAY_KEY_2"],
        "keys_set": ["GATEWAY_KEY_2"],
        "requests_per_minute": 500,
        "tokens_per_minute": None,
        "concurrency": 32,
    }
    assert (found["openai"]["keys"], found["openai"]["keys_set"]) == (["OPENAI_API_KEY"], [])
    assert (found["mock"]["reached"], found["mock"]["keys"]) == ("process", [])
    assert (found["cohere"]["reached"], found["cohere"]["address"]) == ("litellm", "")
    (theirs,) = rival.owner.get("providers?name=gateway")["items"]
    assert theirs["keys_set"] == [], "a secret is one tenant's"


def test_providers_are_narrowed_by_name_and_by_wire(acme: Tenant) -> None:
    names = [one["name"] for one in acme.owner.get("providers?wire=anthropic&fields=name")["items"]]
    assert names == ["anthropic", "mock"]
    assert acme.owner.get("providers?name=gone")["items"] == []
    assert acme.owner.get("providers?wire=telex", 422)["where"] == "query.wire"


def test_a_providers_file_that_is_wrong_is_told_with_its_field_and_without_its_value(
    server: Server, acme: Tenant
) -> None:
    write(server, '[providers.gateway]\nbase_url = "http://ada:hunter2@10.1.2.3"\n')
    told = acme.owner.get("providers", 422)
    assert told["code"] == "providers-invalid"
    assert told["where"].endswith("providers.gateway.base_url")
    assert "hunter2" not in str(told)


def test_a_providers_file_that_is_named_has_to_be_there(server: Server) -> None:
    mistyped = server.settings.home / "provider.toml"
    with pytest.raises(ProvidersInvalid, match="no such file"):
        providers_file(server.settings.model_copy(update={"providers_file": mistyped}))


def test_agents_of_a_server_are_those_of_its_machine(server: Server, acme: Tenant) -> None:
    client = RemoteClient(Transport("http://testserver", acme.owner_key, http=acme.http))
    found = client.agents()
    assert {one.name for one in client.providers()} >= {"mock", "openai"}
    assert found == list_agents(layer_store(server.settings))
    assert all(isinstance(one, AgentLine) for one in found)
    (oracle,) = acme.as_role(Role.VIEWER).get("agents?name=oracle")["items"]
    assert (oracle["prepared"], oracle["wires"]) == (None, [])
    waiting = {one["name"] for one in acme.owner.get("agents?prepared=false")["items"]}
    assert "codex" in waiting
    assert "oracle" not in waiting, "it has no programs"
    assert acme.owner.get("agents?prepared=true")["items"] == []
