"""Requests of Anthropic's wire, both ways."""

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
    ToolResult,
)
from proctor.models.errors import RequestInvalid
from proctor.models.wires.fields import REQUEST, Fields, entry, listed, string
from proctor.models.wires.interfaces import WireName
from proctor.models.wires.parts import THINKING, Turns, own, sampled, texts_only, unspeakable

__all__ = ["BUDGETS", "read", "received", "sent", "write"]

BUDGETS: Mapping[str, int] = {"minimal": 1_024, "low": 4_096, "medium": 16_384, "high": 32_768}
"""Tokens to think with. 1,024 is the least that the API takes, and each level four times the one before it, up to half
of the 64 Ki that its models answer at most: what is thought and what is said share that."""

_FIELDS = ("model", "system", "messages", "tools", "max_tokens", "stream", "thinking")
_NAMES: Mapping[str, str] = {"stop": "stop_sequences"}
"""Names of sampling that are others here."""


def write(request: ChatRequest) -> dict[str, Json]:
    """See ``Wire.write_request``. What is said before all else as the system is the only such place on this wire."""
    if request.max_output_tokens is None:
        raise RequestInvalid("This wire needs a limit.", where="max_output_tokens")
    sampling = sampled(request.sampling, _FIELDS)
    body: dict[str, Json] = {_NAMES.get(name, name): value for name, value in sampling.items()}
    if isinstance(body.get("stop_sequences"), str):
        body["stop_sequences"] = [body["stop_sequences"]]
    if request.thinking is not None:
        body["thinking"] = {"type": "enabled", "budget_tokens": _budget(request.thinking, request.max_output_tokens)}
    if request.tools:
        body["tools"] = [_tool_body(tool) for tool in request.tools]
    if request.stream:
        body["stream"] = True
    system, rest = _parted(request.messages)
    if system:
        body["system"] = [{"type": "text", "text": text} for text in system]
    messages = [_message_body(message, f"messages.{index}") for index, message in enumerate(rest, bool(system))]
    return {"model": request.model, "max_tokens": request.max_output_tokens, "messages": messages, **body}


def _budget(level: str, limit: int) -> int:
    budget = BUDGETS.get(level)
    if budget is None:
        raise RequestInvalid(f"There is no level {level!r} on this wire.", where="thinking")
    if limit <= budget:
        raise RequestInvalid(
            f"It has to be more than the {budget} tokens that thinking at {level!r} takes.", where="max_output_tokens"
        )
    return budget


def _tool_body(tool: Tool) -> Json:
    described: dict[str, Json] = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": tool.parameters}


def _parted(messages: Sequence[Message]) -> tuple[list[str], Sequence[Message]]:
    if not messages or messages[0].role is not Role.SYSTEM:
        return [], messages
    return texts_only(messages[0].parts, "messages.0"), messages[1:]


def _message_body(message: Message, where: str) -> Json:
    if message.role is Role.SYSTEM:
        raise RequestInvalid("The system speaks first, in one message, or not at all.", where=where)
    return {"role": message.role.value, "content": list(sent(message.parts, where))}


def sent(parts: Sequence[Part], where: str) -> Iterator[Json]:
    """The blocks of a message. Thinking goes back as the opaque part that it came with, or not at all."""
    for part in parts:
        if isinstance(part, Text):
            yield {"type": "text", "text": part.text}
        elif isinstance(part, Image):
            yield {"type": "image", "source": _source(part, where)}
        elif isinstance(part, ToolCall):
            yield call_body(part)
        elif isinstance(part, ToolResult):
            failed: dict[str, Json] = {"is_error": True} if part.is_error else {}
            yield {"type": "tool_result", "tool_use_id": part.call_id, "content": part.content, **failed}
        elif isinstance(part, Opaque):
            if own(part, WireName.ANTHROPIC):
                yield part.value
        elif not isinstance(part, Reasoning):
            raise unspeakable(part, where)


