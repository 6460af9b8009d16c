"""Replies of OpenAI's responses wire: read whole, written whole and as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proctor.kernel.canonical import Json
from proctor.models.conversation import Finish, Part, Reply
from proctor.models.errors import ReplyInvalid
from proctor.models.wires.fields import REPLY, entry, listed, string
from proctor.models.wires.openai_responses_requests import made, output_parts
from proctor.models.wires.sse import event, pieces
from proctor.models.wires.usage import openai_usage, openai_usage_body

__all__ = ["finish", "read", "stream", "write"]

_CUT: Mapping[Finish, str] = {Finish.LENGTH: "max_output_tokens", Finish.REFUSED: "content_filter"}
"""Reasons for which a reply is incomplete."""


def finish(body: Mapping[str, Json]) -> Finish | None:
    """Why it ended; ``None`` where it did not."""
    status, reason = string(body, "status"), string(entry(body, "incomplete_details"), "reason")
    if status == "incomplete":
        return {theirs: ours for ours, theirs in _CUT.items()}.get(reason)
    if status != "completed":
        return None
    output = listed(body, "output")
    if any(string(part, "type") == "refusal" for item in output for part in listed(item, "content")):
        return Finish.REFUSED
    return Finish.TOOL_CALLS if any(string(item, "type") == "function_call" for item in output) else Finish.STOP


def read(body: Mapping[str, Json]) -> Reply:
    """See ``Wire.read_reply``."""
    REPLY.shallow(body)
    ended = finish(body)
    if ended is None:
        raise ReplyInvalid(f"It did not end: {string(body, 'status')[:40]!r}.", where="status")
    parts: list[Part] = []
    for index, item in enumerate(REPLY.tables(body.get("output"), "output")):
        parts.extend(made(item, f"output.{index}", REPLY))
    return Reply(
        model=string(body, "model"),
        parts=parts,
        finish=ended,
        usage=openai_usage(body.get("usage"), given="input", made="output"),
        id=string(body, "id"),
    )


def write(reply: Reply) -> dict[str, Json]:
    """See ``Wire.write_reply``."""
    reason = _CUT.get(reply.finish)
    usage = openai_usage_body(reply.usage, given="input", made="output")
    return {
        **_head(reply),
        "status": "completed" if reason is None else "incomplete",
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": _output(reply),
        "usage": usage or None,
    }


def _head(reply: Reply) -> dict[str, Json]:
    """``created_at`` is 0: a wire has no clock, and whoever serves it may put in the time."""
    head: dict[str, Json] = {"id": reply.id, "object": "response", "created_at": 0, "model": reply.model}
    head |= {"status": "in_progress", "error": None, "incomplete_details": None, "instructions": None, "metadata": {}}
    head |= {"parallel_tool_calls": True, "temperature": None, "tool_choice": "auto", "tools": [], "top_p": None}
    return head | {"output": [], "usage": None}


def _output(reply: Reply) -> list[Json]:
    """Its items, each with an id; an item that goes as it came has its own."""
    items = output_parts(reply.parts, "reply", kept_only=False)
    return [{"id": f"item_{index}", **item} for index, item in enumerate(items) if isinstance(item, dict)]


def stream(reply: Reply) -> Iterator[bytes]:
    """See ``Wire.stream_reply``."""
    whole = write(reply)
    end = "response.completed" if whole["status"] == "completed" else "response.incomplete"
    events: list[tuple[str, dict[str, Json]]] = [
        ("response.created", {"response": _head(reply)}),
        ("response.in_progress", {"response": _head(reply)}),
        *(one for index, item in enumerate(_output(reply)) for one in _item_events(index, item)),
        (end, {"response": whole}),
    ]
    for number, (kind, body) in enumerate(events):
        yield event({"type": kind, "sequence_number": number, **body}, kind)


def _item_events(index: int, item: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    if not isinstance(item, dict):
        return
    empty: dict[str, Json] = {"content": []} if item.get("type") == "message" else {}
    started: Json = {**item, **empty, **({"arguments": ""} if item.get("type") == "function_call" else {})}
    yield "response.output_item.added", {"output_index": index, "item": started}
    place: dict[str, Json] = {"output_index": index, "item_id": item.get("id")}
    if item.get("type") == "function_call":
        arguments = string(item, "arguments")
        for piece in pieces(arguments):
            yield "response.function_call_arguments.delta", {**place, "delta": piece}
        name = string(item, "name")
        yield "response.function_call_arguments.done", {**place, "name": name, "arguments": arguments}
    for number, part in enumerate(listed(item, "content") if item.get("type") == "message" else ()):
        yield from _text_events({**place, "content_index": number}, part)
    yield "response.output_item.done", {"output_index": index, "item": item}


def _text_events(place: dict[str, Json], part: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    text = string(part, "text")
    yield "response.content_part.added", {**place, "part": {"type": "output_text", "text": "", "annotations": []}}
    for piece in pieces(text):
        yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**place, "text": text, "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}
