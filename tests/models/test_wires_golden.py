"""Whole replies and requests as providers and agents write them, in our words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.models.conversation import (
    ChatRequest,
    Finish,
    Image,
    Message,
    Opaque,
    Reasoning,
    Role,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from proctor.models.errors import ReplyInvalid, RequestInvalid
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import WireName

CHAT, RESPONSES, ANTHROPIC, GEMINI = (
    WIRES[name] for name in (WireName.OPENAI_CHAT, WireName.OPENAI_RESPONSES, WireName.ANTHROPIC, WireName.GEMINI)
)
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
ASK = [Message(role=Role.USER, parts=[Text(text="hi")])]


def test_a_reply_of_chat() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "shell", "arguments": '{"command": "ls"}'}}
    bad = {"id": "call_2", "type": "function", "function": {"name": "shell", "arguments": '{"command": '}}
    empty = {"id": "call_3", "type": "function", "function": {"name": "shell", "arguments": ""}}
    custom = {"id": "call_4", "type": "custom", "custom": {"name": "x", "input": "y"}}
    message = {"role": "assistant", "content": "I look.", "reasoning": "Hm.", "tool_calls": [call, bad, empty, custom]}
    reply = CHAT.read_reply(
        {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    )
    assert reply.parts == [
        Reasoning(text="Hm."),
        Text(text="I look."),
        ToolCall(id="call_1", name="shell", arguments={"command": "ls"}),
        ToolCall(id="call_2", name="shell", arguments={}, malformed='{"command": '),
        ToolCall(id="call_3", name="shell", arguments={}),
        Opaque(wire="openai-chat", value=custom),
    ]
    assert (reply.finish, reply.text, len(reply.tool_calls)) == (Finish.TOOL_CALLS, "I look.", 3)


@pytest.mark.parametrize("arguments", ["[1]", "5", "null", '"x"', "[" * 100_000, '{"a": ' * 500 + "1" + "}" * 500])
def test_arguments_that_are_no_table_are_kept_as_they_came(arguments: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "shell", "arguments": arguments}}
    reply = CHAT.read_reply({"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
    assert reply.tool_calls == [ToolCall(id="c", name="shell", arguments={}, malformed=arguments)]
    asked = ChatRequest(model="m", messages=[Message(role=Role.ASSISTANT, parts=reply.parts)])
    sent = json.loads(json.dumps(CHAT.write_request(asked)))
    assert sent["messages"][0]["tool_calls"][0]["function"]["arguments"] == arguments


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": {}}]}])
def test_replies_of_chat_that_are_none(body: dict[str, Any]) -> None:
    with pytest.raises(ReplyInvalid):
        CHAT.read_reply(body)


def test_a_request_of_chat_as_agents_write_it() -> None:
    body = {
        "model": "gpt-5",
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "input_audio", "input_audio": {}}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": one, "type": "function", "function": {"name": f"tool_{one}", "arguments": "{}"}}
                    for one in ("x", "y")
                ],
            },
            {"role": "tool", "tool_call_id": "x", "content": "1"},
            {"role": "tool", "tool_call_id": "y", "content": [{"type": "text", "text": "2"}]},
            {"role": "user", "content": "go on"},
        ],
        "reasoning_effort": "xhigh",
        "response_format": {"type": "json_object"},
        "max_tokens": 10,
    }
    request = CHAT.read_request(body)
    assert [message.role.value for message in request.messages] == ["system", "user", "assistant", "user", "user"]
    assert request.messages[1].parts[1] == Opaque(wire="openai-chat", value={"type": "input_audio", "input_audio": {}})
    assert request.messages[3].parts == [
        ToolResult(call_id="x", name="tool_x", content="1"),
        ToolResult(call_id="y", name="tool_y", content="2"),
    ]
    assert request.sampling == {"reasoning_effort": "xhigh", "response_format": {"type": "json_object"}}
    assert (request.thinking, request.max_output_tokens) == (None, 10)
    assert CHAT.write_request(request)["reasoning_effort"] == "xhigh"


def test_a_reply_of_messages() -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    hidden = {"type": "redacted_thinking", "data": "AAAA"}
    searched = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    content = [
        thinking,
        hidden,
        searched,
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}},
    ]
    reply = ANTHROPIC.read_reply({"id": "msg_1", "model": "claude", "content": content, "stop_reason": "tool_use"})
    assert reply.parts == [
        Reasoning(text="Hm."),
        Opaque(wire="anthropic", value=thinking),
        Opaque(wire="anthropic", value=hidden),
        Opaque(wire="anthropic", value=searched),
        Text(text="I look."),
        ToolCall(id="toolu_1", name="bash", arguments={"command": "ls"}),
    ]
    asked = ChatRequest(
        model="claude", messages=[*ASK, Message(role=Role.ASSISTANT, parts=reply.parts)], max_output_tokens=5
    )
    assert ANTHROPIC.write_request(asked)["messages"][1]["content"] == content  # type: ignore[index,call-overload]
    assert WIRES[WireName.OPENAI_CHAT].write_request(asked)["messages"][1] == {  # type: ignore[index,call-overload]
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "Hm.",
        "tool_calls": [
            {"id": "toolu_1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
        ],
    }


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", Finish.STOP),
        ("stop_sequence", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("model_context_window_exceeded", Finish.LENGTH),
        ("refusal", Finish.REFUSED),
    ],
)
def test_why_messages_end(reason: str, finish: Finish) -> None:
    assert ANTHROPIC.read_reply({"content": [], "stop_reason": reason}).finish is finish


@pytest.mark.parametrize(
    "body",
    [{}, {"content": [], "stop_reason": "boredom"}, {"content": [{"type": "tool_use"}], "stop_reason": "tool_use"}],
)
def test_replies_of_messages_that_are_none(body: dict[str, Any]) -> None:
    with pytest.raises(ReplyInvalid):
        ANTHROPIC.read_reply(body)


def test_a_request_of_messages_as_agents_write_it() -> None:
    cached = {"cache_control": {"type": "ephemeral"}}
    result = [{"type": "text", "text": "1"}, {"type": "image", "source": {"type": "base64", "data": "AAAA"}}]
    body = {
        "model": "claude-5",
        "max_tokens": 32_000,
        "system": [{"type": "text", "text": "You are an agent.", **cached}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "fix it", **cached}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": result, "is_error": True}],
            },
        ],
        "tools": [{"name": "Bash", "input_schema": SCHEMA}, {"type": "web_search_20250305", "name": "web_search"}],
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
        "metadata": {"user_id": "u"},
        "stream": True,
    }
    request = ANTHROPIC.read_request(body)
    assert request.messages[0] == Message(role=Role.SYSTEM, parts=[Text(text="You are an agent.")])
    assert request.messages[3].parts == [ToolResult(call_id="t", name="Bash", content="1", is_error=True)]
    assert request.tools == [Tool(name="Bash", description="", parameters=SCHEMA)]
    assert (request.thinking, request.stream) == ("high", True)


@pytest.mark.parametrize(
    ("budget", "level"), [(1, "minimal"), (1_024, "minimal"), (4_096, "low"), (10_000, "low"), (99_999, "high")]
)
def test_a_budget_to_think_with_is_a_level(budget: int, level: str) -> None:
    thinking = {"type": "enabled", "budget_tokens": budget}
    body = {"model": "m", "max_tokens": 5, "messages": [], "thinking": thinking}
    assert ANTHROPIC.read_request(body).thinking == level


def test_a_reply_of_responses() -> None:
    kept = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
        "encrypted_content": "AAAA",
    }
    output = [
        kept,
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "shell", "arguments": '{"a": 1}'},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    ]
    reply = RESPONSES.read_reply({"id": "resp_1", "model": "gpt-5", "status": "completed", "output": output})
    assert reply.parts == [
        Reasoning(text="a\n\nb"),
        Opaque(wire="openai-responses", value=kept),
        Text(text="I look."),
        ToolCall(id="call_1", name="shell", arguments={"a": 1}),
        Opaque(wire="openai-responses", value=output[3]),
    ]
    asked = ChatRequest(model="gpt-5", messages=[*ASK, Message(role=Role.ASSISTANT, parts=reply.parts)])
    sent = RESPONSES.write_request(asked)
    assert sent["input"][1] == kept  # type: ignore[index,call-overload]
    assert (sent["store"], sent["include"]) == (False, ["reasoning.encrypted_content"])
    assert "include" not in RESPONSES.write_request(ChatRequest(model="gpt-4.1", messages=ASK))


@pytest.mark.parametrize("body", [{}, {"status": "failed"}, {"status": "completed", "output": [5]}])
def test_replies_of_responses_that_are_none(body: dict[str, Any]) -> None:
    with pytest.raises(ReplyInvalid):
        RESPONSES.read_reply(body)


def test_a_request_of_responses_as_agents_write_it() -> None:
    body = {
        "model": "gpt-5",
        "instructions": "You are an agent.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AAAA"},
            {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "1"},
            {"role": "assistant", "content": "Done."},
        ],
        "tools": [{"type": "function", "name": "shell", "parameters": SCHEMA}, {"type": "web_search"}],
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k",
    }
    request = RESPONSES.read_request(body)
    roles = [message.role.value for message in request.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant"]
    assert len(request.messages[2].parts) == 2
    assert request.messages[3].parts == [ToolResult(call_id="c", name="shell", content="1")]
    assert request.tools == [Tool(name="shell", description="", parameters=SCHEMA)]
    assert request.thinking == "medium"
    assert request.sampling == {"reasoning": {"summary": "auto"}, "prompt_cache_key": "k"}


def test_a_reply_of_generate_content() -> None:
    parts = [
        {"text": "Hm.", "thought": True},
        {"text": "I look."},
        {"functionCall": {"name": "run", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "run"}},
        {"executableCode": {"code": "1"}},
        {"text": "", "thoughtSignature": "AAAA"},
    ]
    body = {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}],
        "modelVersion": "gemini-3",
        "responseId": "r1",
    }
    reply = GEMINI.read_reply(body)
    first, second = reply.tool_calls
    assert (first.arguments, second.arguments, first.id != second.id) == ({"a": 1}, {}, True)
    assert GEMINI.read_reply({**body, "responseId": "r2"}).tool_calls[0].id != first.id
    assert reply.finish is Finish.TOOL_CALLS
    asked = ChatRequest(model="gemini-3", messages=[*ASK, Message(role=Role.ASSISTANT, parts=reply.parts)])
    sent = GEMINI.write_request(asked)["contents"][1]["parts"]  # type: ignore[index,call-overload]
    assert sent == [*parts[:3], {"functionCall": {"name": "run", "args": {}}}, {**parts[4], "thoughtSignature": "AAAA"}]


def test_a_prompt_that_gemini_refuses() -> None:
    reply = GEMINI.read_reply({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "g"})
    assert (reply.parts, reply.finish) == ([], Finish.REFUSED)


@pytest.mark.parametrize("body", [{}, {"candidates": [{"content": {"parts": [{"functionCall": 5}]}}]}])
def test_replies_of_generate_content_that_are_none(body: dict[str, Any]) -> None:
    with pytest.raises(ReplyInvalid):
        GEMINI.read_reply(body)


def test_a_request_of_generate_content_as_agents_write_it() -> None:
    body = {
        "system_instruction": {"parts": [{"text": "You are an agent."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "fix it"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "run", "args": {"snake_case": 1}}}] * 2},
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "run", "response": {"output": "1"}}},
                    {"functionResponse": {"name": "run", "response": {"output": "2", "exit": 0}}},
                ],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "run", "parameters": SCHEMA}]}, {"googleSearch": {}}],
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 8_192}, "topP": 0.5, "stopSequences": ["x"]},
        "safety_settings": [],
    }
    request = GEMINI.read_request(body, model="gemini-2.5-pro", stream=True)
    assert request.messages[1].parts[1] == Image(media_type="image/png", data="AAAA")
    calls = [part for part in request.messages[2].parts if isinstance(part, ToolCall)]
    assert [call.arguments for call in calls] == [{"snake_case": 1}] * 2
    assert request.messages[3].parts == [
        ToolResult(call_id=calls[0].id, name="run", content="1"),
        ToolResult(call_id=calls[1].id, name="run", content='{"output":"2","exit":0}'),
    ]
    assert (request.model, request.stream, request.thinking) == ("gemini-2.5-pro", True, "medium")
    assert request.sampling == {"top_p": 0.5, "stop": ["x"], "safety_settings": []}
    assert request.tools == [Tool(name="run", description="", parameters=SCHEMA)]


LATE = [*ASK, Message(role=Role.SYSTEM, parts=[Text(text="late")])]
PICTURE = [Message(role=Role.USER, parts=[Image()])]
THOUGHT = [Message(role=Role.USER, parts=[ToolCall(id="c", name="n", arguments={})])]


@pytest.mark.parametrize(
    ("name", "request_", "field"),
    [
        (WireName.ANTHROPIC, ChatRequest(model="m", messages=ASK), "max_output_tokens"),
        (WireName.ANTHROPIC, ChatRequest(model="m", messages=LATE, max_output_tokens=5), "messages.1"),
        (
            WireName.ANTHROPIC,
            ChatRequest(model="m", messages=ASK, max_output_tokens=1_024, thinking="minimal"),
            "max_output_tokens",
        ),
        (WireName.ANTHROPIC, ChatRequest(model="m", messages=ASK, max_output_tokens=9, thinking="wild"), "thinking"),
        (WireName.ANTHROPIC, ChatRequest(model="m", messages=PICTURE, max_output_tokens=9), "messages.0"),
        (WireName.GEMINI, ChatRequest(model="m", messages=LATE), "messages.1"),
        (WireName.GEMINI, ChatRequest(model="m", messages=ASK, thinking="wild"), "thinking"),
        (WireName.GEMINI, ChatRequest(model="m", messages=PICTURE), "messages.0"),
        (WireName.OPENAI_CHAT, ChatRequest(model="m", messages=PICTURE), "messages.0"),
        (WireName.OPENAI_CHAT, ChatRequest(model="m", messages=THOUGHT), "messages.0"),
        (WireName.OPENAI_CHAT, ChatRequest(model="m", messages=ASK, sampling={"stream": True}), "sampling.stream"),
        (WireName.OPENAI_RESPONSES, ChatRequest(model="m", messages=THOUGHT), "messages.0"),
        (WireName.OPENAI_RESPONSES, ChatRequest(model="m", messages=ASK, sampling={"store": True}), "sampling.store"),
    ],
)
def test_what_a_wire_can_not_say(name: WireName, request_: ChatRequest, field: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        WIRES[name].write_request(request_)
    assert caught.value.where == field


def test_opaque_parts_go_back_on_their_own_wire_alone() -> None:
    parts = [Text(text="a"), *(Opaque(wire=name, value={"from": name}) for name in WireName)]
    asked = ChatRequest(model="m", messages=[*ASK, Message(role=Role.ASSISTANT, parts=parts)], max_output_tokens=5)
    for name, wire in WIRES.items():
        if name is not WireName.OPENAI_EMBEDDINGS:
            sent = json.dumps(wire.write_request(asked))
            assert [other for other in WireName if f'"from": "{other}"' in sent] == [name]


def test_half_a_surrogate_pair_is_written_as_json_has_it() -> None:
    reply = CHAT.read_reply({"choices": [{"message": {"content": "\ud83d"}, "finish_reason": "stop"}]})
    stream = b"".join(CHAT.stream_reply(reply, {}))
    assert b"\\ud83d" in stream
    assert all(json.loads(line[6:]) for line in stream.splitlines() if line.startswith(b"data: {"))


def test_a_conversation_that_took_thousands_of_turns_is_read_in_linear_time() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "n"}}]}
    result = {"role": "tool", "tool_call_id": "c", "content": "x"}
    request = CHAT.read_request({"model": "m", "messages": [call, *[result] * 50_000]})
    assert len(request.messages[1].parts) == 50_000
