"""Streams as providers send them, and what is known of them as they come."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from proctor.models.conversation import Finish, TokenUsage
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import Fault, Reading, WireName
from proctor.models.wires.sse import EVENT_BYTES, Events
from tests.models.wire_strategies import TALKING


def sse(*events: Any, named: bool = False) -> bytes:
    return b"".join(
        (f"event: {one['type']}\n".encode() if named else b"") + b"data: " + json.dumps(one).encode() + b"\n\n"
        for one in events
    )


def metered(name: WireName, stream: bytes, size: int = 7) -> Reading:
    meter = WIRES[name].meter()
    for start in range(0, len(stream), size):
        meter.feed(stream[start : start + size])
    return meter.reading()


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5-2026", "usage": None}
    return {**head, "system_fingerprint": "fp_1", "choices": [choice], **more}


CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "shell", "arguments": ""}}
CHAT = [
    chunk({"role": "assistant", "content": "", "refusal": None}),
    chunk({"content": 'I say "usage": {"prompt_tokens": 99} and "finish_reason": "length".'}),
    chunk({"tool_calls": [CALL]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"command": "ls", "error": {}}'}}]}),
    chunk({}, "tool_calls"),
]
COUNTED = chunk(
    {},
    choices=[],
    usage={
        "prompt_tokens": 50,
        "completion_tokens": 9,
        "total_tokens": 59,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 4},
    },
)


def test_chat_with_tools_and_cached_tokens() -> None:
    assert metered(WireName.OPENAI_CHAT, sse(*CHAT, COUNTED) + b"data: [DONE]\n\n") == Reading(
        model="gpt-5-2026",
        usage=TokenUsage(
            input_tokens=10, cache_read_tokens=40, cache_write_tokens=0, output_tokens=5, reasoning_tokens=4
        ),
        finish=Finish.TOOL_CALLS,
        id="chatcmpl-1",
        fingerprint="fp_1",
    )


def test_chat_that_breaks_off_is_not_finished_and_not_counted() -> None:
    reading = metered(WireName.OPENAI_CHAT, sse(*CHAT[:3]))
    assert (reading.model, reading.finish, reading.usage) == ("gpt-5-2026", None, TokenUsage())


def test_chat_that_refuses() -> None:
    stream = sse(chunk({"refusal": "I can't"}), chunk({"refusal": " do that."}), chunk({}, "stop"))
    assert metered(WireName.OPENAI_CHAT, stream).finish is Finish.REFUSED


def test_chat_that_fails_midway() -> None:
    failed = {"error": {"message": "The server had an error", "type": "server_error", "code": None}}
    reading = metered(WireName.OPENAI_CHAT, sse(CHAT[0], CHAT[1], failed))
    assert reading.error is not None
    assert (reading.error.fault, reading.error.code) == (Fault.UNAVAILABLE, "server_error")


def test_chat_whose_first_chunk_names_no_model() -> None:
    nameless = {"id": "", "model": "", "choices": [], "prompt_filter_results": []}
    assert metered(WireName.OPENAI_CHAT, sse(nameless, *CHAT)).model == "gpt-5-2026"


def test_chat_of_two_choices_ends_as_the_first_does() -> None:
    other = chunk({}, "length")
    other["choices"][0]["index"] = 1
    assert metered(WireName.OPENAI_CHAT, sse(*CHAT, other)).finish is Finish.TOOL_CALLS
    assert metered(WireName.OPENAI_CHAT, sse(CHAT[0], other)).finish is None


def claude(*, output: int = 30, **more: Any) -> list[dict[str, Any]]:
    begun = {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30, "output_tokens": 1}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-5",
        "content": [],
        "usage": begun,
    }
    tool = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
    return [
        {"type": "message_start", "message": message},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": '"message_delta"'}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "ping"},
        {"type": "content_block_start", "index": 1, "content_block": tool},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": output, **more}},
        {"type": "message_stop"},
    ]


def test_messages_with_tools_and_cached_tokens() -> None:
    assert metered(WireName.ANTHROPIC, sse(*claude(), named=True)) == Reading(
        model="claude-5",
        usage=TokenUsage(
            input_tokens=10, cache_read_tokens=30, cache_write_tokens=20, output_tokens=30, reasoning_tokens=0
        ),
        finish=Finish.TOOL_CALLS,
        id="msg_1",
    )


def test_messages_whose_end_corrects_the_input() -> None:
    found = metered(WireName.ANTHROPIC, sse(*claude(input_tokens=12, cache_read_input_tokens=None), named=True)).usage
    assert (found.input_tokens, found.cache_read_tokens) == (12, 30)


def test_messages_that_break_off_have_no_count_of_their_output() -> None:
    reading = metered(WireName.ANTHROPIC, sse(*claude()[:5], named=True))
    assert (reading.finish, reading.usage.input_tokens, reading.usage.output_tokens) == (None, 10, None)


def test_messages_that_fail_midway() -> None:
    failed = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    reading = metered(WireName.ANTHROPIC, sse(*claude()[:3], failed, named=True))
    assert reading.error is not None
    assert reading.error.fault is Fault.UNAVAILABLE
    assert reading.usage.input_tokens == 10


def response(status: str, **more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "model": "gpt-5-2026", "status": status, "output": [], **more}


COUNTS = {
    "input_tokens": 50,
    "input_tokens_details": {"cached_tokens": 40},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 4},
    "total_tokens": 59,
}


@pytest.mark.parametrize(
    ("kind", "more", "finish"),
    [
        (
            "completed",
            {"output": [{"type": "message", "content": [{"type": "output_text", "text": "x"}]}]},
            Finish.STOP,
        ),
        ("completed", {"output": [{"type": "function_call", "name": "shell"}]}, Finish.TOOL_CALLS),
        ("completed", {"output": [{"type": "message", "content": [{"type": "refusal"}]}]}, Finish.REFUSED),
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, Finish.LENGTH),
        ("incomplete", {"incomplete_details": {"reason": "content_filter"}}, Finish.REFUSED),
    ],
)
def test_responses(kind: str, more: dict[str, Any], finish: Finish) -> None:
    events = [
        {"type": "response.created", "response": response("in_progress", usage=None)},
        {"type": "response.output_text.delta", "delta": '{"type":"response.completed","response":{}}'},
        {"type": f"response.{kind}", "response": response(kind, usage=COUNTS, **more)},
    ]
    assert metered(WireName.OPENAI_RESPONSES, sse(*events, named=True)) == Reading(
        model="gpt-5-2026",
        usage=TokenUsage(
            input_tokens=10, cache_read_tokens=40, cache_write_tokens=0, output_tokens=5, reasoning_tokens=4
        ),
        finish=finish,
        id="resp_1",
    )


@pytest.mark.parametrize(
    "failed",
    [
        {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down", "param": None},
        {"type": "error", "error": {"type": "x", "code": "rate_limit_exceeded", "message": "Slow down"}},
        {
            "type": "response.failed",
            "response": response("failed", error={"code": "rate_limit_exceeded", "message": "Slow down"}),
        },
    ],
)
def test_responses_that_fail(failed: dict[str, Any]) -> None:
    begun = {"type": "response.created", "response": response("in_progress")}
    reading = metered(WireName.OPENAI_RESPONSES, sse(begun, failed, named=True))
    assert reading.finish is None
    assert reading.error is not None
    assert (reading.error.fault, reading.error.message) == (Fault.RATE_LIMIT, "Slow down")


def test_generate_content() -> None:
    head = {"modelVersion": "gemini-3-pro", "responseId": "r1"}
    call = {"functionCall": {"name": "run", "args": {}}, "thoughtSignature": "c2ln"}
    begun = {"promptTokenCount": 10, "totalTokenCount": 10}
    ended = {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 4, "totalTokenCount": 17}
    stream = sse(
        {"candidates": [{"content": {"parts": [{"text": "é", "thought": True}]}}], "usageMetadata": begun, **head},
        {"candidates": [{"content": {"parts": [call], "role": "model"}, "index": 0}], **head},
        {
            "candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}],
            "usageMetadata": ended,
            **head,
        },
    ).replace(b"\n", b"\r\n")
    assert metered(WireName.GEMINI, stream, 1) == Reading(
        model="gemini-3-pro",
        usage=TokenUsage(
            input_tokens=10, cache_read_tokens=0, cache_write_tokens=0, output_tokens=3, reasoning_tokens=4
        ),
        finish=Finish.TOOL_CALLS,
        id="r1",
    )


def test_generate_content_whose_prompt_is_refused_or_that_fails() -> None:
    assert metered(WireName.GEMINI, sse({"promptFeedback": {"blockReason": "SAFETY"}})).finish is Finish.REFUSED
    failed = metered(WireName.GEMINI, sse({"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}))
    assert failed.error is not None
    assert failed.error.fault is Fault.UNAVAILABLE


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"data: a\n\ndata:b\n\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": a comment\n\nevent: x\nid: 5\ndata: a\nretry: 1\n\n", [b"a"]),
        (b"\n\n\n\ndata: a\n\n\n\n", [b"a"]),
        (b"data: not ended\n", []),
        ("data: ü€😀\n\n".encode(), ["ü€😀".encode()]),
        (b"data\n\ndatabase: x\n\n", []),
    ],
)
def test_events_however_they_are_cut(stream: bytes, data: list[bytes]) -> None:
    for size in range(1, len(stream) + 1):
        events = Events()
        found = [one for at in range(0, len(stream), size) for one in events.feed(stream[at : at + size])]
        assert found == data


def test_an_event_that_is_too_long_is_passed_over_and_not_kept() -> None:
    meter = WIRES[WireName.OPENAI_CHAT].meter()
    meter.feed(b'data: {"model": "m", "usage": "')
    tracemalloc.start()
    for _ in range(40):
        meter.feed(b"x" * (1 << 20))
    assert tracemalloc.get_traced_memory()[0] < 2 * EVENT_BYTES
    tracemalloc.stop()
    meter.feed(b'"}\n\n' + sse(COUNTED))
    assert meter.reading().usage.input_tokens == 10
    meter.feed(b'data: "' + b"x" * (EVENT_BYTES + 1) + b'"\n\n' + sse(chunk({}, "stop")))
    assert meter.reading().finish is Finish.STOP


@pytest.mark.parametrize("name", TALKING)
def test_streams_that_are_none(name: WireName) -> None:
    noise = b"\x00\xff\r\n\r\ndata: {\n\ndata: [1]\n\ndata: null\n\ndata: \xff\n\n<html>"
    assert metered(name, noise, 3) == Reading()


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_events_that_do_not_matter_are_passed_over_wherever_they_are_cut(size: int) -> None:
    """What has whole events alone and nothing that matters is not even split: what is kept between must stay so."""
    words = [{**CHAT[0], "choices": [{"index": 0, "delta": {"content": "word\n\n"}, "finish_reason": None}]}] * 30
    meter = WIRES[WireName.OPENAI_CHAT].meter()
    raw = sse(CHAT[0], *words, *CHAT[1:], COUNTED) + b"data: [DONE]\n\n"
    for start in range(0, len(raw), size):
        meter.feed(raw[start : start + size])
    assert meter.reading() == metered(WireName.OPENAI_CHAT, sse(*CHAT, COUNTED) + b"data: [DONE]\n\n")
    assert meter.reading().usage.total
