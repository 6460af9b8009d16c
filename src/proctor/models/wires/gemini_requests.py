"""Requests of Gemini's wire, both ways."""

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
from proctor.models.wires.fields import REQUEST, Fields, encoded, entry, listed, string
from proctor.models.wires.gemini_names import camel, camel_name, snake_name
from proctor.models.wires.interfaces import WireName
from proctor.models.wires.parts import THINKING, Turns, own, sampled, split_results, texts_only, unspeakable

__all__ = ["BUDGETS", "made_id", "read", "received", "sent", "write"]

BUDGETS: Mapping[str, int] = {"minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}
"""Tokens to think with, for models before Gemini 3, which know no levels: what Google takes OpenAI's efforts for, and
for the least the least that all of these models take."""
_BEFORE_LEVELS: tuple[str, ...] = ("gemini-1", "gemini-2")
_MADE_ID = "proctor-call-"
"""Begins the id of a call to which the model gave none; such an id is not sent back."""

_FIELDS = ("contents", "systemInstruction", "tools", "model")
_SETTINGS = ("maxOutputTokens", "thinkingConfig")
_BESIDE: frozenset[str] = frozenset({"toolConfig", "safetySettings", "cachedContent", "labels", "serviceTier", "store"})
"""What is passed on beside the generation's settings, not within them."""
_NAMES: Mapping[str, str] = {"stop": "stop_sequences"}


def made_id(place: str) -> str:
    """The id of a call without one."""
    return f"{_MADE_ID}{place}"


def write(request: ChatRequest) -> dict[str, Json]:
    """See ``Wire.write_request``. The model and whether to stream are in the path."""
    taken = [snake_name(name) for name in (*_FIELDS, *_SETTINGS)]
    named = {camel_name(_NAMES.get(name, name)): value for name, value in sampled(request.sampling, taken).items()}
    if isinstance(named.get("stopSequences"), str):
        named["stopSequences"] = [named["stopSequences"]]
    body: dict[str, Json] = {name: value for name, value in named.items() if name in _BESIDE}
    settings: dict[str, Json] = {name: value for name, value in named.items() if name not in _BESIDE}
    if request.max_output_tokens is not None:
        settings["maxOutputTokens"] = request.max_output_tokens
    if request.thinking is not None:
        settings["thinkingConfig"] = _thinking(request.model, request.thinking)
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_tool_body(tool) for tool in request.tools]}]
    system, rest = _parted(request.messages)
    if system:
        body["systemInstruction"] = {"parts": [{"text": text} for text in system]}
    contents: list[Json] = [_content(one, f"messages.{index}") for index, one in enumerate(rest, bool(system))]
    return {"contents": contents, **body, **({"generationConfig": settings} if settings else {})}


def _thinking(model: str, level: str) -> Json:
    if level not in BUDGETS:
        raise RequestInvalid(f"There is no level {level!r} on this wire.", where="thinking")
    if model.startswith(_BEFORE_LEVELS):
        return {"thinkingBudget": BUDGETS[level], "includeThoughts": True}
    return {"thinkingLevel": level, "includeThoughts": True}


def _tool_body(tool: Tool) -> Json:
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}


def _parted(messages: Sequence[Message]) -> tuple[list[str], Sequence[Message]]:
    if not messages or messages[0].role is not Role.SYSTEM:
        return [], messages
    return texts_only(messages[0].parts, "messages.0"), messages[1:]


def _content(message: Message, where: str) -> Json:
    if message.role is Role.SYSTEM:
        raise RequestInvalid("The system speaks first, in one message, or not at all.", where=where)
    results, others = split_results(message.parts)
    return {
        "role": "user" if message.role is Role.USER else "model",
        "parts": [*(_result_body(result) for result in results), *sent(others, where)],
    }


def sent(parts: Sequence[Part], where: str) -> list[Json]:
    """The parts of a content. A signature is a field of the part that it follows."""
    bodies: list[dict[str, Json]] = []
    for part in parts:
        if isinstance(part, Opaque):
            if own(part, WireName.GEMINI) and set(part.value) == {"thoughtSignature"}:
                signed = bodies.pop() if bodies and "thoughtSignature" not in bodies[-1] else {"text": ""}
                bodies.append({**signed, **part.value})
            elif own(part, WireName.GEMINI):
                bodies.append(dict(part.value))
        else:
            bodies.append(_part_body(part, where))
    return [*bodies]


def _part_body(part: Part, where: str) -> dict[str, Json]:
    if isinstance(part, Text):
        return {"text": part.text}
    if isinstance(part, Reasoning):
        return {"text": part.text, "thought": True}
    if isinstance(part, Image):
        if not part.data:
            raise RequestInvalid("This wire takes pictures by their bytes alone.", where=where)
        return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
    if isinstance(part, ToolCall):
        return {"functionCall": {**_id(part.id), "name": part.name, "args": part.arguments}}
    raise unspeakable(part, where)


def _id(id: str) -> dict[str, Json]:
    return {} if id.startswith(_MADE_ID) else {"id": id}


def _result_body(result: ToolResult) -> Json:
    response: Json = {"error" if result.is_error else "output": result.content}
    return {"functionResponse": {**_id(result.call_id), "name": result.name, "response": response}}


