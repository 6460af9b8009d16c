"""Every route declares what it needs, and every role may do what its table says and nothing else."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant

from proctor.api.asking import permission_of
from proctor.identity.permissions import ROLES, Permission, Role
from tests.api.conftest import Asker, Tenant
from tests.api.routes import OPEN, PROBES, SOCKETS, Probe, routes_of, sockets_of

NOWHERE = {
    "user": "01a22e2c-a2fa-78c5-aaf7-000000000001",
    "key": "01a22e2c-a2fa-78c5-aaf7-000000000002",
    "suite": "f" * 64,
    "suite_label": "nothing-at-all",
    "run_set": "01a22e2c-a2fa-78c5-aaf7-000000000003",
    "run_set_label": "not-anything",
    "series": "no-such-series",
    "attempt": "01a22e2c-a2fa-78c5-aaf7-000000000004",
    "cell": "01a22e2c-a2fa-78c5-aaf7-000000000006",
    "artifact": "no-artifact",
    "step": "1",
    "tenant": "no-such-tenant",
    "scope": "provider",
    "provider": "nobody",
    "digest": "0" * 64,
    "operation": "01a22e2c-a2fa-78c5-aaf7-000000000005",
    "secret": "NO_SUCH_SECRET",
    "alert": "no.such-alert",
    "evaluator": "nowhere",
    "prompt": "no-such-prompt",
    "dataset": "no-such-dataset",
    "samples": "no-such-samples",
    "job": "no-such-job",
    "other_job": "no-other-job",
    "stream": "no-such-stream",
}
"""Ids of things that there are not."""


def declared(dependant: Dependant) -> list[Permission]:
    found = [permission_of(one.call) for one in dependant.dependencies]
    return [permission for permission in found if permission is not None]


def filled(value: object, things: dict[str, str]) -> object:
    if isinstance(value, str):
        return value.format(**things)
    if isinstance(value, list):
        return [filled(item, things) for item in value]
    return {name: filled(item, things) for name, item in value.items()} if isinstance(value, dict) else value


def ask(asker: Asker, name: str, probe: Probe, things: dict[str, str]):  # type: ignore[no-untyped-def]
    method, _, path = name.partition(" ")
    path = path.removeprefix("/api/v1/") if path.startswith("/api") else f"../..{path}"
    path = path.format(**{part: things[thing] for part, thing in probe.things.items()})
    query = f"?{probe.query.format(**things)}" if probe.query else ""
    return asker(method, path + query, filled(probe.body, things))


def test_every_route_declares_one_permission_or_says_why_it_is_open(app: FastAPI) -> None:
    for name, route in routes_of(app):
        found = declared(route.dependant)
        assert (name in OPEN) != (len(found) == 1), f"{name}: {found}"


def test_every_socket_declares_one_permission_and_is_known() -> None:
    assert tuple(path for path, _ in sockets_of()) == SOCKETS
    for path, route in sockets_of():
        assert len(declared(route.dependant)) == 1, path


def test_every_route_has_a_probe(app: FastAPI) -> None:
    names = {name for name, _ in routes_of(app)}
    assert names - set(OPEN) == set(PROBES)


def test_nobody_gets_anywhere(app: FastAPI, nobody: Asker) -> None:
    bodies = set()
    for name in PROBES:
        response = ask(nobody, name, PROBES[name], NOWHERE)
        assert response.status_code == 401, f"{name}: {response.text}"
        bodies.add(response.json()["code"])
        assert response.headers["www-authenticate"] == 'Bearer realm="proctor"'
    assert bodies == {"unauthenticated"}


@pytest.mark.parametrize("role", list(Role))
def test_a_role_may_what_its_table_says(app: FastAPI, acme: Tenant, role: Role) -> None:
    asker = acme.as_role(role)
    for name, route in routes_of(app):
        if name in OPEN:
            continue
        (permission,) = declared(route.dependant)
        response = ask(asker, name, PROBES[name], NOWHERE)
        may = permission in ROLES[role]
        refused = response.status_code == 403 and f"{permission.value!r}" in response.json()["detail"]
        assert refused is not may, f"{role} {name}: {response.status_code} {response.text}"


def test_a_key_is_narrowed_to_its_scopes(acme: Tenant) -> None:
    key = acme.owner.post("keys", {"name": "narrow", "scopes": ["runs:read"]})
    narrow = Asker(acme.http, key["secret"])
    narrow.get("run-sets")
    assert narrow.get("users", 403)["code"] == "forbidden"
    assert set(narrow.get("me")["permissions"]) == {"runs:read", "self"}


def test_a_narrowed_key_makes_no_wider_one(acme: Tenant) -> None:
    narrow = Asker(acme.http, acme.owner.post("keys", {"name": "narrow", "scopes": ["runs:read"]})["secret"])
    assert narrow.post("keys", {"name": "wider", "scopes": ["users:write"]}, 422)["code"] == "scope"
    child = Asker(acme.http, narrow.post("keys", {"name": "as wide"})["secret"])
    assert set(child.get("me")["permissions"]) == {"runs:read", "self"}


def test_nobody_rises_above_their_own_role(acme: Tenant) -> None:
    admin = acme.as_role(Role.ADMIN)
    admin.post("users", {"name": "boss@example.org", "role": "owner"}, 403)
    owner = acme.owner.get("me")["user"]
    assert admin("PATCH", f"users/{owner}", {"disabled": True}).status_code == 403
    assert admin.post("keys", {"name": "stolen", "user": owner}, 404)["code"] == "key-unknown"


def test_a_member_keeps_no_keys_of_others(acme: Tenant) -> None:
    member, viewer = acme.as_role(Role.MEMBER), acme.as_role(Role.VIEWER)
    theirs = viewer.get("keys")["items"]
    assert [key["user_id"] for key in theirs] == [viewer.get("me")["user"]]
    assert member("DELETE", f"keys/{theirs[0]['id']}").status_code == 404
    assert member.post("keys", {"name": "x", "user": viewer.get("me")["user"]}, 403)["code"] == "forbidden"


def test_one_owner_stays(acme: Tenant) -> None:
    owner = acme.owner.get("me")["user"]
    assert acme.owner("PATCH", f"users/{owner}", {"role": "viewer"}).json()["code"] == "last-owner"
    assert acme.owner("PATCH", f"users/{owner}", {"disabled": True}).json()["code"] == "last-owner"
    service = acme.owner.post("users", {"name": "robot", "kind": "service", "role": "owner"})
    assert acme.owner("PATCH", f"users/{owner}", {"disabled": True}).status_code == 409, service
