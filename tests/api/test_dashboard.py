"""The dashboard's files: served as they were built, with nothing else of the disk, and no page of anybody else's."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from proctor.api import create_app
from proctor.api.app import ROUTERS
from proctor.api.dashboard import OTHERS
from proctor.app import Server

INDEX = b"<!doctype html><title>Proctor</title>"
SCRIPT = b"export const app = 1;\n" * 40
BROTLI = b"pretend brotli"
"""It is sent as it lies there; nobody unpacks it here."""
PLAIN = {"accept-encoding": "identity"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As Vite builds it, with what should not be there."""
    made = tmp_path / "dashboard"
    (made / "assets" / ".hidden").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("a secret")
    for name, data in {
        "index.html": INDEX,
        "index.html.gz": gzip.compress(INDEX),
        "favicon.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        ".env": b"SECRET=1",
        "assets/app-1a2b3c4d.js": SCRIPT,
        "assets/app-1a2b3c4d.js.gz": gzip.compress(SCRIPT),
        "assets/app-1a2b3c4d.js.br": BROTLI,
        "assets/app-1a2b3c4d.css": b"body { margin: 0 }",
        "assets/inter-5e6f7a8b.woff2": b"wOF2",
        "assets/words-5e6f7a8b.json": b'{"a": 1}',
        "assets/strange-5e6f7a8b.xyz": b"?",
        "assets/.hidden/x.js": b"hidden",
    }.items():
        (made / name).write_bytes(data)
    (made / "assets" / "link.js").symlink_to(tmp_path / "outside.txt")
    (made / "assets" / "up").symlink_to(tmp_path)
    return made


@pytest.fixture
def http(server: Server, folder: Path) -> Iterator[TestClient]:
    with TestClient(create_app(server, dashboard=folder), raise_server_exceptions=False) as client:
        yield client


def test_a_page_is_the_index_wherever_it_is(http: TestClient) -> None:
    for path in (
        "/",
        "/index.html",
        "/run-sets/0198c2f0?group=task",
        "/setup",
        "/leaderboard/x@2.1/y",
        "/runs/",
        "/datasets/refunds@1.1.0",
    ):
        answer = http.get(path, headers=PLAIN)
        assert (answer.status_code, answer.content) == (200, INDEX), path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers.get_list("cache-control") == ["no-cache"]


def test_an_asset_is_kept_for_ever(http: TestClient) -> None:
    kinds = {
        "app-1a2b3c4d.js": "text/javascript; charset=utf-8",
        "app-1a2b3c4d.css": "text/css; charset=utf-8",
        "inter-5e6f7a8b.woff2": "font/woff2",
        "words-5e6f7a8b.json": "application/json",
        "strange-5e6f7a8b.xyz": "application/octet-stream",
    }
    for name, kind in kinds.items():
        answer = http.get(f"/assets/{name}", headers=PLAIN)
        assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
        assert answer.headers.get_list("cache-control") == ["public, max-age=31536000, immutable"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    icon = http.get("/favicon.svg")
    assert (icon.headers["content-type"], icon.headers["cache-control"]) == ("image/svg+xml", "no-cache")


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("br;q=0.000, *", "gzip"),
        ("*", "br"),
        ("GZIP;q=0.5", "gzip"),
        ("identity", None),
        ("", None),
        ("deflate, *;q=0", None),
        ("br;q=0,gzip; q=0", None),
    ],
)
def test_the_best_encoding_that_is_taken_is_sent(http: TestClient, accepted: str, encoding: str | None) -> None:
    with http.stream("GET", "/assets/app-1a2b3c4d.js", headers={"accept-encoding": accepted}) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["vary"] == "accept-encoding"
    assert answer.headers["content-length"] == str(len(raw))
    assert (gzip.decompress(raw) if encoding == "gzip" else raw) == (BROTLI if encoding == "br" else SCRIPT)


def test_what_has_no_encoding_is_sent_as_it_is(http: TestClient) -> None:
    answer = http.get("/assets/app-1a2b3c4d.css", headers={"accept-encoding": "br, gzip"})
    assert "content-encoding" not in answer.headers
    assert "vary" not in answer.headers


def test_what_a_browser_has_is_not_sent_again(http: TestClient) -> None:
    for path in ("/", "/assets/app-1a2b3c4d.js"):
        tags = set()
        for said in (PLAIN, {"accept-encoding": "gzip"}):
            first = http.get(path, headers=said)
            tags.add(first.headers["etag"])
            again = http.get(path, headers={**said, "if-none-match": f'"x", W/{first.headers["etag"]}'})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == first.headers["etag"]
            assert again.headers["cache-control"] == first.headers["cache-control"]
        assert len(tags) == 2, "another encoding is another answer"


