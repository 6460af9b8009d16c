"""Replies of Gemini's wire: read whole, written whole and as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proctor.kernel.canonical import Json
from proctor.kernel.sums import added
from proctor.models.conversation import Finish, Part, Reply, TokenUsage, ToolCall
from proctor.models.errors import ReplyInvalid
from proctor.models.wires.fields import REPLY, entry, listed, string
from proctor.models.wires.gemini_requests import made_id, received, sent
from proctor.models.wires.sse import event, pieces
from proctor.models.wires.usage import told, without

__all__ = ["FINISHES", "finish", "first", "read", "stream", "usage", "write"]

_REFUSALS = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
)
_ODD = (
    *("OTHER", "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
    *("MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "IMAGE_OTHER"),
)
"""Ends that are the model's own doing: it stopped, and what it made is what it made."""
FINISHES: Mapping[str, Finish] = {
    "STOP": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    **dict.fromkeys(_ODD, Finish.STOP),
    **dict.fromkeys(_REFUSALS, Finish.REFUSED),
}
_REASONS: Mapping[Finish, str] = {
    Finish.STOP: "STOP",
    Finish.LENGTH: "MAX_TOKENS",
    Finish.TOOL_CALLS: "STOP",
    Finish.REFUSED: "SAFETY",
}


def first(body: Mapping[str, Json]) -> Json:
    """The candidate of index 0, which is 0 where it is left out; ``None`` where there is none."""
    for candidate in listed(body, "candidates"):
        if isinstance(candidate, dict) and candidate.get("index", 0) == 0:
            return candidate
    return None


def finish(body: Mapping[str, Json], *, calls: bool) -> Finish | None:
    """Why it ended; ``None`` where it did not. ``calls``: whether it called functions, which is no reason here. A
    prompt that is refused has no candidate."""
    if string(entry(body, "promptFeedback"), "blockReason"):
        return Finish.REFUSED
    ended = FINISHES.get(string(first(body), "finishReason"))
    return Finish.TOOL_CALLS if ended is Finish.STOP and calls else ended


def usage(said: Json) -> TokenUsage:
    """Prompt tokens include cached ones, candidates' tokens no thoughts; zeros are left out, so that the total alone
    tells what is missing."""
    if not isinstance(said, dict):
        return TokenUsage()
    prompt = told(said, "promptTokenCount")
    absent = None if prompt is None else 0
    tools = told(said, "toolUsePromptTokenCount", absent=absent)
    cached = told(said, "cachedContentTokenCount", absent=absent)
    made = told(said, "candidatesTokenCount", absent=absent)
    thought = told(said, "thoughtsTokenCount", absent=absent)
    whole = added(prompt, tools, made, thought)
    if told(said, "totalTokenCount", absent=whole) != whole:
        return TokenUsage()
    fresh = added(without(prompt, cached), tools)
    return TokenUsage(
        input_tokens=fresh,
        cache_read_tokens=None if fresh is None else cached,
        cache_write_tokens=absent,
        output_tokens=made,
        reasoning_tokens=thought,
    )


def _usage_body(used: TokenUsage) -> dict[str, Json]:
    body: dict[str, Json] = {
        "promptTokenCount": added(used.input_tokens, used.cache_read_tokens, used.cache_write_tokens),
        "cachedContentTokenCount": used.cache_read_tokens,
        "candidatesTokenCount": used.output_tokens,
        "thoughtsTokenCount": used.reasoning_tokens,
        "totalTokenCount": used.total,
    }
    return {name: value for name, value in body.items() if value is not None}


def read(body: Mapping[str, Json]) -> Reply:
    """See ``Wire.read_reply``."""
    REPLY.shallow(body)
    candidate = first(body)
    content = entry(candidate, "content")
    parts = [_named(part, string(body, "responseId")) for part in received(content, "", REPLY)]
    ended = finish(body, calls=any(isinstance(part, ToolCall) for part in parts))
    if ended is None:
        raise ReplyInvalid("It says no reason for which it ended.", where="candidates.0.finishReason")
    return Reply(
        model=string(body, "modelVersion"),
        parts=parts,
        finish=ended,
        usage=usage(body.get("usageMetadata")),
        id=string(body, "responseId"),
    )


def _named(part: Part, reply: str) -> Part:
    """A call without an id has the reply's in its own, so that no two of a conversation are the same."""
    if isinstance(part, ToolCall) and part.id.startswith(made_id(".")):
        return ToolCall(id=made_id(reply + part.id[len(made_id("")) :]), name=part.name, arguments=part.arguments)
    return part


def write(reply: Reply) -> dict[str, Json]:
    """See ``Wire.write_reply``."""
    candidate: dict[str, Json] = {"finishReason": _REASONS[reply.finish], "index": 0}
    return _body(reply, {"content": {"parts": sent(reply.parts, "reply"), "role": "model"}, **candidate}, ended=True)


def _body(reply: Reply, candidate: Json, *, ended: bool) -> dict[str, Json]:
    used = _usage_body(reply.usage) if ended else {}
    counted: dict[str, Json] = {"usageMetadata": used} if used else {}
    return {"candidates": [candidate], **counted, "modelVersion": reply.model, "responseId": reply.id}


def stream(reply: Reply) -> Iterator[bytes]:
    """See ``Wire.stream_reply``: chunks of the same shape as a whole reply. The last one says why it ended, and what
    was used."""
    for part in sent(reply.parts, "reply"):
        for chunk in _chunks(part):
            yield event(_body(reply, {"content": {"parts": [chunk], "role": "model"}, "index": 0}, ended=False))
    content: Json = {"parts": [{"text": ""}], "role": "model"}
    yield event(_body(reply, {"content": content, "finishReason": _REASONS[reply.finish], "index": 0}, ended=True))


def _chunks(part: Json) -> Iterator[Json]:
    """A text in pieces, its signature with the last."""
    text = string(part, "text")
    if not isinstance(part, dict) or not text:
        yield part
        return
    unsigned = {name: value for name, value in part.items() if name != "thoughtSignature"}
    cut = list(pieces(text))
    for piece in cut[:-1]:
        yield {**unsigned, "text": piece}
    yield {**part, "text": cut[-1]}
