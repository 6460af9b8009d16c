"""Requests of OpenAI's responses wire, both ways."""

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

__all__ = ["made", "output_parts", "read", "write"]

_FIELDS = ("model", "input", "instructions", "tools", "max_output_tokens", "stream", "store")
_ENCRYPTED = "reasoning.encrypted_content"
_NO_REASONING: tuple[str, ...] = ("gpt-3", "gpt-4", "chatgpt-")
"""Models that do not reason refuse a request that asks for their reasoning."""


def write(request: ChatRequest) -> dict[str, Json]:
    """See ``Wire.write_request``. Nothing is stored: reasoning comes encrypted and goes back with the conversation."""
    body = sampled(request.sampling, _FIELDS)
    if not request.model.startswith(_NO_REASONING):
        body.setdefault("include", [_ENCRYPTED])
    if request.thinking is not None:
        body["reasoning"] = {**entry(body, "reasoning"), "effort": request.thinking}
    if request.tools:
        body["tools"] = [_tool_body(tool) for tool in request.tools]
    if request.max_output_tokens is not None:
        body["max_output_tokens"] = request.max_output_tokens
    if request.stream:
        body["stream"] = True
    first, rest = _parted(request.messages)
    if first:
        body["instructions"] = first
    items = [one for index, message in enumerate(rest, bool(first)) for one in _items(message, f"messages.{index}")]
    return {"model": request.model, "input": items, "store": False, **body}


def _tool_body(tool: Tool) -> Json:
    described: dict[str, Json] = {"description": tool.description} if tool.description else {}
    return {"type": "function", "name": tool.name, **described, "parameters": tool.parameters, "strict": False}


def _parted(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """What the system says first is the instructions, where it is one text."""
    if messages and messages[0].role is Role.SYSTEM and len(messages[0].parts) == 1:
        return messages[0].text, messages[1:]
    return "", messages


def _items(message: Message, where: str) -> Iterator[Json]:
    if message.role is Role.ASSISTANT:
        yield from output_parts(message.parts, where, kept_only=True)
        return
    if message.role is Role.SYSTEM:
        texts_only(message.parts, where)
    results, others = split_results(message.parts)
    for result in results:
        yield {"type": "function_call_output", "call_id": result.call_id, "output": result.content}
    if others or not results:
        role = "user" if message.role is Role.USER else "developer"
        content = [body for part in others for body in _part_body(part, where)]
        yield {"type": "message", "role": role, "content": content}


def _part_body(part: Part, where: str) -> Iterator[Json]:
    if isinstance(part, Text):
        yield {"type": "input_text", "text": part.text}
    elif isinstance(part, Image):
        yield {"type": "input_image", "image_url": address(part, where), "detail": "auto"}
    elif isinstance(part, Opaque):
        if own(part, WireName.OPENAI_RESPONSES):
            yield part.value
    else:
        raise unspeakable(part, where)


def output_parts(parts: Sequence[Part], where: str, *, kept_only: bool) -> Iterator[Json]:
    """The items that an assistant made. ``kept_only``: without reasoning that the provider could not read again."""
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        if isinstance(part, Text):
            content: Json = {"type": "output_text", "text": part.text, "annotations": []}
            yield {"type": "message", "role": "assistant", "status": "completed", "content": [content]}
        elif isinstance(part, ToolCall):
            yield _call_item(part)
        elif isinstance(part, Opaque):
            if own(part, WireName.OPENAI_RESPONSES):
                yield part.value
        elif not isinstance(part, Reasoning):
            raise unspeakable(part, where)
        elif not kept_only and not (isinstance(after, Opaque) and _thought(after.value) == part.text):
            yield {"type": "reasoning", "summary": [{"type": "summary_text", "text": part.text}]}


def _call_item(call: ToolCall) -> dict[str, Json]:
    """A call as an item."""
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments_text(call)}


