"""What the mock provider answers: by a script's rules, else by the model's name. Pure, and the same each time.

Models that need no script: ``echo`` says what the user said last, ``noop`` that it is done, ``refuse`` refuses,
``rate-limited`` and ``unavailable`` are errors each time, ``slow`` takes ``SLOW_SEC``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import takewhile

from proctor.kernel.canonical import sha256_hex
from proctor.models.conversation import (
    ChatRequest,
    Finish,
    Message,
    Opaque,
    Part,
    Reasoning,
    Reply,
    Role,
    Text,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from proctor.models.mock.script import NO_SCRIPT, Script, ScriptedCall, ScriptedReply
from proctor.models.mock.shells import shell_arguments, shell_tool
from proctor.models.wires.fields import encoded
from proctor.models.wires.interfaces import Fault, WireName
from proctor.models.wires.parts import arguments_text

__all__ = ["BUILT_IN", "SLOW_SEC", "MockError", "Planned", "answer", "counted_input", "plan", "tokens_of"]

SLOW_SEC: float = 5.0
"""Until ``slow`` answers: longer than whoever waits for a first byte likes, shorter than any deadline."""
DONE: str = "Done."
"""What is said when a script has nothing more to say."""
_TOKEN_BYTES: int = 4
"""Of English text in a token, by the rule of thumb that providers give."""
_IMAGE_TOKENS: int = 256
"""Of a picture, whatever its size."""
_PREFIX = "mock/"
_IDS: Mapping[WireName, str] = {
    WireName.OPENAI_CHAT: "chatcmpl-",
    WireName.OPENAI_RESPONSES: "resp_",
    WireName.ANTHROPIC: "msg_",
}
"""How providers begin their ids, which some clients check."""

BUILT_IN: Mapping[str, ScriptedReply] = {
    "noop": ScriptedReply(text=DONE),
    "refuse": ScriptedReply(text="I can't help with that.", finish="refused"),
    "rate-limited": ScriptedReply(status=429, text="Too many requests.", retry_after=1.0),
    "unavailable": ScriptedReply(status=503, text="Overloaded."),
    "slow": ScriptedReply(text=DONE, delay_sec=SLOW_SEC),
}
"""Models that say one thing; ``echo`` is beside them."""
_FAULTS: Mapping[int, Fault] = {
    401: Fault.AUTH,
    402: Fault.QUOTA,
    403: Fault.AUTH,
    404: Fault.MODEL_UNKNOWN,
    408: Fault.UNAVAILABLE,
    413: Fault.CONTEXT,
    429: Fault.RATE_LIMIT,
}


@dataclass(frozen=True, kw_only=True)
class MockError:
    """A refusal."""

    status: int
    fault: Fault
    message: str
    code: str = ""
    """Empty: as the wire calls this fault."""
    retry_after: float | None = None
    """In seconds."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What is answered, and how it goes out."""

    outcome: Reply | MockError
    delay_sec: float = 0.0
    """Before its first byte."""
    drop_after: int | None = None
    """Bytes of the body after which the connection is dropped."""


def answer(wire: WireName, request: ChatRequest, script: Script = NO_SCRIPT) -> Reply | MockError:
    """What is answered, at once and whole."""
    return plan(wire, request, script).outcome


def plan(wire: WireName, request: ChatRequest, script: Script = NO_SCRIPT) -> Planned:
    """What is answered. The first rule that fits a request decides, else its model's name."""
    name = request.model.removeprefix(_PREFIX)
    said = _chosen(name, request, script)
    if isinstance(said, MockError):
        return Planned(outcome=said)
    if said.status is not None:
        return Planned(outcome=_error(said, said.status), delay_sec=said.delay_sec)
    outcome = _reply(wire, name, request, said)
    return Planned(outcome=outcome, delay_sec=said.delay_sec, drop_after=said.drop_after)


def _chosen(name: str, request: ChatRequest, script: Script) -> ScriptedReply | MockError:
    turn = sum(message.role is Role.ASSISTANT for message in request.messages)
    heard = _heard(request)
    for rule in script.rules:
        if fnmatchcase(name, rule.model.removeprefix(_PREFIX)) and any(re.search(rule.when, one) for one in heard):
            return rule.replies[turn] if turn < len(rule.replies) else ScriptedReply(text=DONE)
    if name == "echo":
        return ScriptedReply(text=_last_words(request))
    if name in BUILT_IN:
        return BUILT_IN[name]
    return MockError(
        status=404, fault=Fault.MODEL_UNKNOWN, message=f"The model {name!r} does not exist: no rule fits it."
    )


