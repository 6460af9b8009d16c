"""What holds for every request: repeated ones, pages, fields, tags, limits, headers and errors."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from proctor.api import create_app
from proctor.api.middleware import Limits, RateLimiter
from proctor.app import Server
from proctor.sdk.client import Client
from proctor.sdk.remote.client import RemoteClient
from tests.api.conftest import Asker, Tenant
from tests.api.routes import PUSH
from tests.api.test_isolation import RUN_SET
from tests.bench import Bench, write_tasks

BOB = {"name": "bob@example.org", "role": "viewer"}


def test_the_same_post_again_changes_nothing(acme: Tenant) -> None:
    first = acme.owner("POST", "users", BOB, idempotency_key="one")
    again = acme.owner("POST", "users", BOB, idempotency_key="one")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert len(acme.owner.get("users")["items"]) == 2


def test_a_push_that_is_begun_again_is_answered_as_it_was(acme: Tenant) -> None:
    body = {**PUSH, "suite": "f" * 64}
    first, again = (acme.owner("POST", "pushes", body, idempotency_key="begun") for _ in range(2))
    assert (first.status_code, first.json()["code"]) == (404, "suite-unknown")
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"


def test_a_refusal_is_repeated_too(acme: Tenant) -> None:
    acme.owner.post("users", BOB)
    for _ in range(2):
        assert acme.owner("POST", "users", BOB, idempotency_key="two").json()["code"] == "name-taken"


def test_a_key_goes_with_one_request(acme: Tenant) -> None:
    acme.owner("POST", "users", BOB, idempotency_key="three")
    other = acme.owner("POST", "users", {**BOB, "role": "member"}, idempotency_key="three")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")


def test_many_at_once_are_one(acme: Tenant) -> None:
    gate = threading.Barrier(8)

    def send(_: int) -> int:
        gate.wait()
        return acme.owner("POST", "users", BOB, idempotency_key="four").status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = set(pool.map(send, range(8)))
    assert statuses <= {201, 409}
    assert 201 in statuses
    assert len(acme.owner.get("users")["items"]) == 2


def test_a_request_whose_process_died_is_done_by_the_next(server: Server, acme: Tenant) -> None:
    acme.owner("POST", "users", BOB, idempotency_key="five")
    with server.database.tenant(acme.id) as connection:
        connection.execute(
            text("UPDATE proctor.idempotent_request SET status = NULL, began_at = now() - interval '1 hour'")
        )
    assert acme.owner("POST", "users", BOB, idempotency_key="five").json()["code"] == "name-taken", "it was done again"


def test_one_that_is_at_work_is_waited_for(server: Server, acme: Tenant) -> None:
    acme.owner("POST", "users", BOB, idempotency_key="six")
    with server.database.tenant(acme.id) as connection:
        connection.execute(text("UPDATE proctor.idempotent_request SET status = NULL"))
    busy = acme.owner("POST", "users", BOB, idempotency_key="six")
    assert (busy.status_code, busy.json()["code"]) == (409, "request-running")
    assert busy.headers["retry-after"] == "1"


def test_a_secret_is_told_once_even_so(server: Server, acme: Tenant) -> None:
    first = acme.owner("POST", "keys", {"name": "x"}, idempotency_key="seven").json()
    again = acme.owner("POST", "keys", {"name": "x"}, idempotency_key="seven").json()
    assert again == {**first, "secret": None}
    with server.database.tenant(acme.id) as connection:
        kept = connection.execute(text("SELECT body FROM proctor.idempotent_request")).scalars().all()
    assert not [body for body in kept if first["secret"].encode() in bytes(body)]


@pytest.mark.parametrize("key", ["", "a b", "x" * 256])
def test_a_malformed_key_is_refused(acme: Tenant, key: str) -> None:
    assert acme.owner("POST", "users", BOB, idempotency_key=key).json()["code"] == "idempotency-key"


def test_pages_are_followed_to_the_end(acme: Tenant) -> None:
    for number in range(7):
        acme.owner.post("users", {"name": f"robot-{number}", "kind": "service", "role": "viewer"})
    seen, cursor = [], ""
    while True:
        page = acme.owner.get(f"users?limit=3{cursor}")
        seen += [user["name"] for user in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == [f"owner@{acme.name}.example", *(f"robot-{number}" for number in range(7))]


@pytest.mark.parametrize("cursor", ["x", "W10", "bnVsbA", "eyJhIjoxfQ", "WyJ4Il0", "%00", "AAAA"])
def test_a_made_up_cursor_is_refused(acme: Tenant, cursor: str) -> None:
    for path in ("users", "run-sets", "audit-log", "keys"):
        assert acme.owner.get(f"{path}?cursor={cursor}", 422)["code"] == "cursor"


def test_fields_are_chosen(acme: Tenant) -> None:
    (user,) = acme.owner.get("users?fields=name,role")["items"]
    assert set(user) == {"name", "role"}
    assert acme.owner.get("users?fields=name,hash", 422)["where"] == "fields"


def test_what_is_known_is_not_sent_again(acme: Tenant) -> None:
    first = acme.owner("GET", "users")
    again = acme.owner("GET", "users", if_none_match=first.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    acme.owner.post("users", BOB)
    assert acme.owner("GET", "users", if_none_match=first.headers["etag"]).status_code == 200


def test_every_answer_has_its_headers(acme: Tenant, nobody: Asker) -> None:
    for response in (acme.owner("GET", "me"), nobody("GET", "me"), nobody("GET", "nowhere")):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["content-security-policy"].startswith("default-src 'none'")
        assert "access-control-allow-origin" not in response.headers
        assert response.headers["x-request-id"]


def test_other_sites_get_nothing(acme: Tenant) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "GET"}
    for method in ("OPTIONS", "GET"):
        response = acme.owner(method, "me", **asked)
        assert not [name for name in response.headers if name.startswith("access-control-allow")]


def test_a_request_id_is_taken_over_only_where_it_is_a_word(acme: Tenant) -> None:
    assert acme.owner("GET", "me", x_request_id="trace-12345678").headers["x-request-id"] == "trace-12345678"
    odd = acme.owner("GET", "me", x_request_id="<script>alert(1)</script>").headers["x-request-id"]
    assert len(odd) == 32


def test_a_body_is_no_longer_than_it_may_be(server: Server, acme: Tenant) -> None:
    with TestClient(create_app(server, Limits(body_bytes=1000, burst=1000))) as http:
        asker = Asker(http, acme.owner_key)
        assert asker("POST", "users", {"name": "x" * 2000, "role": "viewer"}).status_code == 413
        pieces = (b" " * 500 for _ in range(10))
        said = {"Authorization": f"Bearer {acme.owner_key}", "Content-Type": "application/json"}
        streamed = http.post("/api/v1/users", content=pieces, headers=said)
        assert (streamed.status_code, streamed.json()["code"]) == (413, "too-large")


def test_a_caller_has_a_rate_of_its_own(server: Server, acme: Tenant, rival: Tenant) -> None:
    with TestClient(create_app(server, Limits(per_second=0.001, burst=3))) as http:
        statuses = [Asker(http, acme.owner_key)("GET", "me").status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert Asker(http, rival.owner_key)("GET", "me").status_code == 200


def test_no_header_exempts_a_request_from_a_limit(
    server: Server, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "platform", lambda *_: time.sleep(1))
    with TestClient(create_app(server, Limits(seconds=0.2, body_bytes=100))) as http:
        asker = Asker(http, acme.owner_key)
        assert asker("GET", "suites", accept="text/event-stream").status_code == 504
        assert asker("GET", "suites", content_type="application/x-tar").status_code == 504
        big = asker("POST", "users", {"name": "x" * 200, "role": "viewer"}, content_type="application/x-tar")
        assert (big.status_code, big.json()["code"]) == (413, "too-large")


def test_a_bucket_fills_up_again() -> None:
    now = [0.0]
    limiter = RateLimiter(2.0, 2, clock=lambda: now[0])
    assert [limiter.admits(b"a") for _ in range(3)] == [True, True, False]
    now[0] = 0.5
    assert [limiter.admits(b"a") for _ in range(2)] == [True, False]
    now[0] = 100.0
    assert [limiter.admits(b"a") for _ in range(3)] == [True, True, False]


def test_an_error_names_field_and_remedy_and_no_value(acme: Tenant) -> None:
    response = acme.owner("POST", "users", {"name": "hunter2-secret", "role": "king"})
    told = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert (told["status"], told["code"], told["where"]) == (422, "request-invalid", "body.role")
    assert "hunter2" not in response.text
    unknown = acme.owner("POST", "users", {**BOB, "colour": "red"}).json()
    assert unknown["where"] == "body.colour"


def test_what_is_not_json_is_told(acme: Tenant) -> None:
    said = {"Authorization": f"Bearer {acme.owner_key}", "Content-Type": "application/json"}
    for body in (b"{", b"\xff\xfe", b"[" * 10_000, b'{"name": NaN}'):
        response = acme.http.post("/api/v1/users", content=body, headers=said)
        assert response.status_code in (400, 422), body[:20]
        assert response.headers["content-type"] == "application/problem+json"


def test_the_client_over_a_server_pages_as_the_one_in_this_process(acme: Tenant, server: Server, bench: Bench) -> None:
    own = Bench(database=server.database, tenant=acme.id, objects=bench.objects, folder=bench.folder, owner=bench.owner)
    write_tasks(own.folder / "planted-suite", 1)
    for number in range(3):
        own.run(RUN_SET.replace("planted-run-set", f"run-{number}"))
    here = Client(server.platform(acme.id))
    with RemoteClient.open("", acme.owner_key, http=acme.http) as there:
        assert [row.name for row in there.run_sets()] == ["run-2", "run-1", "run-0"]
        newest = there.run_sets()[0].id
        assert there.run_sets(before=newest) == here.run_sets(before=newest) == here.run_sets()[1:]
        for client in (there, here):
            assert [row.name for row in client.run_sets(words="UN-1")] == ["run-1"]
            assert [row.name for row in client.run_sets(words="run", before=newest)] == ["run-1", "run-0"]
            assert client.run_sets(words="r%") == client.run_sets(words="r_n") == []
