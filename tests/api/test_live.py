"""The live streams against a real server: nothing lost, nothing twice, nobody else's, and nobody held up."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from uuid import UUID

import pytest
from websockets.exceptions import InvalidStatus

from proctor.api import live as live_module
from proctor.api.routes import events as events_module
from proctor.api.routes import socket as socket_module
from proctor.app import Server
from proctor.identity.permissions import Role
from proctor.kernel.ids import new_id
from proctor.notifications import feed as feed_module
from proctor.notifications.readers import Reader
from proctor.serving import http as http_module
from tests.api.conftest import Tenant
from tests.api.listening import NOWHERE, Live, Writer, relaying, serving, topic, wait_until


@pytest.fixture
def live(server: Server) -> Iterator[Live]:
    with relaying(server), serving(server) as found:
        yield found


# --- both kinds -------------------------------------------------------------------------------------------------------


def test_an_event_comes_to_those_who_follow_it(live: Live, acme: Tenant) -> None:
    mine, other = new_id(), new_id()
    with live.sse(acme.owner_key, f"?topic={topic(mine)}") as some, live.sse(acme.owner_key) as all_of_it:
        some.block(), all_of_it.block()
        with live.socket(acme.owner_key) as ws:
            assert ws.subscribe(topic(mine)) == {"subscribed": [topic(mine)], "after": "0"}
            apart = live.emit(acme.id, other)
            ended = live.emit(acme.id, mine, payload={"class": "passed", "secret": "x", "token": 7})
            paused = live.emit(acme.id, mine, "run_set.paused", {"name": "nightly"})
            assert ws.ids(2) == some.ids(2) == [ended, paused]
            assert all_of_it.ids(1) == [apart]
            event = all_of_it.event()
            assert (event["event"], event["name"], event["trace_id"]) == ("attempt.ended", "attempt.ended", "trace")
            assert event["payload"] == {"run_set": str(mine), "class": "passed"}, "no field that nobody named"
            assert all_of_it.event()["payload"] == {"name": "nightly"}


def test_an_event_that_nobody_named_is_shown_to_nobody(live: Live, acme: Tenant) -> None:
    with live.sse(acme.owner_key) as stream:
        stream.block()
        live.emit(acme.id, new_id(), "key.created", {"secret": "x"})
        known = live.emit(acme.id, new_id())
        assert stream.ids(1) == [known]
    assert [event["id"] for event in acme.owner.get("events/history")["items"]] == [known]


def test_a_reader_that_comes_back_gets_each_event_once(live: Live, acme: Tenant) -> None:
    run_set, sent, got = new_id(), list[str](), list[str]()
    last = "0"
    for _ in range(4):
        sent += [live.emit(acme.id, run_set) for _ in range(3)]
        with live.sse(acme.owner_key, f"?topic={topic(run_set)}", last_event_id=last) as stream:
            sent += [live.emit(acme.id, run_set) for _ in range(3)]
            got += stream.ids(5)  # one is left for the next time
            last = stream.last
    with live.socket(acme.owner_key) as ws:
        ws.subscribe(topic(run_set), after=last)
        got += ws.ids(len(sent) - len(got))
    assert got == sent


def test_many_events_while_a_reader_catches_up_come_once_and_in_order(live: Live, acme: Tenant) -> None:
    run_set = new_id()
    many = 3 * feed_module.PAGE // 2
    with live.server.database.tenant(acme.id) as connection:
        emit_many(connection, acme.id, run_set, many)
    with live.sse(acme.owner_key, "?after=0") as stream, live.socket(acme.owner_key) as ws:
        ws.subscribe("all", after="0")
        with live.server.database.tenant(acme.id) as connection:
            emit_many(connection, acme.id, run_set, many)
        last = live.emit(acme.id, run_set)
        found, heard = stream.ids(2 * many + 1), ws.ids(2 * many + 1)
    assert found == heard
    assert len(set(found)) == len(found)
    assert found[-1] == last


def emit_many(connection, tenant: UUID, run_set: UUID, count: int) -> None:  # type: ignore[no-untyped-def]
    connection.exec_driver_sql(
        "INSERT INTO proctor.event (tenant_id, id, name, subject, trace_id, payload) SELECT %(tenant)s,"
        " gen_random_uuid(), 'attempt.ended', gen_random_uuid(), '', jsonb_build_object('run_set', %(run_set)s::text)"
        " FROM generate_series(1, %(count)s)",
        {"tenant": tenant, "run_set": run_set, "count": count},
    )


def test_a_late_commit_is_not_skipped(live: Live, acme: Tenant) -> None:
    run_set, slow = new_id(), Writer(live.server.database, acme.id)
    with live.sse(acme.owner_key) as stream, live.socket(acme.owner_key) as ws:
        stream.block()
        ws.subscribe("all")
        early = live.emit(acme.id, run_set)
        assert stream.ids(1) == ws.ids(1) == [early]
        with slow.open(run_set):
            fast = live.emit(acme.id, run_set)
            time.sleep(0.3)  # several turns of the relay
        assert stream.ids(2) == ws.ids(2) == [slow.ids[0], fast]


def test_topics_that_are_added_leave_no_holes_in_those_before(live: Live, acme: Tenant) -> None:
    """Whenever a socket breaks off, what came after its last id is all that it did not see, of what it asked for."""
    one, two = new_id(), new_id()
    old = [live.emit(acme.id, two) for _ in range(2)]
    wait_until(lambda: len(acme.owner.get("events/history")["items"]) == 2)
    with live.socket(acme.owner_key) as ws:
        assert ws.subscribe(topic(one))["after"] == old[-1]
        unread = [live.emit(acme.id, one) for _ in range(3)]
        ws.say(subscribe=[topic(two)], after="0")
        ws.say(subscribe=[topic(one), "all"])
        new = [live.emit(acme.id, which) for which in (two, one, two)]
        heard: list[str] = []
        asked: int | None = None
        while new[-1] not in heard:
            message = ws.hear()
            heard += [message["event"]["id"]] if "event" in message else []
            assert message.get("after") in (None, "0")
            if asked is None and "after" in message:
                asked = len(heard)  # a busy machine may have sent what was unread before it read the question
    order = [*old, *unread, *new]
    assert len(heard) == len(order)
    assert asked is not None
    for number, last in enumerate(heard[asked:], asked + 1):
        assert {*heard[:number], *order[order.index(last) + 1 :]} == set(order)


def test_an_id_that_is_not_kept_is_a_gap(live: Live, acme: Tenant) -> None:
    kept = live.emit(acme.id, new_id())
    with live.sse(acme.owner_key, f"?after={NOWHERE}") as stream:
        assert stream.event() == {"event": "gap", "after": NOWHERE}
        assert stream.ids(1) == [kept]
    with live.socket(acme.owner_key) as ws:
        assert ws.subscribe("all", after=NOWHERE)["after"] == "0"
        assert ws.hear() == {"gap": {"after": NOWHERE}}
        assert ws.ids(1) == [kept]
    assert acme.owner.get(f"events/history?after={NOWHERE}", 404)["code"] == "event-forgotten"


def test_a_script_takes_what_is_there_and_ends(live: Live, acme: Tenant) -> None:
    sent = [live.emit(acme.id, new_id()) for _ in range(3)]
    wait_until(lambda: len(acme.owner.get("events/history")["items"]) == 3)
    with live.sse(acme.owner_key, f"?wait=0&after={sent[0]}") as stream:
        assert [event["id"] for event in stream.rest()] == sent[1:]
    with live.sse(acme.owner_key, "?wait=0") as stream:
        assert stream.rest() == []
        assert stream.last == sent[-1]
    page = acme.owner.get("events/history?limit=2")
    assert [event["id"] for event in page["items"]] == sent[:2]
    assert page["next"] == sent[1]
    assert acme.owner.get(f"events/history?limit=2&after={page['next']}")["next"] is None


@pytest.mark.parametrize(
    "query", ["topic=run-set:x", "topic=job:x", "topic=suite:1", "after=x", "wait=-1", "topic=", "wait=nan"]
)
def test_what_is_malformed_is_refused(acme: Tenant, query: str) -> None:
    assert acme.owner.get(f"events?{query}", 422)["code"] in ("topic", "cursor", "request-invalid")


# --- two tenants ------------------------------------------------------------------------------------------------------


def test_a_foreign_topic_is_as_an_absent_one(live: Live, acme: Tenant, rival: Tenant) -> None:
    run_set = new_id()
    theirs = live.emit(acme.id, run_set, "run_set.created", {"name": "planted"})
    wait_until(lambda: len(acme.owner.get("events/history")["items"]) == 1)
    told = []
    for number, there, event in ((1, str(run_set), theirs), (2, NOWHERE, str(new_id()))):
        response = rival.owner("GET", f"events?wait=0&topic=run-set:{there}&after={event}")
        told.append((response.status_code, response.text.replace(event, "<event>")))
        with live.socket(rival.owner_key) as ws:
            said = [ws.subscribe(f"run-set:{there}", after=event), ws.hear()]
            live.emit(acme.id, UUID(there))
            own = live.emit(rival.id, new_id())
            assert ws.subscribe("all", after="0")["subscribed"] == ["all"]
            assert ws.ids(number)[-1] == own
            told.append(str(said).replace(there, "<run set>").replace(event, "<event>"))
    assert told[0] == told[2]
    assert told[1] == told[3]
    assert theirs not in str(told)
    assert "planted" not in str(told)


def test_of_a_neighbours_events_nothing_comes(live: Live, acme: Tenant, rival: Tenant) -> None:
    run_set = new_id()
    with (
        live.sse(rival.owner_key, f"?topic={topic(run_set)}") as some,
        live.sse(rival.owner_key) as every,
        live.socket(rival.owner_key) as ws,
        live.sse(acme.owner_key) as own,
    ):
        some.block(), every.block(), own.block()
        ws.subscribe("all", topic(run_set))
        theirs = [live.emit(acme.id, run_set) for _ in range(3)]
        mine = live.emit(rival.id, run_set)
        assert own.ids(3) == theirs
        assert some.ids(1) == every.ids(1) == ws.ids(1) == [mine], "an id alone opens nothing"


# --- who may listen ---------------------------------------------------------------------------------------------------


def test_a_socket_needs_a_key_that_may(live: Live, acme: Tenant) -> None:
    narrow = acme.owner.post("keys", {"name": "narrow", "scopes": ["suites:read"]})["secret"]
    for key, status in ((narrow, 403), ("proctor_wrong", 401)):
        with pytest.raises(InvalidStatus) as refused, live.socket(key):
            pass
        assert refused.value.response.status_code == status
        assert refused.value.response.headers["x-request-id"]
        with live.socket(None) as ws:
            ws.say(key=key)
            assert ws.hear()["error"]["code"] == {401: "unauthenticated", 403: "forbidden"}[status]
            assert ws.code() == 4000 + status
    for role in Role:
        with live.socket(None) as ws:
            ws.say(key=acme.as_role(role).key)
            assert ws.subscribe("all")["subscribed"] == ["all"]


def test_a_socket_without_a_key_does_not_stay(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_module, "KEY_SEC", 0.2)
    with live.socket(None) as ws:
        assert ws.code() == 4408


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_pages_of_other_sites_are_refused(live: Live, acme: Tenant, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused, live.socket(acme.owner_key, origin=origin):
        pass
    assert refused.value.response.status_code == 403
    with live.socket(acme.owner_key, origin=live.url) as ws:
        ws.subscribe("all")


MALFORMED = ["", "{", "[]", '{"subscribe": "all"}', '{"subscribe": ["x"]}', '{"sub": []}', b"\x00"]
MALFORMED += ['{"subscribe": ["all"], "after": "x"}', json.dumps({"subscribe": ["all"] * 101})]


@pytest.mark.parametrize("message", MALFORMED, ids=str)
def test_a_message_that_is_not_understood_closes_the_socket(live: Live, acme: Tenant, message: str | bytes) -> None:
    with live.socket(acme.owner_key) as ws:
        ws.connection.send(message)
        assert ws.code() == 4400


def test_messages_have_a_size_and_a_rate(live: Live, acme: Tenant) -> None:
    with live.socket(acme.owner_key) as ws:
        ws.connection.send('{"subscribe": ["' + "x" * socket_module.MESSAGE_BYTES + '"]}')
        assert ws.code() == 1009
    with live.socket(acme.owner_key) as ws:
        for _ in range(socket_module.WISHES_AT_ONCE + 10):
            ws.say(unsubscribe=["all"])
        assert ws.code() == 4429


def test_connections_have_the_rate_of_requests(server: Server, acme: Tenant) -> None:
    from fastapi.testclient import TestClient

    from proctor.api import create_app
    from proctor.api.middleware import Limits

    said = {"Authorization": f"Bearer {acme.owner_key}"}
    with TestClient(create_app(server, Limits(per_second=0.001, burst=2))) as http:
        for _ in range(2):
            with http.websocket_connect("/ws", headers=said):
                pass
        with pytest.raises(Exception) as refused, http.websocket_connect("/ws", headers=said):
            pass
        assert getattr(refused.value, "status_code", None) == 429


def test_a_revoked_key_and_a_disabled_user_end_their_streams(
    live: Live, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CHECK_SEC", "FRESH_SEC"):
        monkeypatch.setattr(live_module, name, 0.1)
    for module in (events_module, socket_module):
        monkeypatch.setattr(module, "HEARTBEAT_SEC", 0.1)
    user = acme.owner.post("users", {"name": "bob@example.org", "role": "viewer"})["id"]
    key, other = (acme.owner.post("keys", {"name": name, "user": user}) for name in ("one", "two"))
    with live.sse(key["secret"]) as stream, live.socket(key["secret"]) as ws, live.sse(other["secret"]) as stays:
        for _ in range(5):
            assert stream.block() is not None
        acme.owner("DELETE", f"keys/{key['key']['id']}")
        assert stream.rest() == [{"event": "closed", "code": "unauthenticated"}]
        assert ws.code() == 4401
        stays.block()
        acme.owner("PATCH", f"users/{user}", {"disabled": True})
        assert stays.rest() == [{"event": "closed", "code": "unauthenticated"}]


# --- heartbeats and slow readers --------------------------------------------------------------------------------------


def test_a_quiet_stream_has_a_heartbeat(live: Live, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "HEARTBEAT_SEC", 0.1)
    with live.sse(acme.owner_key) as stream:
        assert stream.block()["retry"] == "2000"
        assert [stream.block() for _ in range(3)] == [{}, {}, {}]


def test_a_socket_is_asked_whether_it_lives_and_closed_where_it_does_not_answer(
    server: Server, acme: Tenant, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live_module, "HEARTBEAT_SEC", 0.3)
    with relaying(server), serving(server) as live:
        with small_socket(live) as deaf:
            head = f"GET /ws HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {acme.owner_key}\r\n"
            upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            deaf.sendall(f"{head}{upgrade}Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode())
            deaf.settimeout(20)
            got = b""
            while piece := deaf.recv(4096):
                got += piece
        assert b"\x89\x04" in got, "a ping"
        assert b"\x03\xf3keepalive ping timeout" in got, "1011"
        with live.socket(acme.owner_key) as ws:
            ws.subscribe("all")
            time.sleep(1)
            assert ws.ids(0) == [], "who answers stays"
    assert "request.broke" not in capsys.readouterr().out


def test_a_slow_reader_is_closed_and_goes_on_where_it_was_and_nobody_waits_for_it(
    live: Live, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_set, total = new_id(), 6_000
    small = {"max_queue": 1, "sock": small_socket(live)}
    with live.socket(acme.owner_key, **small) as slow, live.sse(acme.owner_key) as quick:
        slow.subscribe("all")
        quick.block()
        ids = []
        for _ in range(total // 500):
            with live.server.database.tenant(acme.id) as connection:
                emit_many(connection, acme.id, run_set, 500)
            ids += quick.ids(500)
        assert len(set(ids)) == total
        heard, code = slow.rest()
    assert code == 1013
    got = [message["event"]["id"] for message in heard]
    assert 0 < len(got) < total, "it was closed on the way"
    assert got == ids[: len(got)]
    with live.socket(acme.owner_key) as again:
        again.subscribe("all", after=got[-1])
        assert again.ids(total - len(got)) == ids[len(got) :]


def test_a_reader_that_takes_nothing_is_cut(server: Server, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "_UNREAD_MS", 1_000)
    with relaying(server), serving(server) as live:
        with live.server.database.tenant(acme.id) as connection:
            emit_many(connection, acme.id, new_id(), 4_000)
        wait_until(lambda: len(acme.owner.get("events/history?limit=1000")["items"]) == 1_000)
        with small_socket(live) as stuck:
            head = f"GET /api/v1/events?after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {acme.owner_key}\r\n\r\n"
            stuck.settimeout(20)
            stuck.sendall(head.encode())
            time.sleep(4)
            with pytest.raises(ConnectionResetError):
                read_to_the_end(stuck)


def read_to_the_end(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


def small_socket(live: Live) -> socket.socket:
    """A connection whose buffer here holds little."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, _, port = live.url.removeprefix("http://").partition(":")
    found.connect((host, int(port)))
    return found


