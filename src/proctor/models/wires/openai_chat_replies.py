"""Replies of OpenAI's chat wire: read whole, written whole and as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proctor.kernel.canonical import Json
from proctor.models.conversation import Finish, Part, Reasoning, Reply, Text
from proctor.models.errors import ReplyInvalid
from proctor.models.wires.fields import REPLY, entry, string
from proctor.models.wires.openai_chat_requests import call_body, calls, reasoning
from proctor.models.wires.sse import event, pieces
from proctor.models.wires.usage import openai_usage, openai_usage_body

__all__ = ["FINISHES", "read", "stream", "write"]

FINISHES: Mapping[str, Finish] = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "content_filter": Finish.REFUSED,
}
_REASONS: Mapping[Finish, str] = {
    Finish.STOP: "stop",
    Finish.LENGTH: "length",
    Finish.TOOL_CALLS: "tool_calls",
    Finish.REFUSED: "content_filter",
}


def read(body: Mapping[str, Json]) -> Reply:
    """See ``Wire.read_reply``: the first choice. A model's own refusal is its text, and says why it stopped."""
    REPLY.shallow(body)
    choices = REPLY.tables(body.get("choices"), "choices")
    if not choices:
        raise ReplyInvalid("A reply has at least one choice.", where="choices")
    message = REPLY.table(choices[0].get("message"), "choices.0.message")
    refusal = string(message, "refusal")
    texts: list[Part] = [Text(text=one) for one in (_words(message.get("content")), refusal) if one]
    return Reply(
        model=string(body, "model"),
        parts=[*reasoning(message), *texts, *calls(message, "choices.0.message", REPLY)],
        finish=Finish.REFUSED if refusal else _finish(string(choices[0], "finish_reason")),
        usage=openai_usage(body.get("usage"), given="prompt", made="completion"),
        id=string(body, "id"),
    )


def _words(content: Json) -> str:
    """Some servers answer with a list of parts, as requests have them."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(string(part, "text") for part in REPLY.tables(content, "choices.0.message.content"))


def _finish(reason: str) -> Finish:
    if reason not in FINISHES:
        raise ReplyInvalid(f"There is no reason {reason[:40]!r} to stop.", where="choices.0.finish_reason")
    return FINISHES[reason]


def write(reply: Reply) -> dict[str, Json]:
    """See ``Wire.write_reply``."""
    message: dict[str, Json] = {"role": "assistant", "content": None, "refusal": None}
    if reply.text:
        message["refusal" if reply.finish is Finish.REFUSED else "content"] = reply.text
    if thought := _thought(reply):
        message["reasoning_content"] = thought
    if reply.tool_calls:
        message["tool_calls"] = [call_body(call) for call in reply.tool_calls]
    choice: Json = {"index": 0, "message": message, "finish_reason": _REASONS[reply.finish], "logprobs": None}
    usage = openai_usage_body(reply.usage, given="prompt", made="completion")
    return {**_head(reply, "chat.completion"), "choices": [choice], **({"usage": usage} if usage else {})}


def _thought(reply: Reply) -> str:
    return "".join(part.text for part in reply.parts if isinstance(part, Reasoning))


def _head(reply: Reply, kind: str) -> dict[str, Json]:
    """``created`` is 0: a wire has no clock, and whoever serves it may put in the time."""
    return {"id": reply.id, "object": kind, "created": 0, "model": reply.model}


def stream(reply: Reply, request: Mapping[str, Json]) -> Iterator[bytes]:
    """See ``Wire.stream_reply``. Usage comes where ``stream_options.include_usage`` asks for it."""
    for delta in _deltas(reply):
        yield _chunk(reply, [{"index": 0, "delta": delta, "finish_reason": None}])
    yield _chunk(reply, [{"index": 0, "delta": {}, "finish_reason": _REASONS[reply.finish]}])
    if entry(request, "stream_options").get("include_usage") is True:
        usage = openai_usage_body(reply.usage, given="prompt", made="completion")
        yield _chunk(reply, [], usage or None)
    yield b"data: [DONE]\n\n"


def _chunk(reply: Reply, choices: list[Json], usage: Json = None) -> bytes:
    return event({**_head(reply, "chat.completion.chunk"), "choices": choices, "usage": usage})


def _deltas(reply: Reply) -> Iterator[Json]:
    yield {"role": "assistant", "content": "", "refusal": None}
    for piece in pieces(_thought(reply)):
        yield {"reasoning_content": piece}
    for piece in pieces(reply.text):
        yield {"refusal" if reply.finish is Finish.REFUSED else "content": piece}
    for index, call in enumerate(reply.tool_calls):
        body = call_body(call)
        said = entry(body, "function")
        yield {"tool_calls": [{"index": index, **body, "function": {"name": call.name, "arguments": ""}}]}
        for piece in pieces(string(said, "arguments")):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
