"""Alerts that somebody has seen: by whom, why and until when; never another tenant's, and no longer than was said."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from proctor.app import Server
from proctor.identity.permissions import Role
from tests.api.conftest import Asker, Tenant

LIST = "alerts/acknowledgements"
ALERT = "run-set.0198c2f0-5e1a-7b3c-a4d5-6e7f8091a2b3.waits.registry.docker.io~2flibrary"


def put(asker: Asker, alert: str = ALERT, body: Any = None, code: int = 200) -> Any:
    response = asker("PUT", f"{LIST}/{alert}", {} if body is None else body)
    assert response.status_code == code, response.text
    return response.json()


def alerts(asker: Asker) -> list[str]:
    return [one["alert"] for one in asker.get(LIST)["items"]]


def lasts(told: Any) -> timedelta:
    return datetime.fromisoformat(told["until"]) - datetime.fromisoformat(told["created_at"])


def audited(tenant: Tenant) -> list[tuple[str, str, Any]]:
    found = tenant.owner.get("audit-log?limit=1000")["items"]
    return [(one["action"], one["target"], one["detail"]) for one in found if one["action"].startswith("alert.")]


def let_time_pass(server: Server, tenant: Tenant, hours: int) -> None:
    """As if everything had been said that much earlier."""
    earlier = text(
        "UPDATE proctor.acknowledgement SET created_at = created_at - make_interval(hours => :hours),"
        " until = until - make_interval(hours => :hours)"
    )
    server.database.as_tenant(tenant.id, lambda c: c.execute(earlier, {"hours": hours}) and None)


def test_an_alert_is_acknowledged_again_and_taken_back(acme: Tenant) -> None:
    assert acme.owner.get(LIST) == {"items": [], "next": None}
    first = put(acme.owner)
    assert (first["alert"], first["acknowledged_by"], first["note"]) == (ALERT, f"owner@{acme.name}.example", "")
    assert lasts(first) == timedelta(hours=24)
    again = put(acme.as_role(Role.MEMBER), body={"note": "raised on Monday", "hours": 168})
    assert (again["acknowledged_by"], again["note"]) == (f"member@{acme.name}.example", "raised on Monday")
    assert lasts(again) == timedelta(days=7)
    assert acme.owner.get(LIST)["items"] == [again]
    assert acme.owner("DELETE", f"{LIST}/{ALERT}").json() == again
    gone = acme.owner("DELETE", f"{LIST}/{ALERT}")
    assert (gone.status_code, gone.json()["code"]) == (404, "acknowledgement-unknown")
    assert alerts(acme.owner) == []


def test_pages_are_in_the_order_of_the_keys(acme: Tenant) -> None:
    for alert in ("queue.slow", "logs.lost", "queue.dead"):
        put(acme.owner, alert)
    page = acme.owner.get(f"{LIST}?limit=2&fields=alert")
    assert page["items"] == [{"alert": "logs.lost"}, {"alert": "queue.dead"}]
    assert [one["alert"] for one in acme.owner.get(f"{LIST}?cursor={page['next']}")["items"]] == ["queue.slow"]


@pytest.mark.parametrize(
    ("role", "writes"), [(Role.VIEWER, 403), (Role.REVIEWER, 403), (Role.MEMBER, 200), (Role.ADMIN, 200)]
)
def test_who_may(acme: Tenant, role: Role, writes: int) -> None:
    asker = acme.as_role(role)
    put(acme.owner)
    assert alerts(asker) == [ALERT]
    put(asker, code=writes)
    assert asker("DELETE", f"{LIST}/{ALERT}").status_code == writes


def test_another_tenant_sees_and_takes_back_nothing(acme: Tenant, rival: Tenant) -> None:
    put(acme.owner, "queue.slow", {"note": "ours"})
    assert alerts(rival.owner) == []
    assert rival.owner("DELETE", f"{LIST}/queue.slow").status_code == 404
    put(rival.owner, "queue.slow", {"note": "theirs"})
    assert [one["note"] for one in acme.owner.get(LIST)["items"]] == ["ours"]


def test_its_time_is_over(acme: Tenant, server: Server) -> None:
    put(acme.owner, "queue.slow", {"hours": 1})
    put(acme.owner, "logs.lost", {"hours": 2})
    let_time_pass(server, acme, 1)
    assert alerts(acme.owner) == ["logs.lost"]
    assert acme.owner("DELETE", f"{LIST}/queue.slow").status_code == 404
    put(acme.owner, "queue.dead")
    kept = text("SELECT alert FROM proctor.acknowledgement ORDER BY 1")
    rows = server.database.as_tenant(acme.id, lambda c: c.execute(kept).scalars().all())
    assert rows == ["logs.lost", "queue.dead"], "what is over is kept no longer than to the next"
    assert put(acme.owner, "queue.slow")["until"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"hours": 0}, "body.hours"),
        ({"hours": 169}, "body.hours"),
        ({"hours": 1.5}, "body.hours"),
        ({"hours": "soon"}, "body.hours"),
        ({"note": "x" * 201}, "body.note"),
        ({"note": None}, "body.note"),
        ({"for": 24}, "body.for"),
        ([], "body"),
    ],
)
def test_what_can_t_be_is_refused_and_says_where(acme: Tenant, body: Any, where: str) -> None:
    refused = put(acme.owner, body=body, code=422)
    assert (refused["code"], [one["where"] for one in refused["errors"]]) == ("request-invalid", [where])
    assert (alerts(acme.owner), audited(acme)) == ([], [])


def test_a_note_that_no_text_can_hold_is_refused(acme: Tenant) -> None:
    assert put(acme.owner, body={"note": "zero\0byte"}, code=422)["code"] == "request-invalid"
    assert audited(acme) == []


@pytest.mark.parametrize("alert", ["9lives", "Queue", "a b", "a%2Fb", "a%00", "a%0A", "%C3%BC", "a" * 201, ".hidden"])
def test_a_key_of_other_characters_is_refused(acme: Tenant, alert: str) -> None:
    response = acme.owner("PUT", f"{LIST}/{alert}", {})
    assert response.status_code in (404, 422), response.text
    assert alerts(acme.owner) == []


def test_what_was_done_is_in_the_audit_log(acme: Tenant) -> None:
    put(acme.owner, "queue.slow", {"note": "known", "hours": 8})
    acme.owner("DELETE", f"{LIST}/queue.slow")
    acme.owner("DELETE", f"{LIST}/queue.slow")
    assert audited(acme) == [
        ("alert.acknowledged", "queue.slow", {"note": "known", "hours": 8}),
        ("alert.taken-back", "queue.slow", {}),
    ]


def test_two_at_once_are_one_acknowledgement(acme: Tenant) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: put(acme.owner, "queue.slow", {"note": str(number)}), range(8)))
    assert alerts(acme.owner) == ["queue.slow"]
