"""Streams over HTTP: rows in lines, durable when it answers, once however often they are sent; nobody else's."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx2 import Response

from proctor.app import Server
from proctor.engine.worker import recover
from proctor.identity.permissions import Role
from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.errors import ServerRefused
from proctor.sdk.remote.transport import Transport
from proctor.streaming.asking import StreamRequest
from tests.api.conftest import Asker, Tenant

ASKED = {"name": "bot", "evaluators": ["exact-match"]}


def send(asker: Asker, lines: bytes, stream: str = "bot", **headers: str) -> Response:
    said = {"Authorization": f"Bearer {asker.key}", "Content-Type": "application/x-ndjson"}
    said |= {name.replace("_", "-"): value for name, value in headers.items()}
    return asker.http.post(f"/api/v1/streams/{stream}/rows", content=lines, headers=said)


def lines(first: int, last: int) -> bytes:
    rows = ({"id": f"e{n}", "expected": "x", "output": "x"} for n in range(first, last))
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_rows_sent_are_judged_and_the_deeds_are_written_down(acme: Tenant, server: Server) -> None:
    opened = acme.owner.post("streams", ASKED)
    assert (opened["open"], opened["stream"], opened["dataset_version"]) == (True, True, None)
    told = send(acme.owner, lines(0, 3) + b"nonsense\n")
    assert told.status_code == 200
    assert (told.json()["rows"], told.json()["refused"]) == (3, 1)
    assert told.json()["refusals"][0]["row"] == 4
    assert acme.owner.get("streams/bot")["refused"] == 1
    (kept,) = acme.owner.get("streams/bot/refusals")["items"]
    assert (kept["row"], kept["said"]) == (4, "nonsense")
    assert acme.owner.post("streams/bot/close", code=200)["open"] is False
    settings = ChunkWorkerSettings(processes=1, scope=None)
    worker = ChunkWorker(server.database, server.objects, settings, recover=recover)
    worker.run(lambda: acme.owner.get("jobs/bot")["job"]["state"] != "complete")
    standing = acme.owner.get("jobs/bot")
    assert (standing["done"], standing["evaluators"][0]["mean"]) == (3, 1.0)
    found = acme.owner.get("jobs/bot/results")["items"]
    assert [(row["example"], row["dataset_version"]) for row in found] == [(f"e{n}", None) for n in range(3)]
    noted = [entry["action"] for entry in acme.owner.get("audit-log?limit=1000")["items"]]
    assert [one for one in noted if one.startswith("stream.")] == ["stream.opened", "stream.closed"]


def test_what_is_sent_again_is_answered_the_same_and_says_so(acme: Tenant) -> None:
    acme.owner.post("streams", ASKED)
    first, again = (send(acme.owner, lines(0, 2), idempotency_key="k") for _ in range(2))
    assert again.content == first.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    other = send(acme.owner, lines(2, 4), idempotency_key="k")
    assert (other.status_code, other.json()["code"]) == (422, "stream-key-reused")
    assert send(acme.owner, lines(2, 4), idempotency_key="two words").json()["code"] == "idempotency-key"
    assert acme.owner.get("streams/bot")["job"]["cut"]["rows"] == 2
    member = acme.as_role(Role.MEMBER)
    assert send(member, lines(2, 3), idempotency_key="k").json()["rows"] == 1, "a key is its user's own"


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        (b"", "rows-invalid", 422),
        (b"\n", "rows-invalid", 422),
        (b'{"id":"a","output":"x"}\n' * 5_001, "rows-invalid", 422),
        (b"x" * ((8 << 20) + 1), "rows-invalid", 422),
        (b"x" * ((16 << 20) + 1), "too-large", 413),
    ],
)
def test_what_is_nothing_or_too_much_is_refused(acme: Tenant, body: bytes, code: str, status: int) -> None:
    acme.owner.post("streams", ASKED)
    told = send(acme.owner, body)
    assert (told.status_code, told.json()["code"]) == (status, code)
    assert acme.owner.get("streams/bot")["job"]["cut"]["rows"] == 0


def test_what_can_not_be_is_a_conflict_or_not_there(acme: Tenant, rival: Tenant) -> None:
    acme.owner.post("streams", ASKED)
    assert acme.owner.post("streams", ASKED, code=409)["code"] == "stream-taken"
    assert acme.owner.post("streams", {**ASKED, "evaluators": []}, code=422)["code"] == "request-invalid"
    assert acme.owner.post("streams", {"name": "b", "evaluators": ["no"]}, code=404)["code"] == "evaluator-unknown"
    assert send(rival.owner, lines(0, 1)).json()["code"] == "job-unknown"
    assert rival.owner.get("streams/bot/refusals", 404)["code"] == "job-unknown"
    acme.owner.post("streams/bot/close", code=200)
    closed = send(acme.owner, lines(0, 1))
    assert (closed.status_code, closed.json()["code"]) == (409, "stream-closed")
    assert closed.headers["retry-after"] == "1"


def test_many_small_requests_share_transactions(acme: Tenant) -> None:
    acme.owner.post("streams", ASKED)
    begin = threading.Barrier(8)

    def one(n: int) -> int:
        begin.wait()
        return int(send(acme.owner, lines(n, n + 1)).json()["rows"])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(8))) == [1] * 8
    cut = acme.owner.get("streams/bot")["job"]["cut"]
    assert cut["rows"] == 8
    assert cut["pieces"] < 8


def test_the_client_answers_as_the_one_in_process(acme: Tenant) -> None:
    streams = RemoteClient(Transport("http://testserver", acme.owner_key, http=acme.http)).streams
    job = streams.open(StreamRequest(name="bot", evaluators=["exact-match"]))
    rows: list[dict[str, Any]] = [{"id": "a", "output": "x"}, {"id": "b"}]
    told = streams.append("bot", rows, key="k")
    assert (told.rows, told.refused, told.refusals[0].field) == (1, 1, "output")
    assert streams.append("bot", rows, key="k") == told
    assert streams.stream("bot").job.id == job.id
    (kept,) = streams.refusals("bot")
    assert streams.refusals("bot", before=kept.id) == []
    assert not streams.close("bot").open
    with pytest.raises(ServerRefused) as caught:
        streams.append("bot", rows)
    assert caught.value.code == "stream-closed"