def read(body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> ChatRequest:
    """See ``Wire.read_request``. Tools that the provider runs are left out."""
    REQUEST.shallow(body)
    plain = camel(body)
    settings = REQUEST.table(plain.get("generationConfig") or {}, "generationConfig")
    turns = Turns()
    if system := listed(plain.get("systemInstruction"), "parts"):
        turns.add(Role.SYSTEM, [Text(text=string(part, "text")) for part in system])
    unanswered: dict[str, dict[str, None]] = {}
    for index, content in enumerate(REQUEST.tables(plain.get("contents"), "contents")):
        _read_content(content, f"contents.{index}", turns, unanswered)
    thinking = _level(entry(settings, "thinkingConfig"))
    skipped = ("maxOutputTokens", *(("thinkingConfig",) if thinking else ()))
    passed = {name: value for name, value in settings.items() if name not in skipped}
    passed |= {name: value for name, value in plain.items() if name in _BESIDE}
    ours = {theirs: name for name, theirs in _NAMES.items()}
    return ChatRequest(
        model=REQUEST.model(body, model),
        messages=turns.messages(),
        tools=[
            _tool(one, f"tools.{index}")
            for index, tool in enumerate(REQUEST.tables(plain.get("tools"), "tools"))
            for one in REQUEST.tables(tool.get("functionDeclarations"), f"tools.{index}.functionDeclarations")
        ],
        max_output_tokens=REQUEST.count(settings, "maxOutputTokens", "generationConfig"),
        thinking=thinking,
        sampling={ours.get(snake_name(name), snake_name(name)): value for name, value in passed.items()},
        stream=stream,
    )


def _tool(tool: Mapping[str, Json], where: str) -> Tool:
    schema = entry(tool, "parametersJsonSchema") or entry(tool, "parameters")
    return Tool(name=REQUEST.text(tool, "name", where), description=string(tool, "description"), parameters=schema)


def _level(config: Mapping[str, Json]) -> str | None:
    level = string(config, "thinkingLevel").lower()
    if level:
        return level if level in THINKING else None
    budget = config.get("thinkingBudget")
    if not isinstance(budget, int) or budget < BUDGETS["minimal"]:
        return None
    return [name for name, least in BUDGETS.items() if least <= budget][-1]


def _read_content(
    content: Mapping[str, Json], where: str, turns: Turns, unanswered: dict[str, dict[str, None]]
) -> None:
    """``unanswered``: ids of the calls so far that have no result, by the names of their tools."""
    role = string(content, "role") or "user"
    if role not in ("user", "model", "function"):
        raise RequestInvalid(f"There is no role {role[:40]!r}.", where=f"{where}.role")
    parts: list[Part] = []
    for part in received(content, where, REQUEST):
        if isinstance(part, ToolCall):
            unanswered.setdefault(part.name, {})[part.id] = None
        elif isinstance(part, ToolResult):
            waiting = unanswered.get(part.name, {})
            call_id = part.call_id or next(iter(waiting), "")
            waiting.pop(call_id, None)
            part = ToolResult(call_id=call_id, name=part.name, content=part.content, is_error=part.is_error)
        parts.append(part)
    turns.add(Role.ASSISTANT if role == "model" else Role.USER, parts)


def received(content: Mapping[str, Json], where: str, fields: Fields) -> Iterator[Part]:
    """The parts of a content, a signature after the part that it came with."""
    for index, part in enumerate(fields.tables(content.get("parts"), f"{where}.parts")):
        read_part = _part(part, f"{where}.parts.{index}", fields)
        if read_part is not None:
            yield read_part
        if string(part, "thoughtSignature"):
            yield Opaque(wire=WireName.GEMINI, value={"thoughtSignature": part["thoughtSignature"]})


def _part(part: Mapping[str, Json], where: str, fields: Fields) -> Part | None:
    call, result, blob = entry(part, "functionCall"), entry(part, "functionResponse"), entry(part, "inlineData")
    if "functionCall" in part:
        arguments = fields.table(call.get("args") or {}, f"{where}.functionCall.args")
        name = fields.text(call, "name", f"{where}.functionCall")
        return ToolCall(id=string(call, "id") or made_id(where), name=name, arguments=arguments)
    if "functionResponse" in part:
        content, is_error = _outcome(entry(result, "response"))
        name = fields.text(result, "name", f"{where}.functionResponse")
        return ToolResult(call_id=string(result, "id"), name=name, content=content, is_error=is_error)
    if "text" in part:
        text = fields.text(part, "text", where)
        if part.get("thought") is True:
            return Reasoning(text=text)
        return Text(text=text) if text else None
    if blob and string(blob, "mimeType").startswith("image/"):
        return Image(media_type=string(blob, "mimeType"), data=string(blob, "data"))
    rest = {name: value for name, value in part.items() if name != "thoughtSignature"}
    return Opaque(wire=WireName.GEMINI, value=rest) if rest else None


def _outcome(response: Mapping[str, Json]) -> tuple[str, bool]:
    """What a function gave, and whether that is an error; what has another form than ours is told as JSON."""
    for name in ("output", "error"):
        value = response.get(name)
        if len(response) == 1 and isinstance(value, str):
            return value, name == "error"
    return encoded(response).decode(), "error" in response
