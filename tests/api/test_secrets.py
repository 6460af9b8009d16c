"""Secrets of tenants: set, listed, removed and wrapped anew; never told, and never another tenant's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from proctor.app import Server, keyring_of
from proctor.database.engine import Database
from proctor.identity.audit_log import Actor
from proctor.identity.permissions import Role
from proctor.identity.vault import rotation
from proctor.identity.vault.errors import SecretBroken, SecretNameInvalid, SecretValueInvalid
from proctor.identity.vault.key_files import FileKeyring
from proctor.identity.vault.secrets import open_secrets, set_secret
from proctor.sdk.secrets import kept_secrets
from proctor.settings import Settings
from tests.api.conftest import SECRET, Asker, Tenant

VALUE = "sk-planted-value-0123456789"
OTHER = "sk-another-value-9876543210"


def put(asker: Asker, name: str, value: object = VALUE, code: int = 200) -> object:
    response = asker("PUT", f"secrets/{name}", {"value": value})
    assert response.status_code == code, response.text
    assert str(value) not in response.text
    return response.json()


# --- the routes ------------------------------------------------------------------------------------------------------


def test_a_secret_is_set_replaced_listed_and_removed(acme: Tenant) -> None:
    assert acme.owner.get("secrets") == {"items": [], "next": None}
    first = put(acme.owner, "TOKEN")
    assert {**first, "set_at": ""} == {  # type: ignore[dict-item]
        "name": "TOKEN",
        "version": 1,
        "set_at": "",
        "set_by": f"owner@{acme.name}.example",
        "last_used_at": None,
    }
    again = put(acme.as_role(Role.ADMIN), "TOKEN", OTHER)
    assert (again["version"], again["set_by"]) == (2, f"admin@{acme.name}.example")  # type: ignore[index]
    put(acme.owner, "A_SECOND_ONE")
    page = acme.owner.get("secrets?limit=1")
    assert [one["name"] for one in page["items"]] == ["A_SECOND_ONE"]
    assert [one["name"] for one in acme.owner.get(f"secrets?limit=9&cursor={page['next']}")["items"]] == ["TOKEN"]
    assert acme.owner("DELETE", "secrets/TOKEN").json()["version"] == 2
    assert acme.owner("DELETE", "secrets/TOKEN").json()["code"] == "secret-unknown"
    assert [one["name"] for one in acme.owner.get("secrets?fields=name")["items"]] == ["A_SECOND_ONE"]


@pytest.mark.parametrize(
    ("role", "reads", "writes"),
    [(Role.VIEWER, 403, 403), (Role.REVIEWER, 403, 403), (Role.MEMBER, 200, 403), (Role.ADMIN, 200, 200)],
)
def test_who_may(acme: Tenant, role: Role, reads: int, writes: int) -> None:
    asker = acme.as_role(role)
    assert asker("GET", "secrets").status_code == reads
    assert asker("PUT", "secrets/TOKEN", {"value": VALUE}).status_code == writes
    put(acme.owner, "TOKEN")
    assert asker("DELETE", "secrets/TOKEN").status_code == writes


def test_no_answer_holds_a_value(acme: Tenant) -> None:
    put(acme.owner, "TOKEN")
    answers = [
        acme.owner("GET", path).text for path in ("secrets", "audit-log", "events/history", "keys", "openapi.json")
    ]
    answers.append(acme.owner("DELETE", "secrets/TOKEN").text)
    answers.append(acme.owner("GET", "audit-log").text)
    assert not [answer for answer in answers if VALUE in answer]
    noted = [(one["action"], one["target"], one["detail"]) for one in acme.owner.get("audit-log")["items"]]
    assert noted[-2:] == [("secret.set", "TOKEN", {"version": 1}), ("secret.removed", "TOKEN", {"version": 1})]


@pytest.mark.parametrize("value", ["", "sk-ab", "x" * 65_537, "ü" * 40_000, "a\0bcdefgh", 7, None, ["sk-listed-value"]])
def test_a_value_that_can_t_be_kept_is_refused_and_not_told(acme: Tenant, value: object) -> None:
    response = acme.owner("PUT", "secrets/TOKEN", {"value": value})
    assert response.status_code == 422, response.text
    assert response.json()["where"] in ("value", "body.value")
    assert not value or str(value) not in response.text or value == 7
    assert acme.owner.get("secrets")["items"] == []


def test_half_a_character_is_no_value_and_is_not_told(acme: Tenant) -> None:
    body = b'{"value": "sk-half-\\ud800-of-it"}'
    said = {"Authorization": f"Bearer {acme.owner_key}", "Content-Type": "application/json"}
    response = acme.http.put("/api/v1/secrets/TOKEN", content=body, headers=said)
    assert response.status_code == 422
    assert "sk-half" not in response.text


@pytest.mark.parametrize("name", ["9LIVES", "A-B", "A.B", "A" * 129, "%C3%9C", "A%00"])
def test_a_name_that_no_variable_has_is_refused(acme: Tenant, name: str) -> None:
    assert acme.owner("PUT", f"secrets/{name}", {"value": VALUE}).status_code == 422


def test_the_service_refuses_the_same_without_the_routes(acme: Tenant, server: Server) -> None:
    keyring, actor = keyring_of(server.settings), Actor(user=UUID(acme.owner.get("me")["user"]))

    def kept(name: str, value: str) -> Callable[[], object]:
        return lambda: server.database.as_tenant(acme.id, lambda c: set_secret(c, acme.id, actor, keyring, name, value))

    for value in ("sk-ab", "half \ud800 of it", "zero\0byte", "x" * 65_537):
        with pytest.raises(SecretValueInvalid) as caught:
            kept("TOKEN", value)()
        assert value not in str(caught.value)
    with pytest.raises(SecretNameInvalid):
        kept("A-B", VALUE)()


def test_a_server_without_a_key_says_so(acme: Tenant, server: Server, http: TestClient) -> None:
    url = "postgresql://proctor_app:x@nowhere/proctor"
    http.app.state.server = replace(server, settings=server.settings.model_copy(update={"database_url": url}))  # type: ignore[attr-defined]
    refused = acme.owner("PUT", "secrets/TOKEN", {"value": VALUE})
    assert (refused.status_code, refused.json()["code"]) == (422, "secrets-key-unset")
    assert "PROCTOR_SECRETS_KEY_FILE" in refused.json()["remedy"]


def test_a_broken_key_is_a_fault_of_the_server_and_its_place_is_not_told(acme: Tenant, server: Server) -> None:
    put(acme.owner, "TOKEN")
    path = server.settings.home / "secrets" / "secrets.key"
    path.write_text("no key")
    refused = acme.owner("PUT", "secrets/TOKEN", {"value": VALUE})
    assert (refused.status_code, refused.json()["code"]) == (500, "secrets-key")
    assert str(path) not in refused.text


def test_two_at_once_both_count(acme: Tenant) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda number: put(acme.owner, "TOKEN", f"{VALUE}{number}"), range(8)))
    assert sorted(one["version"] for one in told) == list(range(1, 9))  # type: ignore[index]


# --- tenants apart ---------------------------------------------------------------------------------------------------


def test_a_neighbour_has_none_of_it(acme: Tenant, rival: Tenant, server: Server) -> None:
    put(acme.owner, "TOKEN")
    assert rival.owner.get("secrets")["items"] == []
    assert rival.owner("DELETE", "secrets/TOKEN").status_code == 404
    put(rival.owner, "TOKEN", OTHER)
    assert kept_secrets(server.platform(acme.id), ["TOKEN"]) == {"TOKEN": VALUE}
    assert kept_secrets(server.platform(rival.id), ["TOKEN"]) == {"TOKEN": OTHER}


@pytest.mark.parametrize("moved", ["tenant", "name", "version"])
def test_a_row_that_is_moved_opens_nowhere(acme: Tenant, rival: Tenant, server: Server, moved: str) -> None:
    """As somebody would who can write to the database."""
    put(acme.owner, "TOKEN")
    put(rival.owner, "TOKEN", OTHER)
    query = text("SELECT key_id, wrapped, sealed FROM proctor.tenant_secret WHERE name = 'TOKEN'")
    stolen = server.database.as_tenant(acme.id, lambda c: c.execute(query).one())
    tenant, name = (rival.id if moved == "tenant" else acme.id), "TOKEN"
    if moved == "name":
        put(acme.owner, "NAME", OTHER)
        name = "NAME"
    change = "UPDATE proctor.tenant_secret SET key_id = :key_id, wrapped = :wrapped, sealed = :sealed"
    more = ", version = version + 1" if moved == "version" else ""
    write = text(f"{change}{more} WHERE name = :name")
    server.database.as_tenant(tenant, lambda c: c.execute(write, {**stolen._mapping, "name": name}) and None)
    with pytest.raises(SecretBroken):
        open_secrets(server.database, tenant, keyring_of(server.settings), [name])


# --- rotation --------------------------------------------------------------------------------------------------------


def rotated(server: Server) -> tuple[int, int]:
    done = rotation.rewrap_all(server.database, keyring_of(server.settings))
    return done.rewrapped, len(done.stuck)


@pytest.fixture
def lone(database: Database, server: Server) -> None:
    """Other tests' secrets are under keys that are gone with them."""
    from proctor.identity.service import tenants

    for one in database.as_scheduler(tenants):
        database.as_tenant(one.id, lambda c: c.execute(text("DELETE FROM proctor.tenant_secret")) and None)


