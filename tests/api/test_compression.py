"""Large answers are compressed for whoever takes that, and are the same answers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.testclient import TestClient

from proctor.api import etags
from proctor.api.etags import SMALLEST, ETags

LARGE = {"items": list(range(20_000))}
SMALL = {"items": ["x" * (SMALLEST - 100)]}


@pytest.fixture
def answers() -> dict[str, Any]:
    return {"large": LARGE, "small": SMALL}


@pytest.fixture
def http(answers: dict[str, Any]) -> Iterator[TestClient]:
    app = FastAPI()

    @app.get("/large")
    @app.post("/large")
    def large() -> JSONResponse:
        return JSONResponse(answers["large"], headers={"Vary": "x-own"})

    @app.get("/small")
    def small() -> JSONResponse:
        return JSONResponse(answers["small"])

    @app.get("/own")
    def own() -> JSONResponse:
        return JSONResponse(answers["large"], headers={"ETag": '"7"'})

    @app.get("/text")
    def text() -> PlainTextResponse:
        return PlainTextResponse("x" * 100_000)

    @app.get("/kept")
    def kept() -> JSONResponse:
        return JSONResponse(answers["large"], headers={"Cache-Control": "max-age=1"})

    app.add_middleware(ETags)
    with TestClient(app) as client:
        yield client


def get(http: TestClient, path: str, encoding: str, **more: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and the bytes as they were sent."""
    said = {"accept-encoding": encoding, **{name.replace("_", "-"): value for name, value in more.items()}}
    with http.stream("GET", path, headers=said) as answer:
        raw = b"".join(answer.iter_raw())
    return answer.status_code, {name.lower(): value for name, value in answer.headers.items()}, raw


@pytest.mark.parametrize("aside", [1, 1 << 30], ids=["in a thread", "at once"])
def test_a_large_answer_is_compressed(http: TestClient, monkeypatch: pytest.MonkeyPatch, aside: int) -> None:
    monkeypatch.setattr(etags, "_ASIDE", aside)
    _, plain, body = get(http, "/large", "identity")
    status, headers, raw = get(http, "/large", "gzip, br")
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert headers["content-length"] == str(len(raw))
    assert len(raw) < len(body) / 2
    assert gzip.decompress(raw) == body
    assert json.loads(body) == LARGE
    assert raw == get(http, "/large", "gzip")[2], "without a time in it"
    assert "content-encoding" not in plain
    assert plain["vary"] == headers["vary"] == "x-own, accept-encoding"
    assert plain["content-type"] == headers["content-type"] == "application/json"


@pytest.mark.parametrize("encoding", ["br", "gzip;q=0", "identity", "", "*;q=0"])
def test_who_does_not_take_it_gets_it_as_it_is(http: TestClient, encoding: str) -> None:
    _, headers, raw = get(http, "/large", encoding)
    assert "content-encoding" not in headers
    assert json.loads(raw) == LARGE


@pytest.mark.parametrize("path", ["/small", "/text", "/kept"])
def test_what_is_small_or_no_json_or_kept_by_its_own_rule_is_left(http: TestClient, path: str) -> None:
    _, headers, _ = get(http, path, "gzip")
    assert "content-encoding" not in headers
    assert "vary" not in headers


def test_only_what_is_asked_for_by_get_is_compressed(http: TestClient) -> None:
    answer = http.post("/large", headers={"accept-encoding": "gzip"})
    assert not {"content-encoding", "etag"} & set(answer.headers)


@pytest.mark.parametrize("path", ["/large", "/own"])
@pytest.mark.parametrize("first", ["gzip", "identity"])
@pytest.mark.parametrize("then", ["gzip", "identity"])
def test_a_tag_is_known_however_the_answer_was_sent(
    http: TestClient, answers: dict[str, Any], path: str, first: str, then: str
) -> None:
    _, headers, _ = get(http, path, first)
    assert headers["etag"].startswith("W/") is (first == "gzip"), "other bytes, the same answer"
    status, again, raw = get(http, path, then, if_none_match=f'"x", {headers["etag"]}')
    assert (status, raw) == (304, b"")
    assert not {"content-encoding", "content-type", "content-length"} & set(again)
    assert again["etag"].removeprefix("W/") == headers["etag"].removeprefix("W/")
    assert "accept-encoding" in again["vary"]
    if path == "/large":
        answers["large"] = {"items": list(range(20_001))}
        status, changed, _ = get(http, path, then, if_none_match=headers["etag"])
        assert status == 200
        assert changed["etag"].removeprefix("W/") != headers["etag"].removeprefix("W/")


def test_two_encodings_have_two_strong_tags_never(http: TestClient) -> None:
    """Or a cache could put together ranges of both."""
    strong: Callable[[str], str] = lambda encoding: get(http, "/large", encoding)[1]["etag"]  # noqa: E731
    assert strong("gzip") != strong("identity")


def test_the_api_document_is_a_tenth(app: FastAPI) -> None:
    with TestClient(app) as http:
        _, headers, raw = get(http, "/api/v1/openapi.json", "gzip")
    assert headers["content-encoding"] == "gzip"
    assert len(raw) < len(gzip.decompress(raw)) / 5