def test_a_head_has_no_body(http: TestClient) -> None:
    for path in ("/", "/assets/app-1a2b3c4d.js"):
        head, whole = http.head(path, headers=PLAIN), http.get(path, headers=PLAIN)
        assert head.content == b""
        assert head.status_code == 200
        assert {**head.headers, "x-request-id": "", "x-trace-id": ""} == {
            **whole.headers,
            "x-request-id": "",
            "x-trace-id": "",
        }


def test_a_page_may_run_its_own_files_and_nothing_else(http: TestClient) -> None:
    for path in ("/", "/assets/app-1a2b3c4d.js", "/favicon.svg"):
        answer = http.get(path)
        assert answer.headers.get_list("content-security-policy") == [
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self';"
            " connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none';"
            " frame-ancestors 'none'"
        ]
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["x-frame-options"] == "DENY"
    api = http.get("/api/v1/me")
    assert api.headers.get_list("content-security-policy") == ["default-src 'none'; frame-ancestors 'none'"]


ATTACKS = (
    "/assets/../index.html",
    "/assets/..%2f..%2foutside.txt",
    "/%2e%2e/outside.txt",
    "/..%5coutside.txt",
    "/assets/link.js",
    "/assets/up/outside.txt",
    "/assets/.hidden/x.js",
    "/.env",
    "/assets/app-1a2b3c4d.js.br",
    "/assets/app-1a2b3c4d.js.gz",
    "/index.html.gz",
    "/assets/app-1a2b3c4d.js%00",
    "/assets/app-1a2b3c4d.js/",
    "//etc/passwd.txt",
    "/assets/gone-00000000.js",
    "/assets/",
    "/robots.txt",
    "*",
)


@pytest.mark.parametrize("path", ATTACKS)
async def test_nothing_else_of_the_disk_is_there(server: Server, folder: Path, path: str) -> None:
    status, problem = await asked(create_app(server, dashboard=folder), path)
    assert (status, problem["code"]) == (404, "not-found")


@pytest.mark.parametrize("path", ["/datasets/answers.json", "/datasets/..%2f..", "/.env", "/robots.txt"])
async def test_who_looks_gets_the_page_whatever_a_thing_is_called(server: Server, folder: Path, path: str) -> None:
    """It says what there is and what is not; a program that asks for a file is told that there is none."""
    app = create_app(server, dashboard=folder)
    status, body = await told_of(app, path, [(b"accept", b"text/html,*/*;q=0.8")])
    assert (status, body) == (200, INDEX)
    assert (await asked(app, path))[0] == 404
    assert (await told_of(app, "/assets/gone-00000000.js", [(b"accept", b"text/html")]))[0] == 404


async def asked(app: FastAPI, path: str) -> tuple[int, dict[str, Any]]:
    """A path as it is written: what JSON it is answered with."""
    status, body = await told_of(app, path, [])
    return status, json.loads(body)


async def told_of(app: FastAPI, path: str, headers: list[tuple[bytes, bytes]]) -> tuple[int, bytes]:
    """A path as it is written, with its escapes taken back as a server does; a client would tidy it up."""
    told: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        told.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(path),
        "query_string": b"",
        "headers": headers,
        "scheme": "http",
    }
    await app(scope, receive, send)
    return told[0]["status"], b"".join(one.get("body", b"") for one in told)


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/v1/nothing", "/api/v2/me", "/ws", "/healthz/x", "/metrics/"])
def test_a_mistyped_path_of_the_api_is_no_page(http: TestClient, path: str) -> None:
    answer = http.get(path, headers={"accept": "text/html"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_every_route_begins_with_what_is_no_page() -> None:
    paths = {f"{prefix}{route.path}" for prefix, router in ROUTERS for route in router.routes}  # type: ignore[attr-defined]
    assert {path.split("/")[1] for path in paths} == OTHERS


def test_a_page_takes_no_other_method(http: TestClient) -> None:
    for path in ("/", "/setup", "/assets/app-1a2b3c4d.js"):
        answer = http.post(path, json={})
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
        assert http.options(path, headers={"Origin": "https://evil.example"}).status_code == 405
    missing = http.post("/robots.txt")
    assert (missing.status_code, missing.headers["cache-control"]) == (404, "no-store")


def test_what_is_built_anew_changes_nothing_half(http: TestClient, folder: Path) -> None:
    for name in os.listdir(folder / "assets"):
        if not (folder / "assets" / name).is_dir():
            os.unlink(folder / "assets" / name)
    assert http.get("/assets/app-1a2b3c4d.js", headers=PLAIN).content == SCRIPT


def test_without_a_dashboard_it_is_said_how_to_have_one(server: Server, tmp_path: Path) -> None:
    with TestClient(create_app(server, dashboard=tmp_path / "nothing")) as http:
        page = http.get("/", headers={"accept": "text/html,*/*"})
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "<code>make web</code>" in page.text
        assert page.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        problem = http.get("/run-sets")
        assert (problem.status_code, problem.json()["code"]) == (404, "dashboard-missing")
        assert http.get("/favicon.svg").json()["code"] == "not-found"
        assert http.get("/healthz").status_code == 200
