"""Requests of OpenAI's chat wire, both ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proctor.kernel.canonical import Json
from proctor.models.conversation import (
    ChatRequest,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    Tool,
    ToolCall,
)
from proctor.models.errors import RequestInvalid
from proctor.models.wires.fields import REQUEST, Fields, entry, listed, string
from proctor.models.wires.interfaces import WireName
from proctor.models.wires.parts import (
    THINKING,
    Turns,
    address,
    arguments_text,
    own,
    picture,
    sampled,
    split_results,
    texts_only,
    tool_call,
    unspeakable,
)

__all__ = ["call_body", "calls", "read", "reasoning", "write"]

_FIELDS = ("model", "messages", "tools", "max_completion_tokens", "max_tokens", "stream", "stream_options")
"""What a request has fields for; all else is passed on as sampling."""


def write(request: ChatRequest) -> dict[str, Json]:
    """See ``Wire.write_request``. That a tool's result is an error has no field on this wire."""
    body = sampled(request.sampling, _FIELDS)
    if request.thinking is not None:
        sampled(request.sampling, ("reasoning_effort",))
        body["reasoning_effort"] = request.thinking
    if request.tools:
        body["tools"] = [_tool_body(tool) for tool in request.tools]
    if request.max_output_tokens is not None:
        body["max_completion_tokens"] = request.max_output_tokens
    if request.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    messages = [one for index, message in enumerate(request.messages) for one in _written(message, f"messages.{index}")]
    return {"model": request.model, "messages": messages, **body}


def _tool_body(tool: Tool) -> Json:
    described: dict[str, Json] = {"description": tool.description} if tool.description else {}
    return {"type": "function", "function": {"name": tool.name, **described, "parameters": tool.parameters}}


def _written(message: Message, where: str) -> Iterator[Json]:
    if message.role is Role.ASSISTANT:
        yield _assistant(message.parts, where)
        return
    if message.role is Role.SYSTEM:
        texts: list[Json] = [{"type": "text", "text": text} for text in texts_only(message.parts, where)]
        yield {"role": "system", "content": _content(texts)}
        return
    results, others = split_results(message.parts)
    for result in results:
        yield {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
    if others or not results:
        yield {"role": "user", "content": _content([body for part in others for body in _part_body(part, where)])}


def _content(parts: list[Json]) -> Json:
    """One text as a string, which every server of this wire takes."""
    alone = parts[0] if len(parts) == 1 else None
    return string(alone, "text") if string(alone, "type") == "text" else parts


def _part_body(part: Part, where: str) -> Iterator[Json]:
    if isinstance(part, Text):
        yield {"type": "text", "text": part.text}
    elif isinstance(part, Image):
        yield {"type": "image_url", "image_url": {"url": address(part, where)}}
    elif isinstance(part, Opaque):
        if own(part, WireName.OPENAI_CHAT):
            yield part.value
    else:
        raise unspeakable(part, where)


def _assistant(parts: Sequence[Part], where: str) -> Json:
    content: list[Json] = []
    thoughts: list[str] = []
    wanted: list[Json] = []
    for part in parts:
        if isinstance(part, Reasoning):
            thoughts.append(part.text)
        elif isinstance(part, ToolCall):
            wanted.append(call_body(part))
        else:
            content.extend(_part_body(part, where))
    body: dict[str, Json] = {"role": "assistant", "content": _content(content) if content else None}
    return (
        body
        | ({"reasoning_content": "".join(thoughts)} if thoughts else {})
        | ({"tool_calls": wanted} if wanted else {})
    )


def call_body(call: ToolCall) -> dict[str, Json]:
    """A call as a message holds it."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}


def read(body: Mapping[str, Json], *, model: str = "") -> ChatRequest:
    """See ``Wire.read_request``. Tools that are no functions are left out."""
    REQUEST.shallow(body)
    effort = body.get("reasoning_effort")
    thinking = effort if isinstance(effort, str) and effort in THINKING else None
    taken = {*_FIELDS, *(("reasoning_effort",) if thinking else ())}
    tools = [_tool(tool, f"tools.{index}") for index, tool in enumerate(REQUEST.tables(body.get("tools"), "tools"))]
    return ChatRequest(
        model=REQUEST.model(body, model),
        messages=_messages(REQUEST.tables(body.get("messages"), "messages")),
        tools=[tool for tool in tools if tool is not None],
        max_output_tokens=REQUEST.count(body, "max_completion_tokens") or REQUEST.count(body, "max_tokens"),
        thinking=thinking,
        sampling={name: value for name, value in body.items() if name not in taken},
        stream=REQUEST.flag(body, "stream"),
    )


def _tool(tool: Mapping[str, Json], where: str) -> Tool | None:
    if string(tool, "type") != "function":
        return None
    said = REQUEST.table(tool.get("function"), f"{where}.function")
    return Tool(
        name=REQUEST.text(said, "name", f"{where}.function"),
        description=string(said, "description"),
        parameters=entry(said, "parameters"),
    )


def _messages(bodies: Sequence[Mapping[str, Json]]) -> list[Message]:
    """Results of tools that follow one another are one message of the user's."""
    turns = Turns()
    for index, body in enumerate(bodies):
        where = f"messages.{index}"
        role = REQUEST.text(body, "role", where)
        if role == "tool":
            parts = _parts(body.get("content"), f"{where}.content")
            words = "\n".join(part.text for part in parts if isinstance(part, Text))
            result = turns.result(REQUEST.text(body, "tool_call_id", where), words)
            turns.add(Role.USER, [result], joining="results")
        else:
            turns.add(*_message(role, body, where))
    return turns.messages()


def _message(role: str, body: Mapping[str, Json], where: str) -> tuple[Role, list[Part]]:
    parts = _parts(body.get("content"), f"{where}.content")
    if role in ("system", "developer"):
        return Role.SYSTEM, parts
    if role == "user":
        return Role.USER, parts
    if role != "assistant":
        raise RequestInvalid(f"There is no role {role[:40]!r}.", where=f"{where}.role")
    refusal: list[Part] = [Text(text=string(body, "refusal"))] if string(body, "refusal") else []
    return Role.ASSISTANT, [*reasoning(body), *parts, *refusal, *calls(body, where, REQUEST)]


def _parts(content: Json, where: str) -> list[Part]:
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    return [_part(part) for part in REQUEST.tables(content, where)]


def _part(part: Mapping[str, Json]) -> Part:
    kind = string(part, "type")
    if kind == "text":
        return Text(text=string(part, "text"))
    if kind == "image_url" and string(entry(part, "image_url"), "url"):
        return picture(string(entry(part, "image_url"), "url"))
    return Opaque(wire=WireName.OPENAI_CHAT, value=part)


def reasoning(message: Mapping[str, Json]) -> list[Part]:
    """What a model thought, under the two names that servers of this wire have for it; OpenAI itself has none."""
    thought = string(message, "reasoning_content") or string(message, "reasoning")
    return [Reasoning(text=thought)] if thought else []


def calls(message: Mapping[str, Json], where: str, fields: Fields) -> list[Part]:
    """The calls of functions that a message holds; other calls stay as they came."""
    found: list[Part] = []
    for index, one in enumerate(listed(message, "tool_calls")):
        place = f"{where}.tool_calls.{index}"
        call = fields.table(one, place)
        said = entry(call, "function")
        if "function" not in call:
            found.append(Opaque(wire=WireName.OPENAI_CHAT, value=call))
            continue
        name = fields.text(said, "name", f"{place}.function")
        found.append(tool_call(string(call, "id"), name, string(said, "arguments")))
    return found
