"""Sessions of browsers: what a cookie opens, and above all what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from http.cookies import Morsel, SimpleCookie

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from websockets.exceptions import InvalidStatus

from proctor.api import create_app
from proctor.api.middleware import Limits
from proctor.app import Server
from tests.api.conftest import API, Tenant
from tests.api.listening import Live, relaying, serving

OWN = "http://testserver"
EVIL = ("https://evil.example", "null", "http://testserver.evil.example", "http://testserver:81")
PAGE = {"X-Proctor-Page": "1"}


def cookie(key: str) -> dict[str, str]:
    return {"Cookie": f"proctor_session={key}"}


def signing_in(http: TestClient, key: str, **headers: str) -> Response:
    return http.post(f"{API}/session", json={"key": key}, headers=headers)


def told(response: Response) -> Morsel[str]:
    """The one cookie of an answer."""
    (said,) = response.headers.get_list("set-cookie")
    return SimpleCookie(said)["proctor_session"]


@pytest.fixture
def live(server: Server) -> Iterator[Live]:
    with relaying(server), serving(server) as found:
        yield found


def test_signing_in_tells_who_one_is_and_keeps_the_key_where_no_script_reads_it(acme: Tenant) -> None:
    answer = signing_in(acme.http, acme.owner_key, Origin=OWN)
    assert answer.status_code == 201
    assert answer.json() == acme.owner.get("me")
    assert acme.owner_key not in answer.text
    kept = told(answer)
    assert kept.value == acme.owner_key
    assert (kept["path"], kept["samesite"], kept["domain"]) == ("/", "strict", "")
    assert kept["httponly"]
    assert not kept["secure"], "over plain HTTP a browser would throw it away"
    assert 0 < int(kept["max-age"]) <= 30 * 86_400


@pytest.mark.parametrize("said", ["a proxy", "the connection"])
def test_over_tls_the_cookie_goes_over_tls_alone(acme: Tenant, said: str) -> None:
    if said == "a proxy":
        answer = signing_in(acme.http, acme.owner_key, Origin="https://testserver")
    else:
        answer = acme.http.post(f"https://testserver{API}/session", json={"key": acme.owner_key})
    assert told(answer)["secure"]


def test_a_page_asks_with_its_cookie(acme: Tenant) -> None:
    signing_in(acme.http, acme.owner_key)
    assert acme.http.get(f"{API}/me", headers=PAGE).json() == acme.owner.get("me")
    made = acme.http.post(f"{API}/keys", json={"name": "by a page"}, headers={**PAGE, "Idempotency-Key": "one"})
    assert made.status_code == 201
    gone = acme.http.delete(f"{API}/session")
    assert (gone.status_code, told(gone).value, told(gone)["max-age"]) == (204, "", "0")
    assert acme.http.get(f"{API}/me", headers=PAGE).status_code == 401


def test_signing_out_is_answered_to_whoever_is_not_signed_in(http: TestClient) -> None:
    assert http.delete(f"{API}/session").status_code == 204


@pytest.mark.parametrize("header", [{}, {"X-Proctor-Page": "0"}, {"X-Proctor-Page": ""}, {"Origin": OWN}])
@pytest.mark.parametrize(("method", "path"), [("GET", "me"), ("POST", "keys"), ("DELETE", "blocks/provider/x")])
def test_a_cookie_alone_opens_nothing(acme: Tenant, method: str, path: str, header: dict[str, str]) -> None:
    """What a page of another site can have a browser send."""
    answer = acme.http.request(method, f"{API}/{path}", headers={**cookie(acme.owner_key), **header})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


def test_no_page_of_another_site_is_told_that_it_may_send_the_header(acme: Tenant) -> None:
    asks = {
        "Origin": EVIL[0],
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "x-proctor-page",
    }
    for path in ("me", "session", "run-sets"):
        answer = acme.http.options(f"{API}/{path}", headers={**cookie(acme.owner_key), **asks})
        assert answer.status_code == 405
        assert not [name for name in answer.headers if name.startswith("access-control")]
    read = acme.http.get(f"{API}/me", headers={**cookie(acme.owner_key), **PAGE, "Origin": EVIL[0]})
    assert not [name for name in read.headers if name.startswith("access-control")]


@pytest.mark.parametrize("origin", EVIL)
def test_a_page_of_another_site_signs_nobody_in_or_out(acme: Tenant, origin: str) -> None:
    for answer in (
        signing_in(acme.http, acme.owner_key, Origin=origin),
        acme.http.delete(f"{API}/session", headers={"Origin": origin}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "origin")
        assert "set-cookie" not in answer.headers


def test_a_form_of_another_site_signs_nobody_in(acme: Tenant) -> None:
    """Such a request is sent without asking first."""
    body = f'{{"key": "{acme.owner_key}"}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = acme.http.post(f"{API}/session", content=body, headers={"Content-Type": kind})
        assert answer.status_code == 422, kind
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("key", ["proctor_wrong", "x", "a; Domain=evil.example", "a\r\nSet-Cookie: b=c", "\x00", "é"])
def test_a_wrong_key_sets_nothing(acme: Tenant, key: str) -> None:
    answer = signing_in(acme.http, key)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert "set-cookie" not in answer.headers
    assert signing_in(acme.http, f" {acme.owner_key}").status_code == 401


def test_a_key_in_the_header_is_the_one_that_counts(acme: Tenant, rival: Tenant) -> None:
    said = {**PAGE, **cookie(rival.owner_key)}
    answer = acme.http.get(f"{API}/me", headers={**said, "Authorization": f"Bearer {acme.owner_key}"})
    assert answer.json()["tenant_name"] == acme.name
    for wrong in ("Bearer proctor_wrong", "Bearer ", "Basic eDp5", ""):
        refused = acme.http.get(f"{API}/me", headers={**said, "Authorization": wrong})
        assert refused.status_code == 401, f"{wrong!r} falls back to nothing"


def test_a_revoked_key_and_a_disabled_user_are_signed_out_at_once(acme: Tenant) -> None:
    user = acme.owner.post("users", {"name": "bob@example.org", "role": "viewer"})["id"]
    one, other = (acme.owner.post("keys", {"name": name, "user": user}) for name in ("one", "other"))
    for key in (one, other):
        assert acme.http.get(f"{API}/me", headers={**PAGE, **cookie(key["secret"])}).status_code == 200
    acme.owner("DELETE", f"keys/{one['key']['id']}")
    assert acme.http.get(f"{API}/me", headers={**PAGE, **cookie(one["secret"])}).status_code == 401
    acme.owner("PATCH", f"users/{user}", {"disabled": True})
    assert acme.http.get(f"{API}/me", headers={**PAGE, **cookie(other["secret"])}).status_code == 401
    for key in (one, other):
        assert signing_in(acme.http, key["secret"]).status_code == 401


def test_a_session_and_its_key_have_one_rate(server: Server, acme: Tenant, rival: Tenant) -> None:
    with TestClient(create_app(server, Limits(per_second=0.001, burst=4))) as http:
        said = {**PAGE, **cookie(acme.owner_key)}
        assert [http.get(f"{API}/me", headers=said).status_code for _ in range(2)] == [200, 200]
        bearer = {"Authorization": f"Bearer {acme.owner_key}"}
        assert [http.get(f"{API}/me", headers=bearer).status_code for _ in range(3)] == [200, 200, 429]
        assert http.get(f"{API}/me", headers=said).status_code == 429
        other = {**PAGE, **cookie(rival.owner_key)}
        assert http.get(f"{API}/me", headers=other).status_code == 200, "somebody else's is another"


def test_guesses_of_keys_have_the_rate_of_an_address(server: Server, acme: Tenant) -> None:
    with TestClient(create_app(server, Limits(per_second=0.001, burst=3))) as http:
        guesses = [signing_in(http, f"proctor_{n}", **cookie(f"x{n}"), Authorization=f"x{n}") for n in range(5)]
        assert [answer.status_code for answer in guesses] == [401, 401, 401, 429, 429]


def test_answers_are_kept_by_nobody_on_the_way(acme: Tenant) -> None:
    """Shared caches leave answers to an Authorization alone, but not those to a cookie."""
    for path in ("me", "nothing-there", "attempts/01a22e2c"):
        answer = acme.http.get(f"{API}/{path}", headers={**PAGE, **cookie(acme.owner_key)})
        assert answer.headers.get_list("cache-control") in (["no-store"], ["private, no-cache"]), path
    assert signing_in(acme.http, acme.owner_key).headers["cache-control"] == "no-store"


# --- the socket -------------------------------------------------------------------------------------------------------


def test_a_page_of_the_servers_own_listens_with_its_cookie(live: Live, acme: Tenant) -> None:
    with live.socket(None, origin=live.url, extra=cookie(acme.owner_key)) as ws:
        assert ws.subscribe("all")["subscribed"] == ["all"]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_site_does_not_listen_with_a_cookie(live: Live, acme: Tenant, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused, live.socket(None, origin=origin, extra=cookie(acme.owner_key)):
        pass
    assert refused.value.response.status_code == 403


def test_a_cookie_without_an_origin_opens_no_socket(live: Live, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.api.routes.socket.KEY_SEC", 0.2)
    with live.socket(None, extra={**cookie(acme.owner_key), **PAGE}) as ws:
        assert ws.code() == 4408, "the key of a first message is waited for"


def test_a_page_is_told_that_its_cookie_opens_nothing(live: Live, acme: Tenant) -> None:
    narrow = acme.owner.post("keys", {"name": "narrow", "scopes": ["suites:read"]})["secret"]
    for key, code in (("proctor_wrong", 4401), (narrow, 4403)):
        with live.socket(None, origin=live.url, extra=cookie(key)) as ws:
            assert "error" in ws.hear()
            assert ws.code() == code


def test_a_header_wins_over_a_cookie_there_too(live: Live, acme: Tenant) -> None:
    with pytest.raises(InvalidStatus), live.socket("proctor_wrong", origin=live.url, extra=cookie(acme.owner_key)):
        pass
