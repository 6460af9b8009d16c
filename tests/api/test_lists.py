"""Every list: pages, filters and fields, cursors that are its own, and parameters that there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from proctor.api.lists import _Paging
from proctor.app import Server
from tests.api.conftest import Asker, Tenant, new_tenant
from tests.api.routes import routes_of
from tests.api.test_isolation import planted  # noqa: F401  a fixture: one of everything that a tenant has

PAGED = {
    "/api/v1/agents": ("name=codex", "prepared=false"),
    "/api/v1/alerts/acknowledgements": (),
    "/api/v1/audit-log": ("action=user.created", "actor={user}"),
    "/api/v1/comparisons/tasks": (),
    "/api/v1/datasets": (),
    "/api/v1/datasets/{dataset}/examples": ("difficulty=hard", "tags=x"),
    "/api/v1/datasets/{dataset}/versions": (),
    "/api/v1/evaluators": ("type=regex", "name=planted-evaluator"),
    "/api/v1/events/history": ("name=run_set.created", "topic=run-set:{run_set}"),
    "/api/v1/jobs": ("state=complete",),
    "/api/v1/jobs/{job}/distribution": ("evaluator=contains",),
    "/api/v1/jobs/{job}/moved": ("evaluator=contains",),
    "/api/v1/jobs/{job}/repeats": ("evaluator=contains",),
    "/api/v1/jobs/{job}/results": ("status=invalid_example", "evaluator=contains", "at_least=0.5", "below=0.5"),
    "/api/v1/jobs/{job}/segments": ("evaluator=contains",),
    "/api/v1/keys": ("name=planted-key", "user={user}"),
    "/api/v1/labels/run-sets": ("name=planted-mark",),
    "/api/v1/labels/suites": ("name=planted-label",),
    "/api/v1/ledger": ("model=openai/gpt-4o", "end=done"),
    "/api/v1/logs": ("level=error", "run_set={run_set}"),
    "/api/v1/operations": ("kind=export", "state=done"),
    "/api/v1/prompts": (),
    "/api/v1/providers": ("name=openai", "wire=anthropic"),
    "/api/v1/run-sets": ("name=planted-run-set", "state=complete"),
    "/api/v1/run-sets/{run_set}/cells": ("profile=planted-other", "outcome=failed", "task=*1"),
    "/api/v1/run-sets/{run_set}/profiles": ("profile=planted-other",),
    "/api/v1/run-sets/{run_set}/running": ("profile=planted-other",),
    "/api/v1/run-sets/{run_set}/sides": ("profile=planted-other",),
    "/api/v1/run-sets/{run_set}/stalled": ("profile=planted-other",),
    "/api/v1/samples": (),
    "/api/v1/secrets": ("name=PLANTED_SECRET",),
    "/api/v1/series/{series}/history": ("since=2020-01-01T00:00:00Z",),
    "/api/v1/spend/entries": ("run_set={run_set}", "kind=reported", "profile=planted-other", "unpriced=false"),
    "/api/v1/streams/{stream}/refusals": (),
    "/api/v1/suites": ("label=planted-label",),
    "/api/v1/suites/{suite}/certificates": ("task=*1", "verdict=certified"),
    "/api/v1/tenants": ("name=acme",),
    "/api/v1/tenants/{tenant}/evaluator-rules": (),
    "/api/v1/user-budgets": (),
    "/api/v1/users": ("role=member", "kind=person", "name=planted@example.org"),
}
"""Every list and what narrows it."""
NEEDED = {
    "/api/v1/jobs/{job}/moved": "against={other_job}&",
    "/api/v1/comparisons/tasks": "base={run_set}:planted-profile&with={run_set}:planted-other&show=all&",
}
"""What a list is not asked without."""


def lists_of(app: FastAPI) -> set[str]:
    """Each route that answers a page."""
    return {
        name.removeprefix("GET ")
        for name, route in routes_of(app)
        if name.startswith("GET ") and {"items", "next"} <= set(getattr(route.response_model, "model_fields", ()))
    }


def test_every_list_is_known_and_pages_alike(app: FastAPI) -> None:
    assert lists_of(app) == set(PAGED)
    for path, filters in PAGED.items():
        named = {one["name"] for one in app.openapi()["paths"][path]["get"]["parameters"]}
        assert named >= {"limit", "cursor", "fields"}, path
        assert named >= {one.partition("=")[0] for one in filters}, path


def test_no_other_route_answers_a_bare_list(app: FastAPI) -> None:
    for name, route in routes_of(app):
        if name.startswith("GET "):
            assert getattr(route.response_model, "__origin__", None) not in (list, dict), name


@pytest.fixture
def at(planted: dict[str, str]) -> dict[str, str]:  # noqa: F811
    return planted


def test_every_list_pages_narrows_and_chooses(acme: Tenant, at: dict[str, str]) -> None:
    for template, filters in PAGED.items():
        if template.startswith("/api/v1/tenants"):
            continue  # the installation's own
        path = f"{template.removeprefix('/api/v1/')}?{NEEDED.get(template, '')}".format(**at)
        whole = acme.owner.get(f"{path}limit=1000")["items"]
        first = acme.owner.get(f"{path}limit=1")
        assert first["items"] == whole[:1], path
        if whole and first["next"] is not None:
            rest = acme.owner.get(f"{path}limit=999&cursor={first['next']}")["items"]
            assert rest == whole[1:], path
        for one in filters:
            few = acme.owner.get(f"{path}limit=1000&{one.format(**at)}")["items"]
            assert len(few) <= len(whole), (path, one)
            assert all(item in whole for item in few), (path, one)
        if whole:
            name = next(iter(whole[0]))
            assert acme.owner.get(f"{path}limit=1&fields={name}")["items"] == [{name: whole[0][name]}], path
        assert acme.owner.get(f"{path}fields=gone", 422)["code"] == "field-unknown", f"{path}, empty or not"


def test_a_filter_leaves_what_it_says(acme: Tenant, at: dict[str, str]) -> None:
    def names(path: str, field: str = "name") -> list[Any]:
        return [one[field] for one in acme.owner.get(path)["items"]]

    assert names("users?role=member") == ["planted@example.org"]
    assert names("users?kind=service") == []
    assert names(f"keys?user={at['user']}") == ["planted-key"]
    key = acme.owner.post("keys", {"name": "ended"})["key"]["id"]
    assert acme.owner("DELETE", f"keys/{key}").status_code == 200
    assert names("keys?revoked=true") == ["ended"]
    assert "ended" not in names("keys?revoked=false")
    assert names("secrets?name=gone") == []
    assert set(names("audit-log?action=secret.set", "target")) == {"PLANTED_SECRET"}
    assert names(f"audit-log?actor={at['user']}", "target") == []
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    assert names(f"audit-log?since={soon}", "seq") == []
    assert names(f"audit-log?until={soon}", "seq") == names("audit-log", "seq")
    assert names("operations?kind=audit", "id") == []
    assert names("operations?kind=export&state=done", "id") == [at["operation"]]
    assert names("labels/suites?name=gone") == []
    assert names(f"run-sets/{at['run_set']}/profiles?profile=planted-other") == ["planted-other"]
    assert names(f"run-sets/{at['run_set']}/sides?profile=planted-other", "profile") == ["planted-other"]
    assert names(f"series/planted-series/history?since={soon}", "revision") == []
    assert names("suites?label=gone", "suite_id") == []
    assert len(names(f"suites/{at['suite']}/certificates?task=*", "name")) == 2
    assert len(names(f"suites/{at['suite']}/certificates?task=*1", "name")) == 1


def test_the_tenants_of_the_installation_are_a_list_as_any(server: Server, http: TestClient) -> None:
    administrator = new_tenant(server, http, administrator=True)
    for _ in range(2):
        new_tenant(server, http)
    first = administrator.owner.get("tenants?limit=2&fields=name")
    more = administrator.owner.get(f"tenants?limit=1&fields=name&cursor={first['next']}")
    names = [one["name"] for one in [*first["items"], *more["items"]]]
    assert names == sorted(set(names))
    assert len(names) == 3
    (one,) = administrator.owner.get(f"tenants?name={administrator.name}")["items"]
    assert one["name"] == administrator.name


def test_a_cursor_leads_on_in_its_own_list_alone(acme: Tenant, at: dict[str, str]) -> None:
    cursor = acme.owner.get("users?limit=1")["next"]
    for path in ("keys", "run-sets", "operations", "users?role=owner"):
        mark = "&" if "?" in path else "?"
        assert acme.owner.get(f"{path}{mark}cursor={cursor}", 422)["code"] == "cursor", path
    assert acme.owner.get(f"events/history?cursor={cursor}", 422)["where"] == "cursor"
    assert len(acme.owner.get(f"users?cursor={cursor}&limit=5&fields=name")["items"]) == 1, "its size may be another"
    profile = acme.owner.get(f"run-sets/{at['run_set']}/profiles?limit=1")["next"]
    assert acme.owner.get(f"run-sets/{at['run_set']}/sides?cursor={profile}", 422)["code"] == "cursor"


def test_the_list_goes_on_where_an_item_is_gone(acme: Tenant) -> None:
    for number in range(4):
        acme.owner("PUT", f"secrets/S{number}", {"value": "a value"})
    cursor = acme.owner.get("secrets?limit=2")["next"]
    acme.owner("DELETE", "secrets/S1")
    assert [one["name"] for one in acme.owner.get(f"secrets?cursor={cursor}")["items"]] == ["S2", "S3"]


def test_a_list_in_memory_goes_on_where_an_item_is_gone() -> None:
    def asked(cursor: str | None) -> Any:
        request = Request({"type": "http", "path": "/api/v1/running", "query_string": b"profile=a"})
        return _Paging(request=request, limit=2, cursor=cursor, fields=None)

    items = [{"id": name} for name in "abcde"]
    first = asked(None).cut(items, lambda one: one["id"])
    assert [one["id"] for one in first["items"]] == ["a", "b"]
    begun_before = asked(first["next"]).cut(items[1:], lambda one: one["id"])
    assert [one["id"] for one in begun_before["items"]] == ["c", "d"], "one that ended shifts nothing"
    gone = asked(first["next"]).cut([one for one in items if one["id"] != "b"], lambda one: one["id"])
    assert [one["id"] for one in gone["items"]] == ["d", "e"]
    assert asked(gone["next"]).cut(items, lambda one: one["id"]) == {"items": [], "next": None}


def test_events_go_on_by_cursor_and_by_after(acme: Tenant) -> None:
    assert acme.owner.get("events/history?cursor=0")["items"] == acme.owner.get("events/history?after=0")["items"]
    nowhere = "01a22e2c-a2fa-78c5-aaf7-00000000000f"
    assert acme.owner.get(f"events/history?cursor={nowhere}", 404)["where"] == "cursor"


@pytest.mark.parametrize("path", ["users?bogus=1", "me?bogus=1", "run-sets?stat=running", "run-sets?limit=1&bogus"])
def test_an_unknown_parameter_is_refused(acme: Tenant, path: str) -> None:
    told = acme.owner.get(path, 422)
    assert told["code"] == "parameter-unknown"
    assert told["where"] in path
    assert ("state" in told["detail"]) is path.startswith("run-sets")


def test_an_open_route_refuses_an_unknown_parameter_too(nobody: Asker) -> None:
    assert nobody.get("downloads/x?bogus=1", 422)["code"] == "parameter-unknown"
    assert nobody.get("me?bogus=1", 401)["code"] == "unauthenticated", "whoever may not ask is told that alone"


@pytest.mark.parametrize(
    "query",
    ["run-sets?state=xx", "operations?state=xx", "operations?kind=xx", "users?role=xx", "audit-log?action=xx"],
)
def test_a_value_that_no_item_can_have_is_refused(acme: Tenant, query: str) -> None:
    told = acme.owner.get(query, 422)
    assert (told["code"], told["where"]) == ("request-invalid", f"query.{query.partition('?')[2][:-3]}")
    assert "should be '" in told["detail"], "it names those there are"
    assert told["remedy"]


def test_cells_are_narrowed_by_what_there_is(acme: Tenant, at: dict[str, str]) -> None:
    cells = f"run-sets/{at['run_set']}/cells"
    told = acme.owner.get(f"{cells}?outcome=nonsense", 422)
    assert "not_started" in str(told["errors"])
    assert "agent_limit" in str(told["errors"])
    assert acme.owner.get(f"{cells}?outcome=not_started")["items"] == []
    assert acme.owner.get(f"{cells}?profile=nope", 422)["where"] == "profile"
    assert acme.owner.get(f"{cells}?task=nope", 422)["where"] == "task"
    for name in ("profiles", "sides", "running", "stalled"):
        assert acme.owner.get(f"run-sets/{at['run_set']}/{name}?profile=nope", 422)["where"] == "profile", name


def test_what_is_nowhere_is_told_as_a_problem(acme: Tenant) -> None:
    for method, path, status, code in (
        ("GET", "nowhere", 404, "not-found"),
        ("DELETE", "me", 405, "method-not-allowed"),
        ("GET", "../nowhere", 404, "not-found"),
    ):
        response = acme.owner(method, path)
        assert response.headers["content-type"] == "application/problem+json", path
        assert (response.status_code, response.json()["code"]) == (status, code)
        assert response.json()["remedy"]
