"""The search of log lines, and trace ids of answers, as a caller meets them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from proctor.identity.permissions import Role
from proctor.objects.store import ObjectStore
from proctor.sdk.cursors import Listing
from proctor.telemetry.places import OPERATORS, segment_key
from tests.api.conftest import Asker, Tenant

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
LOGS = Listing("logs")


def put(objects: ObjectStore, owner: str, count: int = 1, **fields: str) -> None:
    now = datetime.now(UTC)
    line = {"at": now.isoformat(), "level": "info", "event": "x", "trace_id": TRACE, **fields}
    for number in range(count):
        objects.put(segment_key(owner, now, "p", number), json.dumps(line).encode())


def test_a_tenant_reads_its_own_lines_alone(objects: ObjectStore, acme: Tenant, rival: Tenant) -> None:
    put(objects, str(acme.id), whose="acme")
    put(objects, str(rival.id), whose="rival")
    put(objects, OPERATORS, whose="operators")
    for tenant, whose in ((acme, "acme"), (rival, "rival")):
        assert [one["fields"]["whose"] for one in tenant.owner.get("logs")["items"]] == [whose]
        assert tenant.owner.get(f"logs?trace={'0' * 32}")["items"] == []


def test_lists_are_paged_and_narrowed(objects: ObjectStore, acme: Tenant) -> None:
    put(objects, str(acme.id), count=5)
    ids, cursor = [], ""
    while cursor is not None:
        page = acme.owner.get(f"logs?limit=2&fields=id{cursor and '&cursor='}{cursor}")
        ids += [one["id"] for one in page["items"]]
        cursor = page["next"]
    assert len(set(ids)) == len(ids) == 5


def test_a_name_is_looked_up_for_those_who_may_read_users(objects: ObjectStore, acme: Tenant) -> None:
    member = acme.as_role(Role.MEMBER)
    me = member.get("me")
    put(objects, str(acme.id), user=me["user"])
    for who in (me["user"], me["name"]):
        assert len(member.get(f"logs?user={who}")["items"]) == 1
    assert member.get(f"logs?user=owner@{acme.name}.example", 403)["code"] == "forbidden"
    assert acme.owner.get(f"logs?user={me['name']}")["items"]
    assert acme.owner.get("logs?user=nobody@example.org", 404)["code"] == "user-unknown"
    assert acme.as_role(Role.VIEWER).get("logs", 403)["code"] == "forbidden"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("since=0001-01-01T00:00:00Z", 200),
        ("until=9999-12-31T23:59:59Z", 200),
        ("until=0001-01-01T00:00:00Z", 422),
        ("since=9999-12-31T23:59:59Z", 422),
        ("since=2026-07-01T00:00:00", 422),
        ("level=loud", 422),
        ("trace=x", 422),
        (f"cursor={LOGS.cursor(['2026-07-01', ''])}", 422),
        (f"cursor={LOGS.cursor(['9999-12-31T23:59:59+00:00', 'x'])}", 200),
        ("text=%00", 200),
    ],
)
def test_odd_wishes_are_answered(acme: Tenant, query: str, code: int) -> None:
    acme.owner.get(f"logs?{query}", code)


def test_every_answer_says_its_trace(acme: Tenant, nobody: Asker) -> None:
    given = acme.owner("GET", "me", traceparent=f"00-{TRACE}-00f067aa0ba902b7-01")
    assert given.headers["x-trace-id"] == TRACE
    refused = nobody("GET", "me", traceparent=f"00-{TRACE}-00f067aa0ba902b7-01")
    assert refused.json()["trace_id"] == refused.headers["x-trace-id"] == TRACE
    first, second = (acme.owner("GET", "me").headers["x-trace-id"] for _ in range(2))
    assert first != second
    assert len(first) == 32