def _heard(request: ChatRequest) -> list[str]:
    """What a rule's ``when`` is searched for in: what the user said before the first answer, and the system's words.

    Some agents tell of their surroundings first, and of the task in a second message.
    """
    system = [message.text for message in request.messages if message.role is Role.SYSTEM]
    opening = takewhile(lambda message: message.role is not Role.ASSISTANT, request.messages)
    user = [message.text for message in opening if message.role is Role.USER and message.text]
    return [*(user or [""]), *system]


def _last_words(request: ChatRequest) -> str:
    texts = [message.text for message in request.messages if message.role is Role.USER and message.text]
    return texts[-1] if texts else ""


def _error(said: ScriptedReply, status: int) -> MockError:
    fault = Fault.UNAVAILABLE if status >= 500 else _FAULTS.get(status, Fault.INVALID)
    message = said.text or f"The script says {status}."
    return MockError(status=status, fault=fault, message=message, code=said.code, retry_after=said.retry_after)


def _reply(wire: WireName, name: str, request: ChatRequest, said: ScriptedReply) -> Reply | MockError:
    mark = sha256_hex(encoded([name, len(request.messages), _last_words(request)]))[:24]
    parts: list[Part] = [Reasoning(text=said.reasoning)] if said.reasoning else []
    parts += [Text(text=said.text)] if said.text else []
    for index, one in enumerate(said.calls):
        call = _call(f"call_{mark[:12]}_{index}", one, request)
        if call is None:
            words = "The script wants a shell, and no tool of the request looks like one."
            return MockError(status=400, fault=Fault.INVALID, message=words)
        parts.append(call)
    ended = Finish.TOOL_CALLS if said.calls else Finish.STOP
    return Reply(
        model=said.model or request.model,
        parts=parts,
        finish=Finish(said.finish) if said.finish else ended,
        usage=_counted(request, parts) if said.usage is None else said.usage.tokens(),
        id=_IDS.get(wire, "") + mark,
    )


def _call(id: str, said: ScriptedCall, request: ChatRequest) -> ToolCall | None:
    if said.shell is None:
        return ToolCall(id=id, name=said.name, arguments=said.arguments)
    tool = shell_tool(request.tools)
    return None if tool is None else ToolCall(id=id, name=tool.name, arguments=shell_arguments(tool, said.shell))


def _counted(request: ChatRequest, parts: list[Part]) -> TokenUsage:
    thought = [part for part in parts if isinstance(part, Reasoning)]
    said = [part for part in parts if not isinstance(part, Reasoning)]
    return TokenUsage(
        input_tokens=counted_input(request),
        cache_read_tokens=0,
        cache_write_tokens=0,
        output_tokens=_tokens(sum(map(_bytes, said))),
        reasoning_tokens=_tokens(sum(map(_bytes, thought))),
    )


def counted_input(request: ChatRequest) -> int:
    """Tokens of a request: of its words, tools and pictures."""
    tools = sum(len(encoded([tool.name, tool.description, tool.parameters])) for tool in request.tools)
    return _tokens(tools + sum(_message_bytes(message) for message in request.messages))


def tokens_of(text: str) -> int:
    """Tokens of a text."""
    return _tokens(len(text.encode("utf-8", "replace")))


def _message_bytes(message: Message) -> int:
    return sum(map(_bytes, message.parts))


def _bytes(part: Part) -> int:
    if isinstance(part, (Text, Reasoning)):
        text = part.text
    elif isinstance(part, ToolCall):
        text = part.name + arguments_text(part)
    elif isinstance(part, ToolResult):
        text = part.content
    elif isinstance(part, Opaque):
        return len(encoded(part.value))
    else:
        return _IMAGE_TOKENS * _TOKEN_BYTES
    return len(text.encode("utf-8", "replace"))


def _tokens(size: int) -> int:
    return -(-size // _TOKEN_BYTES)
