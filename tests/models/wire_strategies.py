"""Made-up requests and replies, for what each wire can say."""

from __future__ import annotations

from hypothesis import strategies as st

from proctor.kernel.canonical import Json
from proctor.models.conversation import (
    ChatRequest,
    Finish,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Reply,
    Role,
    Text,
    TokenUsage,
    Tool,
    ToolCall,
    ToolResult,
)
from proctor.models.wires.interfaces import WireName

CHAT, RESPONSES, ANTHROPIC, GEMINI = (
    WireName.OPENAI_CHAT,
    WireName.OPENAI_RESPONSES,
    WireName.ANTHROPIC,
    WireName.GEMINI,
)
TALKING = (CHAT, RESPONSES, ANTHROPIC, GEMINI)

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
NAMES = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,20}", fullmatch=True)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
ARGUMENTS = st.dictionaries(
    WORDS,
    st.recursive(LEAVES | WORDS, lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner), max_leaves=5),
    max_size=3,
)
TOOLS = st.builds(
    Tool,
    name=NAMES,
    description=st.just("") | WORDS,
    parameters=st.just({"type": "object", "properties": {"snake_name": {"type": "string"}}}),
)
COUNTS = st.integers(0, 10**9)
BASE64 = st.sampled_from(["aGk=", "AAAA", "iVBORw0KGgo="])


@st.composite
def requests(draw: st.DrawFn, wire: WireName) -> ChatRequest:
    messages = []
    called: list[ToolCall] = []
    if draw(st.booleans()):
        messages.append(
            Message(role=Role.SYSTEM, parts=draw(st.lists(st.builds(Text, text=WORDS), min_size=1, max_size=2)))
        )
    for turn in range(draw(st.integers(1, 3))):
        messages.append(Message(role=Role.USER, parts=draw(_said(wire))))
        made = draw(_made(wire, str(turn), within_request=True))
        messages.append(Message(role=Role.ASSISTANT, parts=made))
        if called := [part for part in made if isinstance(part, ToolCall)]:
            results = [ToolResult(call_id=one.id, name=one.name, content=draw(WORDS)) for one in called]
            if wire in (ANTHROPIC, GEMINI):
                results = [
                    ToolResult(call_id=one.call_id, name=one.name, content=one.content, is_error=draw(st.booleans()))
                    for one in results
                ]
            messages.append(Message(role=Role.USER, parts=results))
    return ChatRequest(
        model=draw(st.sampled_from(["m-1", "gemini-2.5-pro", "gpt-4.1", "gpt-5"])),
        messages=messages,
        tools=draw(st.lists(TOOLS, max_size=2)),
        max_output_tokens=draw(st.integers(40_000, 60_000) | (st.nothing() if wire is ANTHROPIC else st.none())),
        thinking=draw(st.sampled_from([None, "minimal", "low", "medium", "high"])),
        sampling=draw(_sampling(wire)),
        stream=draw(st.booleans()),
    )


def _sampling(wire: WireName) -> st.SearchStrategy[dict[str, Json]]:
    numbers = {"temperature": st.floats(0, 2), "top_p": st.floats(0, 1)}
    if wire is RESPONSES:
        return st.fixed_dictionaries({}, optional=numbers)
    return st.fixed_dictionaries({}, optional={**numbers, "stop": st.lists(WORDS, min_size=1, max_size=2)})


def _said(wire: WireName) -> st.SearchStrategy[list[Part]]:
    image = st.builds(Image, media_type=st.just("image/png"), data=BASE64)
    if wire is not GEMINI:
        image |= st.builds(Image, url=st.just("https://example.com/a.png"))
    return st.lists(st.builds(Text, text=WORDS) | image, min_size=1, max_size=3)


@st.composite
def _made(draw: st.DrawFn, wire: WireName, prefix: str, within_request: bool = False) -> list[Part]:
    parts: list[Part] = []
    if draw(st.booleans()):
        parts += draw(_thought(wire, within_request))
    parts += [Text(text=text) for text in draw(st.lists(WORDS, max_size=1 if wire is CHAT else 2))]
    for index in range(draw(st.integers(0, 2))):
        parts.append(ToolCall(id=f"call_{prefix}_{index}", name=draw(NAMES), arguments=draw(ARGUMENTS)))
        if wire is GEMINI and draw(st.booleans()):
            parts.append(Opaque(wire=wire, value={"thoughtSignature": draw(BASE64)}))
    return parts or [Text(text=draw(WORDS))]


@st.composite
def _thought(draw: st.DrawFn, wire: WireName, within_request: bool) -> list[Part]:
    text = draw(WORDS)
    if wire in (CHAT, GEMINI):
        return [Reasoning(text=text)]
    if not within_request and draw(st.booleans()):
        return [Reasoning(text=text)]
    if wire is ANTHROPIC:
        hidden: list[Part] = [Opaque(wire=wire, value={"type": "redacted_thinking", "data": draw(BASE64)})]
        signed = Opaque(wire=wire, value={"type": "thinking", "thinking": text, "signature": draw(BASE64)})
        return draw(st.sampled_from([hidden, [Reasoning(text=text), signed]]))
    summary: Json = [{"type": "summary_text", "text": text}]
    kept = {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": draw(BASE64)}
    return [Reasoning(text=text), Opaque(wire=wire, value=kept)]


@st.composite
def replies(draw: st.DrawFn, wire: WireName) -> Reply:
    parts = draw(_made(wire, "x"))
    calls = any(isinstance(part, ToolCall) for part in parts)
    ended = Finish.TOOL_CALLS if calls else Finish.STOP
    return Reply(
        model="made-up-1",
        parts=parts,
        finish=draw(st.sampled_from([ended, Finish.LENGTH, Finish.REFUSED])),
        usage=draw(_usage(wire)),
        id=draw(st.sampled_from(["", "id-1"])),
    )


@st.composite
def _usage(draw: st.DrawFn, wire: WireName) -> TokenUsage:
    if draw(st.integers(0, 5)) == 0:
        return TokenUsage()
    return TokenUsage(
        input_tokens=draw(COUNTS),
        cache_read_tokens=draw(COUNTS),
        cache_write_tokens=0 if wire is GEMINI else draw(COUNTS),
        output_tokens=draw(COUNTS),
        reasoning_tokens=0 if wire is ANTHROPIC else draw(COUNTS),
    )
