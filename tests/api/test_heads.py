"""Heads of requests that are too long or never end are refused, and nobody else waits for them."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from proctor.app import Server
from proctor.serving import protocol
from tests.api.conftest import Tenant
from tests.api.listening import Live, serving

BEGINNING = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def live(server: Server) -> Iterator[Live]:
    with serving(server) as found:
        yield found


def sent(live: Live, *pieces: bytes) -> tuple[int, dict[str, Any]]:
    """What a connection is answered to these bytes until it is closed; the body of a problem."""
    address = urlsplit(live.url)
    with closing(socket.create_connection((address.hostname, address.port), timeout=20)) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
        except ConnectionError:
            pass  # it was closed on us, as it should
        answer = b""
        try:
            while more := connection.recv(65536):
                answer += more
        except ConnectionError:
            pass
    head, _, body = answer.partition(b"\r\n\r\n")
    kind = b"application/problem+json" in head
    return int(answer[9:12] or 0), json.loads(body) if kind else {}


@pytest.mark.parametrize(
    "pieces",
    [
        [BEGINNING, b"X-n: y\r\n" * 20_000, b"\r\n"],
        [BEGINNING, b"X-n: ", *[b"y" * 50_000] * 100],
        [b"GET /", *[b"a" * 50_000] * 100],
        [BEGINNING[:-2], *[b"\r\nX-n: y" * 1000] * 100],
        [
            b"POST /api/v1/suites HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
            b"X-trailer: ",
            *[b"y" * 50_000] * 100,
        ],
    ],
    ids=["many headers", "a long header", "a long target", "a head without end", "a long trailer"],
)
def test_a_head_has_an_end(live: Live, pieces: list[bytes]) -> None:
    status, problem = sent(live, *pieces)
    assert status in (0, 401, 431), "431 where the client was still listening"
    if status == 431:
        assert problem["code"] == "too-large"
        assert "64 KiB" in problem["detail"]
    assert sent(live, BEGINNING + b"Connection: close\r\n\r\n")[0] == 200, "others are answered"


def test_a_head_comes_in_time(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_SEC", 2.0)
    began = time.monotonic()
    assert sent(live, BEGINNING)[0] == 408
    assert sent(live)[0] == 408, "nor is a connection kept on which nothing comes"
    assert time.monotonic() - began > 3.9
    done = BEGINNING + b"\r\n"
    address = urlsplit(live.url)
    with closing(socket.create_connection((address.hostname, address.port), timeout=20)) as connection:
        for _ in range(3):  # one that is kept alive has its time anew for each
            connection.sendall(done)
            told = connection.recv(65536)
            assert b"200 OK" in told, told
            time.sleep(1.2)


def test_what_is_no_request_is_told_as_a_problem(live: Live) -> None:
    status, problem = sent(live, b"NONSENSE\r\n\r\n")
    assert (status, problem["code"]) == (400, "request-invalid")


def test_a_large_body_in_small_pieces_is_no_head(live: Live, acme: Tenant) -> None:
    body = b"".join(b"400\r\n" + b"x" * 1024 + b"\r\n" for _ in range(1000)) + b"0\r\n\r\n"
    head = (
        f"POST /api/v1/suites HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {acme.owner_key}\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    ).encode()
    pieces = [body[begin : begin + 5000] for begin in range(0, len(body), 5000)]
    status, problem = sent(live, head, *pieces)
    assert (status, problem["code"]) == (422, "suite-upload"), "it was read to its end, and is no tar"


def test_a_path_with_a_slash_too_many_leads_nowhere(acme: Tenant) -> None:
    """A redirect would name whatever host the caller says."""
    answer = acme.http.get("/api/v1/users/", headers={"Host": "evil.example"}, follow_redirects=False)
    assert answer.status_code == 404
    assert "location" not in answer.headers