async def test_a_full_queue_ends_a_reader() -> None:
    from proctor.notifications.readers import Ended, Overflow
    from proctor.notifications.topics import Frame

    reader = Reader(new_id(), most=2)
    reader.follows["all"] = 1
    known = {"tenant": reader.tenant, "name": "x", "topics": ("all",), "text": "{}"}
    frames = [Frame(position=n, id=str(n), **known) for n in range(5)]
    reader.offer(frames[1])
    reader.offer(frames[2])
    assert await reader.take(1) == [frames[2]], "what was read before does not come again"
    for frame in frames[2:]:
        reader.offer(frame)
    with pytest.raises(Overflow):
        await reader.take(1)
    reader.end(Ended())
    with pytest.raises(Overflow):
        await reader.take(1)
    assert await asyncio.wait_for(Reader(new_id()).take(0.01), 5) == []


def test_streams_are_counted(live: Live, acme: Tenant, rival: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "MOST_OF_TENANT", 1)
    with live.sse(acme.owner_key) as first:
        first.block()
        with pytest.raises(AssertionError, match="too-many-streams"), live.sse(acme.owner_key):
            pass
        with live.socket(None) as ws:
            ws.say(key=acme.owner_key)
            assert ws.code() == 4429
        with live.sse(rival.owner_key) as other:
            other.block()


def test_streams_end_when_the_server_does(server: Server, acme: Tenant) -> None:
    with relaying(server), serving(server) as live:
        with live.sse(acme.owner_key) as stream, live.socket(acme.owner_key) as ws:
            stream.block()
            ws.subscribe("all")
            before = time.monotonic()
            live.told.set()
            assert stream.rest() == []
            assert ws.code() == 1012
        assert time.monotonic() - before < 8, "not by the grace of answers that are under way"
