"""The mock provider over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from proctor.models.conversation import ChatRequest, Message, Role, Text
from proctor.models.mock.script import parse_script
from proctor.models.mock.server import MockServer
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import Fault, WireName
from tests.models.wire_strategies import TALKING

WHICH = pytest.mark.parametrize("name", TALKING)
VERSIONED = {WireName.OPENAI_CHAT, WireName.OPENAI_RESPONSES, WireName.OPENAI_EMBEDDINGS}
SCRIPT = parse_script(
    """
    [[rules]]
    model = "drops"
    replies = [{ text = "A text that does not arrive as a whole.", drop_after = 200 }]
    """,
    "",
)


def url(server: MockServer, name: WireName, model: str, *, stream: bool) -> str:
    path = WIRES[name].path(model, stream=stream)
    return f"{server.address}{'/v1' if name in VERSIONED else ''}{path}"


def body(name: WireName, model: str, *, stream: bool) -> dict[str, Any]:
    ask = [Message(role=Role.USER, parts=[Text(text="Grüße")])]
    request = ChatRequest(model=model, messages=ask, max_output_tokens=50, stream=stream)
    return WIRES[name].write_request(request)


@WHICH
async def test_a_conversation_whole_and_streamed(name: WireName) -> None:
    wire = WIRES[name]
    async with MockServer(key="k") as server, aiohttp.ClientSession(headers=wire.headers("k")) as client:
        where, asked = url(server, name, "echo", stream=False), body(name, "echo", stream=False)
        async with client.post(where, json=asked) as answered:
            assert answered.status == 200
            whole = await answered.json()
        meter = wire.meter()
        where, asked = url(server, name, "echo", stream=True), body(name, "echo", stream=True)
        async with client.post(where, json=asked) as answered:
            assert answered.content_type == "text/event-stream"
            async for piece in answered.content.iter_any():
                meter.feed(piece)
    assert wire.read_reply(whole).text == "Grüße"
    assert meter.reading() == wire.read_whole(whole)
    assert meter.reading().usage.total == 4


@WHICH
async def test_refusals(name: WireName) -> None:
    wire = WIRES[name]
    async with MockServer(key="k") as server, aiohttp.ClientSession(headers=wire.headers("k")) as client:
        for model, fault, status in (
            ("rate-limited", Fault.RATE_LIMIT, 429),
            ("unavailable", Fault.UNAVAILABLE, 503),
            ("nobody", Fault.MODEL_UNKNOWN, 404),
        ):
            where = url(server, name, model, stream=True)
            async with client.post(where, json=body(name, model, stream=True)) as answered:
                assert answered.status == status
                assert wire.read_error(status, await answered.read()).fault is fault
                assert answered.headers.get("retry-after") == ("1" if status == 429 else None)
        where = url(server, name, "echo", stream=False)
        for wrong in (b"{", b"[]", b'{"messages": 5, "input": 5, "contents": 5}'):
            async with client.post(where, data=wrong) as answered:
                assert answered.status == 400
                assert wire.read_error(400, await answered.read()).fault is Fault.INVALID
        async with client.post(where, json={}, headers=wire.headers("wrong")) as answered:
            assert answered.status == 401
            assert wire.read_error(401, await answered.read()).fault is Fault.AUTH


@WHICH
@pytest.mark.parametrize("stream", [True, False])
async def test_a_connection_that_is_dropped(name: WireName, stream: bool) -> None:
    async with MockServer(SCRIPT) as server, aiohttp.ClientSession() as client:
        where = url(server, name, "drops", stream=stream)
        async with client.post(where, json=body(name, "drops", stream=stream)) as answered:
            received = bytearray()
            with pytest.raises(aiohttp.ClientPayloadError):
                await _drain(answered, received)
            assert len(received) == 200


async def _drain(answered: aiohttp.ClientResponse, received: bytearray) -> None:
    async for piece in answered.content.iter_any():
        received += piece


async def test_embeddings_models_and_counts() -> None:
    wire = WIRES[WireName.OPENAI_EMBEDDINGS]
    async with MockServer(SCRIPT) as server, aiohttp.ClientSession() as client:
        async with client.post(f"{server.address}/v1/embeddings", json={"model": "e", "input": "a"}) as answered:
            assert wire.read_whole(await answered.json()).usage.input_tokens == 1
        async with client.get(f"{server.address}/v1/models") as answered:
            names = [one["id"] for one in (await answered.json())["data"]]
        assert names == ["drops", "echo", "noop", "rate-limited", "refuse", "slow", "unavailable"]
        for model, status in (("echo", 200), ("nobody", 404)):
            async with client.get(f"{server.address}/v1/models/{model}") as answered:
                assert answered.status == status
        messages = [{"role": "user", "content": "12345678"}]
        counted = {"model": "echo", "messages": messages}
        async with client.post(f"{server.address}/v1/messages/count_tokens", json=counted) as answered:
            assert await answered.json() == {"input_tokens": 2}
        for asked in (
            {"contents": [{"parts": [{"text": "12345678"}]}]},
            {"generateContentRequest": {"model": "models/echo", "contents": [{"parts": [{"text": "12345678"}]}]}},
        ):
            async with client.post(f"{server.address}/v1beta/models/echo:countTokens", json=asked) as answered:
                assert await answered.json() == {"totalTokens": 2}


def test_as_a_program(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text('[[rules]]\nreplies = [{ text = "hello" }]')
    command = [sys.executable, "-m", "proctor.models.mock", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    script.write_text("rules = 5")
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "rules: " in failed.stderr
    assert json.dumps(failed.stdout) == '""'
