"""Keys and users as their holders see them: told once, kept as hashes, rotated, revoked, and written down."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from proctor.app import Server
from proctor.identity.authentication import authenticate
from proctor.identity.errors import Unauthenticated
from proctor.identity.keys import hash_of, new_key, read_key
from proctor.identity.permissions import Role
from proctor.kernel.ids import new_id
from tests.api.conftest import SECRET, Asker, Tenant


def test_a_key_is_told_once_and_kept_as_a_hash(server: Server, acme: Tenant) -> None:
    made = acme.owner.post("keys", {"name": "ci"})
    assert made["secret"] not in acme.owner("GET", "keys").text
    with server.database.tenant(acme.id) as connection:
        rows = connection.execute(text("SELECT k::text FROM proctor.api_key k")).scalars().all()
        told = connection.execute(text("SELECT e::text FROM proctor.security_event e")).scalars().all()
    assert rows
    assert told
    assert not [row for row in (*rows, *told) if made["secret"].split("_", 3)[3] in row]
    assert Asker(acme.http, made["secret"]).get("me")["name"] == acme.owner.get("me")["name"]


@pytest.mark.parametrize(
    "text_of",
    [
        lambda key: "",
        lambda key: "nonsense",
        lambda key: key[:-1],
        lambda key: key + "x",
        lambda key: key.swapcase(),
        lambda key: "_".join(key.split("_", 3)[:3]) + "_" + "A" * 43,
        lambda key: f" {key} extra",
        lambda key: key.replace("proctor_", "proctor_" + "a" * 26 + "_"),
        lambda key: "proctor_" + "7" * 26 + "_" + "a" * 10 + "_" + "A" * 43,
    ],
)
def test_what_is_no_key_opens_nothing(server: Server, acme: Tenant, text_of) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Unauthenticated):
        authenticate(server.database, SECRET, text_of(acme.owner_key))


def test_a_key_of_another_installation_opens_nothing(server: Server, acme: Tenant) -> None:
    with pytest.raises(Unauthenticated):
        authenticate(server.database, b"another secret, and as long as it has to be", acme.owner_key)


def test_a_key_says_its_tenant_and_prefix() -> None:
    tenant = new_id()
    parts, key = new_key(tenant)
    assert read_key(key) == parts
    assert parts.tenant == tenant
    assert len(hash_of(key, SECRET)) == 32


def test_an_expired_key_opens_nothing(acme: Tenant) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=1)
    made = acme.owner.post("keys", {"name": "short", "expires_at": soon.isoformat()})
    while datetime.now(UTC) < soon + timedelta(seconds=0.1):
        time.sleep(0.1)
    Asker(acme.http, made["secret"]).get("me", 401)
    past = {"name": "over", "expires_at": (soon - timedelta(days=1)).isoformat()}
    refused = acme.owner.post("keys", past, 422)
    assert (refused["code"], refused["where"]) == ("key-refused", "expires_at")


def test_a_narrowed_key_gives_nothing_that_it_may_not(server: Server, acme: Tenant) -> None:
    narrow = Asker(acme.http, acme.owner.post("keys", {"name": "ci", "scopes": ["runs:read"]})["secret"])
    wide = [key["id"] for key in acme.owner.get("keys")["items"] if key["scopes"] is None]
    assert wide
    for identity in wide:
        assert narrow.post(f"keys/{identity}/rotate", {}, 403)["code"] == "forbidden"
    fresh = narrow.post("keys", {"name": "more"})
    assert Asker(acme.http, fresh["secret"]).get("me")["permissions"] == ["runs:read", "self"]
    keeper = acme.owner.post("keys", {"name": "keeper", "scopes": ["users:read", "users:write"]})
    keeping = Asker(acme.http, keeper["secret"])
    member = acme.as_role(Role.MEMBER).get("me")["user"]
    assert keeping.post("users", {"name": "new@example.org", "role": "owner"}, 403)["code"] == "forbidden"
    assert keeping("PATCH", f"users/{member}", {"role": "admin"}).status_code == 403
    for key in acme.owner.get(f"keys?user={member}")["items"]:
        keeping.post(f"keys/{key['id']}/rotate", {}, 403)
    made = keeping.post("keys", {"name": "of another", "user": member})
    assert Asker(acme.http, made["secret"]).get("me")["permissions"] == ["self"]


def test_an_admin_gets_no_more_by_a_key_of_an_administrator(server: Server, acme: Tenant) -> None:
    """The installation's administrator may be anybody's equal by role."""
    admin = acme.as_role(Role.ADMIN)
    boss = acme.as_role(Role.ADMIN)
    identity = boss.get("me")["user"]
    with server.database.tenant(acme.id) as connection:
        connection.execute(text("UPDATE proctor.tenant_user SET administrator = true WHERE id = :id"), {"id": identity})
    made = admin.post("keys", {"name": "borrowed", "user": identity})
    assert "platform" not in Asker(acme.http, made["secret"]).get("me")["permissions"]
    (own,) = admin.get(f"keys?user={identity}")["items"][:1]
    admin.post(f"keys/{own['id']}/rotate", {}, 403)


def test_a_key_of_nobody_who_may_come_in_is_not_made(acme: Tenant) -> None:
    user = acme.as_role(Role.MEMBER).get("me")["user"]
    acme.owner("PATCH", f"users/{user}", {"disabled": True})
    refused = acme.owner.post("keys", {"name": "x", "user": user}, 422)
    assert (refused["code"], refused["where"]) == ("key-refused", "user")


def test_an_address_is_one_whatever_its_letters(acme: Tenant) -> None:
    made = acme.owner.post("users", {"name": "Bob@Example.org", "role": "viewer"})
    assert made["name"] == "bob@example.org"
    assert acme.owner.post("users", {"name": "BOB@example.org", "role": "viewer"}, 409)["code"] == "name-taken"
    assert acme.owner.post("users", {"name": "😀\u202e@example.org", "role": "viewer"}, 422)["code"] == "user-name"


def test_a_revoked_key_opens_nothing_at_once(acme: Tenant) -> None:
    made = acme.owner.post("keys", {"name": "gone"})
    holder = Asker(acme.http, made["secret"])
    holder.get("me")
    assert acme.owner("DELETE", f"keys/{made['key']['id']}").status_code == 200
    holder.get("me", 401)
    assert acme.owner("DELETE", f"keys/{made['key']['id']}").status_code == 200, "to revoke it again changes nothing"


def test_a_rotated_key_works_until_its_time_is_over(acme: Tenant) -> None:
    made = acme.owner.post("keys", {"name": "turning", "scopes": ["runs:read"]})
    fresh = acme.owner.post(f"keys/{made['key']['id']}/rotate", {"overlap_sec": 3600})
    assert Asker(acme.http, made["secret"]).get("me")["permissions"] == ["runs:read", "self"]
    assert Asker(acme.http, fresh["secret"]).get("me")["permissions"] == ["runs:read", "self"]
    acme.owner.post(f"keys/{made['key']['id']}/rotate", {}, 404)
    at_once = acme.owner.post(f"keys/{fresh['key']['id']}/rotate", {"overlap_sec": 0})
    Asker(acme.http, fresh["secret"]).get("me", 401)
    Asker(acme.http, at_once["secret"]).get("me")


def test_a_key_that_lives_for_a_time_lives_as_long_again(acme: Tenant) -> None:
    ends = datetime.now(UTC) + timedelta(days=2)
    made = acme.owner.post("keys", {"name": "days", "expires_at": ends.isoformat()})
    fresh = acme.owner.post(f"keys/{made['key']['id']}/rotate", {"overlap_sec": 60})
    assert timedelta(days=3.9) < datetime.fromisoformat(fresh["key"]["expires_at"]) - datetime.now(UTC)
    old = next(key for key in acme.owner.get("keys")["items"] if key["id"] == made["key"]["id"])
    assert datetime.fromisoformat(old["expires_at"]) < datetime.now(UTC) + timedelta(seconds=61)
    assert old["replaced_by"] == fresh["key"]["id"]


def test_use_is_noted(acme: Tenant) -> None:
    made = acme.owner.post("keys", {"name": "used"})
    assert made["key"]["last_used_at"] is None
    Asker(acme.http, made["secret"]).get("me")
    (seen,) = [key for key in acme.owner.get("keys")["items"] if key["name"] == "used"]
    assert datetime.now(UTC) - datetime.fromisoformat(seen["last_used_at"]) < timedelta(minutes=1)


def test_a_disabled_user_is_out_with_every_key(acme: Tenant) -> None:
    member = acme.as_role(Role.MEMBER)
    user = member.get("me")["user"]
    assert acme.owner("PATCH", f"users/{user}", {"disabled": True}).status_code == 200
    member.get("me", 401)
    assert acme.owner("PATCH", f"users/{user}", {"disabled": False}).status_code == 200
    member.get("me")


def test_a_role_that_is_taken_away_is_gone_from_every_key(acme: Tenant) -> None:
    member = acme.as_role(Role.MEMBER)
    assert acme.owner("PATCH", f"users/{member.get('me')['user']}", {"role": "viewer"}).status_code == 200
    assert "runs:write" not in member.get("me")["permissions"]


def test_a_change_decided_by_an_older_version_is_refused(acme: Tenant) -> None:
    user = acme.owner.post("users", {"name": "bob@example.org", "role": "viewer"})
    tag = acme.owner("GET", f"users/{user['id']}").headers["etag"]
    assert acme.owner("PATCH", f"users/{user['id']}", {"role": "member"}, if_match=tag).status_code == 200
    stale = acme.owner("PATCH", f"users/{user['id']}", {"role": "admin"}, if_match=tag)
    assert (stale.status_code, stale.json()["code"]) == (412, "user-changed")
    assert acme.owner.get(f"users/{user['id']}")["role"] == "member"


def test_the_log_says_what_a_change_replaced(acme: Tenant) -> None:
    user = acme.owner.post("users", {"name": "bob@example.org", "role": "viewer"})
    acme.owner("PATCH", f"users/{user['id']}", {"role": "member"})
    acme.owner("PATCH", f"users/{user['id']}", {"disabled": True})
    acme.owner("PUT", "retention", {"result_days": 30, "rollup_days": 365})
    acme.owner("PUT", "retention", {"result_days": 60, "rollup_days": 365})
    noted = [(one["action"], one["detail"]) for one in acme.owner.get("audit-log")["items"]]
    assert noted[-4:-2] == [
        ("user.changed", {"role": "member", "disabled": False, "before": {"role": "viewer"}}),
        ("user.changed", {"role": "member", "disabled": True, "before": {"disabled": False}}),
    ]
    assert noted[-1] == ("retention.set", {"result_days": 60, "rollup_days": 365, "before": {"result_days": 30}})


def test_the_log_names_keys_and_tells_one_that_may_all_from_one_that_may_nothing(acme: Tenant) -> None:
    user = acme.owner.get("me")["user"]
    made = [acme.owner.post("keys", {"name": "ci", **more})["key"]["id"] for more in ({}, {"scopes": []})]
    turned = acme.owner.post(f"keys/{made[0]}/rotate", {})["key"]["id"]
    assert acme.owner("DELETE", f"keys/{turned}").status_code == 200
    noted = [(one["action"], one["target"], one["detail"]) for one in acme.owner.get("audit-log")["items"]]
    assert noted[-4:] == [
        ("key.created", made[0], {"name": "ci", "user": user, "scopes": "all of its user's role"}),
        ("key.created", made[1], {"name": "ci", "user": user, "scopes": []}),
        ("key.rotated", made[0], {"name": "ci", "to": turned}),
        ("key.revoked", turned, {"name": "ci"}),
    ]


def test_what_was_done_is_written_down_and_stays(server: Server, acme: Tenant) -> None:
    acme.owner.post("users", {"name": "bob@example.org", "role": "viewer"})
    entries = acme.owner.get("audit-log")["items"]
    assert [entry["action"] for entry in entries] == ["tenant.created", "user.created", "key.created", "user.created"]
    assert entries[-1]["actor"] == acme.owner.get("me")["user"]
    first = acme.owner.get("audit-log?order=newest&limit=3")
    rest = acme.owner.get(f"audit-log?order=newest&limit=3&cursor={first['next']}")
    assert [*first["items"], *rest["items"]] == entries[::-1]
    assert rest["next"] is None
    for statement in ("DELETE FROM proctor.security_event", "UPDATE proctor.security_event SET action = ''"):
        with pytest.raises(Exception, match="permission denied"), server.database.tenant(acme.id) as connection:
            connection.execute(text(statement))


def test_names_are_checked(acme: Tenant) -> None:
    for name, kind in (("no address", "person"), ("a@b\x00c", "person"), ("Capital", "service"), ("", "service")):
        acme.owner.post("users", {"name": name, "kind": kind, "role": "viewer"}, 422)
    acme.owner.post("users", {"name": "bob@example.org", "role": "viewer"})
    assert acme.owner.post("users", {"name": "bob@example.org", "role": "viewer"}, 409)["code"] == "name-taken"
