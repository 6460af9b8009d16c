"""Replies of Anthropic's wire: read whole, written whole and as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proctor.kernel.canonical import Json
from proctor.kernel.sums import added
from proctor.models.conversation import Finish, Opaque, Part, Reasoning, Reply, TokenUsage
from proctor.models.errors import ReplyInvalid
from proctor.models.wires.anthropic_requests import received, sent
from proctor.models.wires.fields import REPLY, encoded, string
from proctor.models.wires.parts import Turns
from proctor.models.wires.sse import event, pieces
from proctor.models.wires.usage import told

__all__ = ["FINISHES", "read", "stream", "usage", "write"]

FINISHES: Mapping[str, Finish] = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "pause_turn": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_use": Finish.TOOL_CALLS,
    "refusal": Finish.REFUSED,
}
_REASONS: Mapping[Finish, str] = {
    Finish.STOP: "end_turn",
    Finish.LENGTH: "max_tokens",
    Finish.TOOL_CALLS: "tool_use",
    Finish.REFUSED: "refusal",
}


def usage(said: Json) -> TokenUsage:
    """Input is told without cached tokens, and output with what was thought, which costs as much."""
    if not isinstance(said, dict):
        return TokenUsage()
    fresh, output = told(said, "input_tokens"), told(said, "output_tokens")
    absent = None if fresh is None else 0
    return TokenUsage(
        input_tokens=fresh,
        cache_read_tokens=told(said, "cache_read_input_tokens", absent=absent),
        cache_write_tokens=told(said, "cache_creation_input_tokens", absent=absent),
        output_tokens=output,
        reasoning_tokens=None if output is None else 0,
    )


def _usage_body(used: TokenUsage) -> dict[str, Json]:
    body: dict[str, Json] = {
        "input_tokens": used.input_tokens,
        "cache_creation_input_tokens": used.cache_write_tokens,
        "cache_read_input_tokens": used.cache_read_tokens,
        "output_tokens": added(used.output_tokens, used.reasoning_tokens),
    }
    return {name: value for name, value in body.items() if value is not None}


def read(body: Mapping[str, Json]) -> Reply:
    """See ``Wire.read_reply``."""
    REPLY.shallow(body)
    reason = REPLY.text(body, "stop_reason")
    if reason not in FINISHES:
        raise ReplyInvalid(f"There is no reason {reason[:40]!r} to stop.", where="stop_reason")
    return Reply(
        model=string(body, "model"),
        parts=received(REPLY.items(body.get("content"), "content"), "content", REPLY, Turns()),
        finish=FINISHES[reason],
        usage=usage(body.get("usage")),
        id=string(body, "id"),
    )


def write(reply: Reply) -> dict[str, Json]:
    """See ``Wire.write_reply``."""
    ended = {"content": list(_blocks(reply.parts)), "stop_reason": _REASONS[reply.finish]}
    return {**_head(reply), **ended, "usage": _usage_body(reply.usage)}


def _head(reply: Reply) -> dict[str, Json]:
    head: dict[str, Json] = {"id": reply.id, "type": "message", "role": "assistant", "model": reply.model}
    return head | {"content": [], "stop_reason": None, "stop_sequence": None}


def _blocks(parts: Sequence[Part]) -> Iterator[Json]:
    """Thinking that no opaque part repeats is a block without a signature."""
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        if not isinstance(part, Reasoning):
            yield from sent([part], "reply")
        elif not (isinstance(after, Opaque) and string(dict(after.value), "thinking") == part.text):
            yield {"type": "thinking", "thinking": part.text, "signature": ""}


def stream(reply: Reply) -> Iterator[bytes]:
    """See ``Wire.stream_reply``."""
    used = _usage_body(reply.usage)
    begun = {name: value for name, value in used.items() if name != "output_tokens"}
    yield _event("message_start", {"message": {**_head(reply), "usage": {**begun, "output_tokens": 1}}})
    for index, block in enumerate(_blocks(reply.parts)):
        yield from _block_events(index, block)
    ended: dict[str, Json] = {"stop_reason": _REASONS[reply.finish], "stop_sequence": None}
    counted = {name: value for name, value in used.items() if name == "output_tokens"}
    yield _event("message_delta", {"delta": ended, "usage": counted})
    yield _event("message_stop", {})


def _block_events(index: int, block: Json) -> Iterator[bytes]:
    if not isinstance(block, dict):
        return
    start, deltas = _split(block)
    yield _event("content_block_start", {"index": index, "content_block": start})
    for delta in deltas:
        yield _event("content_block_delta", {"index": index, "delta": delta})
    yield _event("content_block_stop", {"index": index})


def _split(block: dict[str, Json]) -> tuple[Json, list[Json]]:
    """A block as it starts, empty, and what is then added to it."""
    if block.get("type") == "text":
        texts = pieces(string(block, "text"))
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in texts]
    if block.get("type") == "tool_use":
        words = pieces(encoded(block.get("input")).decode())
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in words]
    if block.get("type") == "thinking":
        thoughts = pieces(string(block, "thinking"))
        deltas: list[Json] = [{"type": "thinking_delta", "thinking": piece} for piece in thoughts]
        signed: Json = {"type": "signature_delta", "signature": string(block, "signature")}
        return {**block, "thinking": "", "signature": ""}, [*deltas, signed]
    return block, []


def _event(kind: str, body: Mapping[str, Json]) -> bytes:
    return event({"type": kind, **body}, kind)