def call_body(call: ToolCall) -> dict[str, Json]:
    """A call as a block. Arguments that were no JSON object can't be said here: there are none."""
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def _source(image: Image, where: str) -> Json:
    if image.data:
        return {"type": "base64", "media_type": image.media_type, "data": image.data}
    if not image.url:
        raise RequestInvalid("A picture needs its bytes or an address.", where=where)
    return {"type": "url", "url": image.url}


def read(body: Mapping[str, Json], *, model: str = "") -> ChatRequest:
    """See ``Wire.read_request``. Tools that the provider runs are left out."""
    REQUEST.shallow(body)
    limit = REQUEST.count(body, "max_tokens")
    if limit is None:
        raise RequestInvalid("It has to be there.", where="max_tokens")
    turns = Turns()
    if system := received(body.get("system"), "system", REQUEST, turns):
        turns.add(Role.SYSTEM, system)
    for index, message in enumerate(REQUEST.tables(body.get("messages"), "messages")):
        where = f"messages.{index}"
        role = _role(REQUEST.text(message, "role", where), where)
        turns.add(role, received(message.get("content"), f"{where}.content", REQUEST, turns))
    ours = {theirs: name for name, theirs in _NAMES.items()}
    return ChatRequest(
        model=REQUEST.model(body, model),
        messages=turns.messages(),
        tools=[_tool(one) for one in REQUEST.tables(body.get("tools"), "tools") if "input_schema" in one],
        max_output_tokens=limit,
        thinking=_level(body),
        sampling={ours.get(name, name): value for name, value in body.items() if name not in _FIELDS},
        stream=REQUEST.flag(body, "stream"),
    )


def _role(role: str, where: str) -> Role:
    if role not in ("user", "assistant", "system"):
        raise RequestInvalid(f"There is no role {role[:40]!r}.", where=f"{where}.role")
    return Role(role)


def _tool(tool: Mapping[str, Json]) -> Tool:
    name = REQUEST.text(tool, "name", "tools")
    return Tool(name=name, description=string(tool, "description"), parameters=entry(tool, "input_schema"))


def _level(body: Mapping[str, Json]) -> str | None:
    """The highest level whose budget is given; where a model thinks as it likes, the effort that is asked of it."""
    thinking = entry(body, "thinking")
    if string(thinking, "type") == "adaptive":
        effort = string(entry(body, "output_config"), "effort")
        return effort if effort in THINKING else None
    budget = REQUEST.count(thinking, "budget_tokens", "thinking")
    if string(thinking, "type") != "enabled" or budget is None:
        return None
    return [level for level, least in BUDGETS.items() if least <= max(budget, BUDGETS["minimal"])][-1]


def received(content: Json, where: str, fields: Fields, turns: Turns) -> list[Part]:
    """The blocks of a message; those that have no words of ours stay as they are."""
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    parts: list[Part] = []
    for index, block in enumerate(fields.tables(content, where)):
        parts.extend(_block(block, f"{where}.{index}", fields, turns))
    return parts


def _block(block: Mapping[str, Json], where: str, fields: Fields, turns: Turns) -> Iterator[Part]:
    kind, source = string(block, "type"), entry(block, "source")
    if kind == "text":
        yield Text(text=fields.text(block, "text", where))
    elif kind == "image" and string(source, "type") in ("base64", "url"):
        yield Image(media_type=string(source, "media_type"), data=string(source, "data"), url=string(source, "url"))
    elif kind == "tool_use":
        arguments = fields.table(block.get("input", {}), f"{where}.input")
        yield ToolCall(id=fields.text(block, "id", where), name=fields.text(block, "name", where), arguments=arguments)
    elif kind == "tool_result":
        call_id = fields.text(block, "tool_use_id", where)
        yield turns.result(call_id, _words(block.get("content")), is_error=block.get("is_error") is True)
    else:
        if kind == "thinking" and string(block, "thinking"):
            yield Reasoning(text=string(block, "thinking"))
        if kind != "thinking" or string(block, "signature"):
            yield Opaque(wire=WireName.ANTHROPIC, value=block)


def _words(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(string(block, "text") for block in listed({"blocks": content}, "blocks") if string(block, "text"))