def read(body: Mapping[str, Json], *, model: str = "") -> ChatRequest:
    """See ``Wire.read_request``. Tools that are no functions are left out."""
    REQUEST.shallow(body)
    turns = Turns()
    instructions = string(body, "instructions")
    if instructions:
        turns.add(Role.SYSTEM, [Text(text=instructions)])
    given = body.get("input")
    if isinstance(given, str):
        turns.add(Role.USER, [Text(text=given)])
    else:
        for index, item in enumerate(REQUEST.tables(given, "input")):
            _read_item(item, f"input.{index}", turns)
    tools = [_tool(one) for one in REQUEST.tables(body.get("tools"), "tools") if string(one, "type") == "function"]
    thinking, sampling = _sampling(body)
    return ChatRequest(
        model=REQUEST.model(body, model),
        messages=turns.messages(),
        tools=tools,
        max_output_tokens=REQUEST.count(body, "max_output_tokens"),
        thinking=thinking,
        sampling=sampling,
        stream=REQUEST.flag(body, "stream"),
    )


def _sampling(body: Mapping[str, Json]) -> tuple[str | None, dict[str, Json]]:
    sampling = {name: value for name, value in body.items() if name not in _FIELDS}
    if sampling.get("include") == [_ENCRYPTED]:
        del sampling["include"]
    effort = string(entry(body, "reasoning"), "effort")
    if effort not in THINKING:
        return None, sampling
    others = {name: value for name, value in entry(body, "reasoning").items() if name != "effort"}
    del sampling["reasoning"]
    return effort, {**sampling, **({"reasoning": others} if others else {})}


def _tool(tool: Mapping[str, Json]) -> Tool:
    name = REQUEST.text(tool, "name", "tools")
    return Tool(name=name, description=string(tool, "description"), parameters=entry(tool, "parameters"))


def _read_item(item: Mapping[str, Json], where: str, turns: Turns) -> None:
    """What an assistant made is one message until somebody else speaks, and so are results of tools."""
    kind, role = string(item, "type"), string(item, "role")
    if kind == "function_call_output":
        call_id = REQUEST.text(item, "call_id", where)
        turns.add(Role.USER, [turns.result(call_id, _words(item.get("output")))], joining="results")
    elif kind in ("", "message") and role in ("user", "system", "developer"):
        parts = _content(item.get("content"), f"{where}.content")
        turns.add(Role.USER if role == "user" else Role.SYSTEM, parts)
    elif kind in ("", "message") and role != "assistant":
        raise RequestInvalid(f"There is no role {role[:40]!r}.", where=f"{where}.role")
    else:
        turns.add(Role.ASSISTANT, made(item, where, REQUEST), joining="assistant")


def _content(content: Json, where: str) -> list[Part]:
    if isinstance(content, str):
        return [Text(text=content)]
    return [_part(part) for part in REQUEST.tables(content, where)]


def _part(part: Mapping[str, Json]) -> Part:
    kind = string(part, "type")
    if kind in ("input_text", "output_text", "text"):
        return Text(text=string(part, "text"))
    if kind == "input_image" and string(part, "image_url"):
        return picture(string(part, "image_url"))
    return Opaque(wire=WireName.OPENAI_RESPONSES, value=part)


def _words(output: Json) -> str:
    if isinstance(output, str):
        return output
    return "\n".join(string(part, "text") for part in listed({"parts": output}, "parts") if string(part, "text"))


def made(item: Mapping[str, Json], where: str, fields: Fields) -> list[Part]:
    """What one item that an assistant made says; an item without words of ours stays as it is."""
    kind = string(item, "type")
    if kind == "function_call":
        name, call_id = fields.text(item, "name", where), fields.text(item, "call_id", where)
        return [tool_call(call_id, name, string(item, "arguments"))]
    if kind in ("", "message"):
        content = item.get("content")
        if isinstance(content, str):
            return [Text(text=content)]
        said = [string(part, "text") or string(part, "refusal") for part in fields.tables(content, f"{where}.content")]
        return [Text(text=text) for text in said if text]
    thought: list[Part] = [Reasoning(text=text) for text in [_thought(item)] if text]
    if kind == "reasoning" and not string(item, "encrypted_content"):
        return thought
    return [*thought, Opaque(wire=WireName.OPENAI_RESPONSES, value=item)]


def _thought(item: Mapping[str, Json]) -> str:
    """A summary of what was thought, or all of it where a server shows that."""
    if string(item, "type") != "reasoning":
        return ""
    shown = listed(item, "summary") or listed(item, "content")
    return "\n\n".join(string(part, "text") for part in shown)
