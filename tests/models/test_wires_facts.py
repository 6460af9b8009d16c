"""What requests ask, as agents write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.models.errors import RequestInvalid
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import RequestFacts, WireName

PIXELS = "iVBORw0KGgo" * 100
AT = "https://example.com/a.png"
URL = f"data:image/png;base64,{PIXELS}"
ASK = [{"role": "user", "content": "hi"}]


def facts(name: WireName, body: dict[str, Any], *, model: str = "", stream: bool = False) -> RequestFacts:
    return WIRES[name].facts(json.dumps(body).encode(), body, model=model, stream=stream)


def test_chat() -> None:
    body = {
        "model": "gpt-5",
        "stream": True,
        "n": 3,
        "max_tokens": 10,
        "max_completion_tokens": 20,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
        ],
        "tools": [{"type": "function", "function": {"name": "shell"}}, {"type": "custom", "custom": {"name": "x"}}],
    }
    raw = json.dumps(body).encode()
    assert facts(WireName.OPENAI_CHAT, body) == RequestFacts(
        model="gpt-5",
        stream=True,
        max_output_tokens=60,
        text_bytes=len(raw) - len(URL),
        messages=3,
        images=2,
        tools=2,
        choices=3,
        fetches=True,
    )


@pytest.mark.parametrize(
    "more",
    [
        {"web_search_options": {}},
        {"tools": [{"type": "web_search"}]},
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "data:video/mp4"}}]}]},
        {"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]},
    ],
)
def test_chat_whose_input_has_no_bound(more: dict[str, Any]) -> None:
    assert not facts(WireName.OPENAI_CHAT, {"model": "m", "messages": ASK}).stateful
    assert facts(WireName.OPENAI_CHAT, {"model": "m", "messages": ASK, **more}).stateful


def test_only_pictures_are_no_text() -> None:
    for url in ("data:application/pdf;base64,AAAA", "https://example.com/" + "a" * 50):
        body = {
            "model": "m",
            "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}],
        }
        assert facts(WireName.OPENAI_CHAT, body).text_bytes == len(json.dumps(body))


def test_responses() -> None:
    body = {
        "model": "gpt-5",
        "max_output_tokens": 50,
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_image", "image_url": URL}, {"type": "input_text", "text": "a"}],
            },
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": URL}]},
            {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": URL}},
        ],
        "tools": [{"type": "function", "name": "look"}, {"type": "local_shell"}],
    }
    found = facts(WireName.OPENAI_RESPONSES, body)
    assert (found.messages, found.images, found.tools, found.max_output_tokens) == (4, 3, 2, 50)
    assert found.text_bytes == len(json.dumps(body)) - 3 * len(URL)
    assert not found.stateful


@pytest.mark.parametrize(
    "more",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"prompt": {"id": "pmpt_1"}},
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
        {"tools": [{"type": "computer_use_preview"}]},
        {"tools": [{"type": "mcp", "server_url": "https://example.com"}]},
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]},
        {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file-1"}]}]},
        {"input": [{"type": "computer_call_output", "output": {"type": "computer_screenshot", "file_id": "f"}}]},
    ],
)
def test_responses_whose_input_has_no_bound(more: dict[str, Any]) -> None:
    assert not facts(WireName.OPENAI_RESPONSES, {"model": "m", "input": "hi"}).stateful
    assert facts(WireName.OPENAI_RESPONSES, {"model": "m", "input": "hi", **more}).stateful


def test_messages() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXELS}}
    body = {
        "model": "claude-5",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [picture, {"type": "text", "text": "a"}]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {"a": picture}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [picture]}]},
            {"role": "user", "content": [{"type": "document", "source": {"type": "content", "content": [picture]}}]},
        ],
        "tools": [{"name": "look", "input_schema": {}}, {"type": "bash_20250124", "name": "bash"}],
    }
    found = facts(WireName.ANTHROPIC, body)
    assert (found.messages, found.images, found.tools, found.max_output_tokens) == (4, 3, 2, 100)
    assert found.text_bytes == len(json.dumps(body)) - 3 * len(PIXELS)
    assert not found.stateful


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "bash_20250124_hosted", "name": "bash"}]},
        {"mcp_servers": [{"type": "url", "url": "https://example.com"}]},
        {"container": "container_1"},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "base64", "data": "A"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}]},
    ],
)
def test_messages_whose_input_has_no_bound(more: dict[str, Any]) -> None:
    body = {"model": "m", "max_tokens": 5, "messages": ASK}
    assert not facts(WireName.ANTHROPIC, body).stateful
    assert facts(WireName.ANTHROPIC, {**body, **more}).stateful


def test_generate_content_in_both_spellings() -> None:
    blob = {"inlineData": {"mimeType": "image/png", "data": PIXELS}}
    other = {"inline_data": {"mime_type": "image/png", "data": PIXELS}}
    body = {
        "contents": [
            {"role": "user", "parts": [blob, other, {"text": "a"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {}, "parts": [blob]}}]},
        ],
        "generation_config": {"max_output_tokens": 7, "candidateCount": 2},
        "tools": [{"function_declarations": [{"name": "a"}, {"name": "b"}]}],
    }
    found = facts(WireName.GEMINI, body, model="gemini-3", stream=True)
    assert (found.model, found.stream, found.messages, found.images) == ("gemini-3", True, 2, 3)
    assert (found.tools, found.choices, found.max_output_tokens) == (2, 2, 14)
    assert found.text_bytes == len(json.dumps(body)) - 3 * len(PIXELS)
    assert not found.stateful


@pytest.mark.parametrize(
    "more",
    [
        {"cachedContent": "cachedContents/1"},
        {"cached_content": "cachedContents/1"},
        {"tools": [{"googleSearch": {}}]},
        {"tools": [{"code_execution": {}}]},
        {"contents": [{"parts": [{"fileData": {"fileUri": "https://example.com/a"}}]}]},
        {"contents": [{"parts": [{"file_data": {"file_uri": "https://example.com/a"}}]}]},
        {"contents": [{"parts": [{"inlineData": {"mimeType": "application/pdf", "data": "A"}}]}]},
        {"systemInstruction": {"parts": [{"fileData": {"fileUri": "https://example.com/a"}}]}},
    ],
)
def test_generate_content_whose_input_has_no_bound(more: dict[str, Any]) -> None:
    body = {"contents": [{"parts": [{"text": "hi"}]}]}
    assert not facts(WireName.GEMINI, body, model="m").stateful
    assert facts(WireName.GEMINI, {**body, **more}, model="m").stateful


@pytest.mark.parametrize(
    ("twice", "field"),
    [
        ({"cached_content": "cachedContents/1", "cachedContent": None}, "cachedContent"),
        ({"contents": [{"parts": [{"file_data": {"file_uri": "x"}, "fileData": None}]}]}, "fileData"),
        ({"generationConfig": {"maxOutputTokens": 1, "max_output_tokens": 9}}, "maxOutputTokens"),
    ],
)
def test_nothing_of_geminis_hides_behind_its_other_spelling(twice: dict[str, Any], field: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        facts(WireName.GEMINI, {"contents": [], **twice}, model="m")
    assert caught.value.where == field


def test_embeddings() -> None:
    assert facts(WireName.OPENAI_EMBEDDINGS, {"model": "e", "input": ["a", "b"]}).messages == 2
    one = facts(WireName.OPENAI_EMBEDDINGS, {"model": "e", "input": [1, 2, 3]})
    assert (one.messages, one.max_output_tokens, one.stream) == (1, 0, False)


def test_a_body_goes_on_as_it_came_but_for_its_model_and_the_usage_of_streams() -> None:
    body = {"model": "a", "messages": ASK, "stream": True, "stream_options": {"x": 1}, "other": [1]}
    chat = WIRES[WireName.OPENAI_CHAT]
    assert chat.forwarded(body, model="b") == {
        **body,
        "model": "b",
        "stream_options": {"x": 1, "include_usage": True},
    }
    assert "stream_options" not in chat.forwarded({"model": "a", "messages": ASK}, model="b")
    for name in (WireName.OPENAI_RESPONSES, WireName.ANTHROPIC, WireName.OPENAI_EMBEDDINGS):
        assert WIRES[name].forwarded(body, model="b") == {**body, "model": "b"}
    assert WIRES[WireName.GEMINI].forwarded({"contents": []}, model="b") == {"contents": []}
    assert WIRES[WireName.GEMINI].forwarded({"model": "models/a"}, model="b") == {"model": "models/b"}


def test_where_requests_go_and_who_asks() -> None:
    paths = {name: wire.path("m/../x?", stream=True) for name, wire in WIRES.items()}
    assert paths == {
        WireName.OPENAI_CHAT: "/chat/completions",
        WireName.OPENAI_RESPONSES: "/responses",
        WireName.OPENAI_EMBEDDINGS: "/embeddings",
        WireName.ANTHROPIC: "/v1/messages",
        WireName.GEMINI: "/v1beta/models/m%2F..%2Fx%3F:streamGenerateContent?alt=sse",
    }
    assert WIRES[WireName.GEMINI].path("g", stream=False) == "/v1beta/models/g:generateContent"
    for name, wire in WIRES.items():
        assert wire.name is name
        assert any("the-key" in value for value in wire.headers("the-key").values())


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (
            WireName.OPENAI_RESPONSES,
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": AT}]}]},
        ),
        (
            WireName.OPENAI_RESPONSES,
            {"input": [{"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": AT}}]},
        ),
        (
            WireName.ANTHROPIC,
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": AT}}]}]},
        ),
        (
            WireName.ANTHROPIC,
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "tool_result",
                                "tool_use_id": "t",
                                "content": [{"type": "image", "source": {"type": "url", "url": AT}}],
                            }
                        ],
                    }
                ]
            },
        ),
    ],
)
def test_what_the_provider_would_fetch_is_seen(name: WireName, body: dict[str, Any]) -> None:
    assert facts(name, {"model": "m", "max_tokens": 9, **body}).fetches


def test_bytes_are_not_fetched() -> None:
    body = {"model": "m", "input": [{"role": "user", "content": [{"type": "input_image", "image_url": URL}]}]}
    assert not facts(WireName.OPENAI_RESPONSES, body).fetches
