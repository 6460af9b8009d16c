"""Bodies that are wrong in any way: an error names what is wrong, or it is not known; nothing else is ever raised."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.models.conversation import TokenUsage
from proctor.models.errors import ReplyInvalid, RequestInvalid
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import Fault, Wire, WireName
from tests.models.wire_strategies import TALKING, replies, requests

EVERY = pytest.mark.parametrize("name", list(WireName))
WHICH = pytest.mark.parametrize("name", TALKING)
FEW = settings(max_examples=40, deadline=None)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("file") | st.just("image"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def read_all(wire: Wire, body: dict[str, Any]) -> None:
    """All that reads a body."""
    raw = json.dumps(body).encode()
    with suppress(RequestInvalid):
        facts = wire.facts(raw, body, model="m")
        assert facts.text_bytes >= 0
        assert facts.max_output_tokens is None or facts.max_output_tokens >= 0
    with suppress(RequestInvalid):
        wire.read_request(body, model="m")
    with suppress(RequestInvalid, ReplyInvalid):
        wire.read_reply(body)
    reading = wire.read_whole(body)
    known = [getattr(reading.usage, name) for name in TokenUsage.__dataclass_fields__]
    assert all(one is None or (type(one) is int and one >= 0) for one in known)
    meter = wire.meter()
    meter.feed(b"data: " + raw + b"\n\n")
    meter.reading()
    wire.read_error(400, raw)
    wire.forwarded(body, model="m")


@EVERY
@FEW
@given(body=st.dictionaries(st.text(max_size=5), ODD, max_size=4))
def test_any_body(name: WireName, body: dict[str, Any]) -> None:
    read_all(WIRES[name], body)


@WHICH
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_good_body_with_one_field_changed(name: WireName, data: st.DataObject) -> None:
    wire = WIRES[name]
    if data.draw(st.booleans()):
        body = wire.write_request(data.draw(requests(name)))
    else:
        body = wire.write_reply(data.draw(replies(name)))
    body = json.loads(json.dumps(body))
    read_all(wire, _changed(body, data))


def _changed(body: Any, data: st.DataObject) -> Any:
    """The body with what is at some place in it replaced."""
    place = copied = copy.deepcopy(body)
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return copied
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            place[key] = data.draw(ODD)
            return copied
        place = inner


@EVERY
@pytest.mark.parametrize("levels", [200, 1_000, 100_000])
def test_a_body_that_is_nested_too_deep(name: WireName, levels: int) -> None:
    wire = WIRES[name]
    body = {"model": "m", "max_tokens": 1, "messages": deep(levels), "input": deep(levels), "contents": deep(levels)}
    with pytest.raises(RequestInvalid, match="nested"):
        wire.facts(b"{}", body, model="m")
    raw = b"[" * levels + b"]" * levels
    meter = wire.meter()
    meter.feed(b'data: {"usage": ' + raw + b"}\n\n")
    assert meter.reading().usage == TokenUsage()
    assert wire.read_error(400, raw).fault is Fault.INVALID


@WHICH
@pytest.mark.parametrize("levels", [200, 1_000])
def test_a_deep_reply_or_request_is_refused_whole(name: WireName, levels: int) -> None:
    wire = WIRES[name]
    with pytest.raises(RequestInvalid, match="nested"):
        wire.read_request({"x": deep(levels)}, model="m")
    with pytest.raises(ReplyInvalid, match="nested"):
        wire.read_reply({"x": deep(levels)})


CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
CLAUDE = {**CHAT, "max_tokens": 5}
RESPONSES = {"model": "m", "input": "hi"}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


@pytest.mark.parametrize("bad", [0, -1, True, 1.5, "5", [5], 10**13])
@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        (WireName.OPENAI_CHAT, CHAT, "max_tokens"),
        (WireName.OPENAI_CHAT, CHAT, "max_completion_tokens"),
        (WireName.OPENAI_CHAT, CHAT, "n"),
        (WireName.ANTHROPIC, CLAUDE, "max_tokens"),
        (WireName.OPENAI_RESPONSES, RESPONSES, "max_output_tokens"),
        (WireName.GEMINI, GEMINI, "generationConfig.maxOutputTokens"),
        (WireName.GEMINI, GEMINI, "generationConfig.candidateCount"),
        (WireName.GEMINI, GEMINI, "generation_config.max_output_tokens"),
    ],
)
def test_limits_are_positive_whole_numbers(name: WireName, body: dict[str, Any], field: str, bad: object) -> None:
    outer, _, inner = field.partition(".")
    changed = {**body, outer: {inner: bad} if inner else bad}
    with pytest.raises(RequestInvalid) as caught:
        WIRES[name].facts(b"{}", changed, model="m")
    assert caught.value.where == field.replace("generation_config.max_output", "generationConfig.maxOutput").replace(
        "_tokens" if "." in field else "\0", "Tokens"
    )


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        (WireName.OPENAI_CHAT, {**CHAT, "messages": "hi"}, "messages"),
        (WireName.OPENAI_CHAT, {**CHAT, "messages": ["hi"]}, "messages.0"),
        (WireName.OPENAI_CHAT, {**CHAT, "stream": "yes"}, "stream"),
        (WireName.OPENAI_CHAT, {**CHAT, "tools": {}}, "tools"),
        (WireName.OPENAI_CHAT, {**CHAT, "model": 5}, "model"),
        (WireName.OPENAI_CHAT, {**CHAT, "model": "m" * 300}, "model"),
        (WireName.ANTHROPIC, CHAT, "max_tokens"),
        (WireName.ANTHROPIC, {**CLAUDE, "messages": [5]}, "messages.0"),
        (WireName.OPENAI_RESPONSES, {**RESPONSES, "input": {"a": 1}}, "input"),
        (WireName.OPENAI_RESPONSES, {**RESPONSES, "input": ["a"]}, "input.0"),
        (WireName.OPENAI_RESPONSES, {**RESPONSES, "background": True}, "background"),
        (WireName.GEMINI, {"contents": {}}, "contents"),
        (WireName.GEMINI, {**GEMINI, "generationConfig": [1]}, "generationConfig"),
        (WireName.OPENAI_EMBEDDINGS, {"model": "m"}, "input"),
        (WireName.OPENAI_EMBEDDINGS, {"model": "m", "input": []}, "input"),
    ],
)
def test_what_is_wrong_is_named(name: WireName, body: dict[str, Any], field: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        WIRES[name].facts(b"{}", body, model="m" if name is WireName.GEMINI else "")
    assert caught.value.where == field


def test_embeddings_have_no_conversation() -> None:
    wire = WIRES[WireName.OPENAI_EMBEDDINGS]
    for call in (wire.read_request, wire.read_reply):
        with pytest.raises(RequestInvalid, match="no conversation"):
            call({})


@pytest.mark.parametrize("bad", [{"role": "robot", "content": "hi"}, {"content": "hi"}, {"role": 5}])
@pytest.mark.parametrize("name", [WireName.OPENAI_CHAT, WireName.ANTHROPIC])
def test_roles_that_there_are_not(name: WireName, bad: dict[str, Any]) -> None:
    with pytest.raises(RequestInvalid) as caught:
        WIRES[name].read_request({"model": "m", "max_tokens": 5, "messages": [bad]})
    assert caught.value.where == "messages.0.role"