def test_every_tenants_secrets_move_to_a_new_key(
    lone: None, acme: Tenant, rival: Tenant, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation, "PAGE", 2)
    for number in range(5):
        put(acme.owner, f"TOKEN_{number}", f"{VALUE}{number}")
    put(rival.owner, "TOKEN", OTHER)
    keyring = keyring_of(server.settings)
    assert isinstance(keyring, FileKeyring)
    assert rotated(server) == (0, 0), "there is nothing to do"
    new = keyring.add()
    assert rotated(server) == (6, 0)
    assert rotated(server) == (0, 0), "once is enough"
    keyring.path.write_text(keyring.path.read_text().splitlines()[0])
    names = [f"TOKEN_{number}" for number in range(5)]
    assert list(kept_secrets(server.platform(acme.id), names).values()) == [f"{VALUE}{n}" for n in range(5)]
    assert kept_secrets(server.platform(rival.id), ["TOKEN"]) == {"TOKEN": OTHER}
    noted = [one for one in acme.owner.get("audit-log")["items"] if one["action"] == "secrets.rewrapped"]
    assert [(one["target"], one["detail"]) for one in noted] == [(new, {"secrets": n}) for n in (2, 2, 1)]
    versions = {one["version"] for one in acme.owner.get("secrets")["items"]}
    assert versions == {1}, "no secret was replaced"


