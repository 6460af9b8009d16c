"""litellm itself in our worker, against a provider that speaks OpenAI's chat wire: the mock server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.kernel.canonical import Json
from proctor.kernel.clock import SystemClock
from proctor.kernel.ids import new_id
from proctor.models.calls import End, Payer
from proctor.models.conversation import ChatRequest, Finish, Message, Role, Text, Tool
from proctor.models.fake import FakeRates, FakeSpending
from proctor.models.gateway.breakers import Breakers
from proctor.models.gateway.gateway import Gateway
from proctor.models.gateway.litellm import LitellmUpstream
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.sessions import Declared, Session
from proctor.models.litellm_worker.client import LitellmWorker, Question
from proctor.models.prices.book import PriceBook
from proctor.models.prices.rows import PriceRow
from proctor.models.providers.catalogue import Catalogue, Provider
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import Fault, WireName
from tests.foreign.environments import LITELLM
from tests.foreign.mock_server import KEY, mock_server

SOURCE = Path(__file__).parents[2] / "src"
CHAT = WIRES[WireName.OPENAI_CHAT]
TOOL: Json = {
    "type": "function",
    "function": {"name": "bash", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}},
}
SCRIPT = """
[[rules]]
model = "coder"
[[rules.replies]]
text = "I run the tests – wait."
calls = [{ shell = "pytest -q" }]
usage = { input = 100, cache_read = 40, output = 20, reasoning = 7 }
[[rules]]
model = "no-credit"
replies = [{ status = 429, code = "insufficient_quota" }]
[[rules]]
model = "too-long"
replies = [{ status = 400, code = "context_length_exceeded", text = "The maximum context length is 9 tokens." }]
[[rules]]
model = "dropped"
replies = [{ text = "A long text that does not arrive as a whole, since it is cut off.", drop_after = 700 }]
"""


@pytest.fixture(scope="module")
def address(made: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with mock_server(tmp_path_factory.mktemp("mock"), SCRIPT) as there:
        yield there


async def ask(worker: LitellmWorker, address: str, model: str, *, stream: bool, key: str = KEY) -> tuple[int, bytes]:
    body: dict[str, Json] = {"messages": [{"role": "user", "content": "fix"}], "tools": [TOOL]}
    if stream:
        body["stream_options"] = {"include_usage": True}
    question = Question(model=model, api_key=key, api_base=f"{address}/v1", body=body, stream=stream, timeout=20.0)
    async with worker.ask(question) as answered:
        return answered.status, await answered.read()


async def test_through_litellm(address: str) -> None:
    """One test for all, as each worker takes seconds to start."""
    worker = LitellmWorker(python=str(LITELLM.interpreter()), environment={"PYTHONPATH": str(SOURCE)})
    try:
        for prefix in ("openai", "hosted_vllm"):
            await _answers(worker, address, prefix)
        await _refuses(worker, address)
    finally:
        await worker.close()


async def _answers(worker: LitellmWorker, address: str, prefix: str) -> None:
    status, whole = await ask(worker, address, f"{prefix}/coder", stream=False)
    assert status == 200
    reply = CHAT.read_reply(json.loads(whole))
    assert reply.text == "I run the tests – wait."
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("bash", {"command": "pytest -q"})]
    status, streamed = await ask(worker, address, f"{prefix}/coder", stream=True)
    meter = CHAT.meter()
    meter.feed(streamed)
    for usage in (reply.usage, meter.reading().usage):
        assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (100, 40, 0)
        assert (usage.output_tokens, usage.reasoning_tokens) == (20, 7)
    assert (status, reply.finish, meter.reading().finish) == (200, Finish.TOOL_CALLS, Finish.TOOL_CALLS)


async def _refuses(worker: LitellmWorker, address: str) -> None:
    for model, fault in (
        ("rate-limited", Fault.RATE_LIMIT),
        ("no-credit", Fault.QUOTA),
        ("unavailable", Fault.UNAVAILABLE),
        ("nobody", Fault.MODEL_UNKNOWN),
        ("too-long", Fault.CONTEXT),
    ):
        for stream in (True, False):
            status, body = await ask(worker, address, f"openai/{model}", stream=stream)
            assert CHAT.read_error(status, body).fault is fault, (model, status, body)
    status, body = await ask(worker, address, "openai/echo", stream=False, key="a-key-that-expired")
    assert CHAT.read_error(status, body).fault is Fault.AUTH
    assert b"a-key-that-expired" not in body
    status, body = await ask(worker, address, "openai/dropped", stream=True)
    meter = CHAT.meter()
    meter.feed(body)
    error = meter.reading().error
    assert error is not None
    assert error.fault is Fault.UNAVAILABLE
    status, body = await ask(worker, "http://127.0.0.1:1", "openai/echo", stream=False)
    assert CHAT.read_error(status, body).fault is Fault.UNAVAILABLE


async def test_the_gateway_reaches_a_provider_through_litellm(address: str) -> None:
    known = Provider(
        name="hosted_vllm",
        base_url=f"{address}/v1",
        wires=frozenset({WireName.OPENAI_CHAT}),
        keys=("KEY",),
        through_litellm=True,
    )
    spending, upstream = (
        FakeSpending(),
        LitellmUpstream(LitellmWorker(python=str(LITELLM.interpreter()), environment={"PYTHONPATH": str(SOURCE)})),
    )

    def make() -> GatewayParts:
        rows = {"hosted_vllm/coder": PriceRow.model_validate({"input": "1", "output": "10", "max_output": 100})}
        return GatewayParts(
            catalogue=Catalogue({"hosted_vllm": known}),
            prices=PriceBook(rows),
            spending=spending,
            rates=FakeRates(),
            upstream=lambda _provider: upstream,
            clock=SystemClock(),
            breakers=Breakers(SystemClock()),
        )

    async def close(_parts: GatewayParts) -> None:
        await upstream.close()

    gateway = Gateway(make, close)
    payer = Payer(tenant=new_id(), run_set=new_id(), profile="p", attempt=new_id())
    session = Session(payer, Declared(model="hosted_vllm/coder"), {"KEY": KEY})
    try:
        asked = ChatRequest(
            model="hosted_vllm/coder",
            messages=[Message(role=Role.USER, parts=[Text(text="fix")])],
            tools=[Tool(name="bash", description="", parameters={"type": "object", "properties": {}})],
            max_output_tokens=100,
        )
        reply, call = await gateway.complete(session, asked)
    finally:
        gateway.close()
    assert [one.name for one in reply.tool_calls] == ["bash"]
    assert (call.end, call.usage.input_tokens, call.usage.cache_read_tokens) == (End.DONE, 100, 40)
    assert call.usage.reasoning_tokens == 7
    assert spending.calls == [call]
