"""The gateway's sockets: who may ask, what may be asked, and callers that misbehave."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from proctor.models.calls import End
from proctor.models.gateway.endpoints import CONNECTIONS, LARGE_REQUEST, LARGEST_REQUEST
from tests.models.desk import desk
from tests.models.upstream import answers, provider


@pytest.mark.parametrize("model", ["x", "one/x", "two/m"])
async def test_a_model_that_is_not_declared_does_not_exist(tmp_path: Path, model: str) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, body = await one.ask(model=model)
    assert (status, there.bill.requests) == (404, 0)
    assert json.loads(body)["error"]["code"] == "model_not_found"


@pytest.mark.parametrize("token", ["", "x", "proctor_model_" + "x" * 43, "é"])
async def test_who_has_not_the_token_is_told_nothing(tmp_path: Path, token: str) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, _ = await one.ask(token=token)
    assert (status, there.bill.requests) == (401, 0)


async def test_a_token_is_dead_when_its_attempt_is(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        one.session.shut()
        assert (await one.ask())[0] == 401
        one.session.open()
        assert (await one.ask())[0] == 200
        await one.gateway.leave(one.session)
        one.session.open()
        with pytest.raises(aiohttp.ClientConnectorError):
            await one.ask()


@pytest.mark.parametrize(
    "path",
    [
        "/v1/files",
        "/v1/batches",
        "/v1/evals",
        "/v1/chat/completions/x",
        "/",
        "/v1/messages/batches",
        "/v1//models",
        "/x",
    ],
)
async def test_nothing_else_of_an_api_is_there(tmp_path: Path, path: str) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, _ = await one.ask(path)
    assert (status, there.bill.requests) == (404, 0)


@pytest.mark.parametrize(
    "body",
    [
        {"messages": 3},
        {"max_tokens": -1},
        {"max_tokens": "many"},
        {"n": 0},
        {"model": 5},
        {"tools": [{"type": "web_search"}]},
        {"web_search_options": {}},
        {"search_parameters": {"mode": "on"}},
        {"plugins": [{"id": "web"}]},
        {"models": ["one/dearer"]},
        {"extra_body": {"api_base": "x"}},
        {"service_tier": "priority"},
        {"modalities": ["text", "audio"]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x.example/?y"}}]}
            ]
        },
    ],
)
async def test_a_request_that_can_not_be_meant_is_refused_by_name(tmp_path: Path, body: dict[str, object]) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, raw = await one.ask(**body)
    assert status in (400, 404)
    assert there.bill.requests == 0
    assert json.loads(raw)["error"]["message"]


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"[" * 200_000, b"\xff\xfe", b'{"model": "m", "model": 3}'])
async def test_a_body_that_is_none_is_refused(tmp_path: Path, raw: bytes) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one, one.caller() as http:
        headers = {"Authorization": f"Bearer {one.session.token}"}
        async with http.post("http://g/v1/chat/completions", data=raw, headers=headers) as response:
            assert response.status in (400, 404)
    assert there.bill.requests == 0


async def test_no_header_of_the_callers_goes_on_but_those_of_the_wire(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one, one.caller() as http:
        headers = {"Authorization": f"Bearer {one.session.token}", "Cookie": "a=b", "X-Forwarded-For": "1"}
        body = {"model": "m", "messages": [], "max_tokens": 5}
        async with http.post("http://g/v1/chat/completions", json=body, headers=headers) as response:
            assert response.status == 200
    assert there.bill.keys == ["k1"]


async def test_a_caller_that_goes_away_ends_the_call_and_is_charged(tmp_path: Path) -> None:
    async with provider(answers(delay=30)) as there, desk(tmp_path, {"one": there.url}) as one:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(one.ask(), 0.5)
        for _ in range(100):
            if one.spending.calls:
                break
            await asyncio.sleep(0.02)
    [call] = one.spending.calls
    assert (call.end, call.cost_nano) == (End.ABANDONED, call.reserved_nano)
    assert one.spending.held_nano == 0


async def test_a_token_that_is_no_text_lets_nobody_through(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        assert not one.session.admits(b"\xff\xfe".decode("utf-8", "surrogateescape"))


async def test_the_models_are_listed(tmp_path: Path) -> None:
    async with desk(tmp_path, {"one": "http://127.0.0.1:9"}) as one, one.caller() as http:
        headers = {"x-api-key": one.session.token}
        async with http.get("http://g/v1/models", headers=headers) as response:
            assert [item["id"] for item in (await response.json())["data"]] == ["m", "one/m"]
        async with http.get("http://g/v1/models/one/m", headers=headers) as response:
            assert response.status == 200
        async with http.get("http://g/v1/models/other", headers=headers) as response:
            assert response.status == 404


# --- the other wires, by the mock provider ----------------------------------------------------------------------------


async def test_a_sandbox_has_so_many_connections_and_no_more(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        opened = [await asyncio.open_unix_connection(str(one.socket)) for _ in range(200)]
        ended = [asyncio.create_task(reader.read()) for reader, _ in opened]
        while sum(task.done() for task in ended) < 200 - CONNECTIONS:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert sum(task.done() for task in ended) == 200 - CONNECTIONS
        for _, writer in opened:
            writer.close()
        await asyncio.gather(*ended, return_exceptions=True)
        while True:
            try:
                assert (await one.ask())[0] == 200
                break
            except aiohttp.ClientError:  # those that were closed may still be counted
                await asyncio.sleep(0.01)


async def test_a_request_that_is_too_large_is_refused(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, body = await one.ask(messages=[{"role": "user", "content": "x" * LARGEST_REQUEST}])
        assert (status, there.bill.requests) == (400, 0)
        assert b"bytes" in body
        large = [{"role": "user", "content": "x" * (LARGE_REQUEST + 1)}]
        many = await asyncio.gather(*(one.ask(messages=large) for _ in range(20)))
    assert [status for status, _, _ in many] == [200] * 20


async def test_a_caller_that_says_nothing_holds_nobody_up(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        reader, writer = await asyncio.open_unix_connection(str(one.socket))
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer {one.session.token}\r\n"
        writer.write(f"{head}Content-Length: 1000\r\n\r\n{{".encode())
        await writer.drain()
        assert (await asyncio.wait_for(one.ask(), 10))[0] == 200
        writer.close()
        await reader.read()


async def test_rubbish_fills_no_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with desk(tmp_path, {"one": "http://127.0.0.1:9"}) as one:
        for _ in range(20):
            reader, writer = await asyncio.open_unix_connection(str(one.socket))
            writer.write(b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n")
            await reader.read()
            writer.close()
    assert len([record for record in caplog.records if record.name == "proctor.models.callers"]) == 1