def test_a_rotation_that_is_cut_off_goes_on(
    lone: None, acme: Tenant, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation, "PAGE", 1)
    for number in range(3):
        put(acme.owner, f"TOKEN_{number}")
    keyring = keyring_of(server.settings)
    assert isinstance(keyring, FileKeyring)
    keyring.add()

    class Dying(FileKeyring):
        left = 2

        def wrap(self, data_key: bytes, bound: bytes):  # type: ignore[no-untyped-def]
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            return super().wrap(data_key, bound)

    with pytest.raises(KeyboardInterrupt):
        rotation.rewrap_all(server.database, Dying(keyring.path))
    assert len(kept_secrets(server.platform(acme.id), [f"TOKEN_{n}" for n in range(3)])) == 3
    done = rotation.rewrap_all(server.database, keyring)
    assert (done.rewrapped, done.already) == (1, 2)


def test_what_can_t_be_moved_is_named_and_left(lone: None, acme: Tenant, server: Server) -> None:
    put(acme.owner, "LOST")
    keyring = keyring_of(server.settings)
    assert isinstance(keyring, FileKeyring)
    old = keyring.current()
    keyring.path.unlink()
    put(acme.owner, "KEPT")
    keyring.add()
    done = rotation.rewrap_all(server.database, keyring)
    assert (done.rewrapped, [(one.tenant, one.name, one.key_id, one.reason) for one in done.stuck]) == (
        1,
        [(acme.name, "LOST", old, "secrets-key-unknown")],
    )


# --- the key ---------------------------------------------------------------------------------------------------------


def test_a_key_file_that_does_not_do_keeps_a_server_from_starting(tmp_path: Path) -> None:
    from proctor.app import open_server
    from proctor.identity.vault.errors import SecretsKeyUnusable

    (tmp_path / "keys").write_text("short")
    settings = Settings(home=tmp_path / "home", server_secret=SECRET.decode(), secrets_key_file=tmp_path / "keys")
    with pytest.raises(SecretsKeyUnusable) as caught, open_server(settings):
        pass
    assert caught.value.where == f"{tmp_path / 'keys'}: line 1"
    assert not (tmp_path / "home").exists(), "before anything is started"
