"""Anthropic's messages (``POST /v1/messages``), version 2023-06-01.

The base address has no ``/v1``, as in ``ANTHROPIC_BASE_URL``. Format: Anthropic's API reference, Messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from proctor.kernel.canonical import Json
from proctor.models.conversation import ChatRequest, Reply, TokenUsage
from proctor.models.errors import RequestInvalid
from proctor.models.wires import anthropic_replies, anthropic_requests
from proctor.models.wires.faults import STREAMED, judged
from proctor.models.wires.fields import REQUEST, entry, listed, parsed, string
from proctor.models.wires.interfaces import Fault, Meter, ProviderError, Reading, RequestFacts, WireName
from proctor.models.wires.sse import EventMeter

__all__ = ["Anthropic"]

_VERSION = "2023-06-01"
_CLIENT_TOOLS = re.compile(r"(custom|(bash|text_editor|computer|memory)_\d+)?\Z")
"""Types of tools that the caller runs; what any other brings into the conversation can't be known before."""
_BOUNDED_DOCUMENTS: frozenset[str] = frozenset({"text", "content"})
"""Sources of documents whose tokens their bytes bound; a PDF's pages are pictures, however few its bytes are."""
_WRITTEN: Mapping[Fault, str] = {
    Fault.AUTH: "authentication_error",
    Fault.RATE_LIMIT: "rate_limit_error",
    Fault.QUOTA: "billing_error",
    Fault.UNAVAILABLE: "overloaded_error",
    Fault.MODEL_UNKNOWN: "not_found_error",
}


@dataclass(frozen=True, kw_only=True)
class Anthropic:
    """The wire ``anthropic``."""

    name: WireName = WireName.ANTHROPIC

    def facts(self, raw: bytes, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> RequestFacts:
        """See ``Wire``."""
        REQUEST.shallow(body)
        messages = REQUEST.tables(body.get("messages"), "messages")
        tools = REQUEST.tables(body.get("tools"), "tools")
        limit = REQUEST.count(body, "max_tokens")
        if limit is None:
            raise RequestInvalid("It has to be there.", where="max_tokens")
        content = _Content()
        for holder in messages:
            content.take(holder.get("content"))
        content.take(body.get("system"))
        return RequestFacts(
            model=REQUEST.model(body, model),
            stream=REQUEST.flag(body, "stream"),
            max_output_tokens=limit,
            text_bytes=max(0, len(raw) - content.image_bytes),
            messages=len(messages),
            images=content.images,
            tools=len(tools),
            stateful=content.unbounded
            or any(_CLIENT_TOOLS.match(string(tool, "type")) is None for tool in tools)
            or any(body.get(name) for name in ("mcp_servers", "container")),
            fetches=content.fetched,
        )

    def forwarded(self, body: Mapping[str, Json], *, model: str) -> dict[str, Json]:
        """See ``Wire``."""
        return {**body, "model": model}

    def path(self, model: str, *, stream: bool) -> str:
        """See ``Wire``."""
        return "/v1/messages"

    def headers(self, key: str) -> Mapping[str, str]:
        """See ``Wire``."""
        return {"x-api-key": key, "anthropic-version": _VERSION}

    def read_whole(self, body: Mapping[str, Json]) -> Reading:
        """See ``Wire``."""
        return Reading(
            model=string(body, "model"),
            usage=anthropic_replies.usage(body.get("usage")),
            finish=anthropic_replies.FINISHES.get(string(body, "stop_reason")),
            error=_error(body),
            id=string(body, "id"),
        )

    def meter(self) -> Meter:
        """See ``Wire``."""
        return _Meter()

    def read_error(self, status: int, body: bytes) -> ProviderError:
        """See ``Wire``."""
        whole = parsed(body)
        error = entry(whole, "error")
        message = string(error, "message") if error else body[:2_000].decode("utf-8", "replace")
        return judged(status, message, (string(error, "type"),))

    def write_request(self, request: ChatRequest) -> dict[str, Json]:
        """See ``Wire``."""
        return anthropic_requests.write(request)

    def read_request(self, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> ChatRequest:
        """See ``Wire``."""
        return anthropic_requests.read(body, model=model)

    def read_reply(self, body: Mapping[str, Json]) -> Reply:
        """See ``Wire``."""
        return anthropic_replies.read(body)

    def write_reply(self, reply: Reply) -> dict[str, Json]:
        """See ``Wire``."""
        return anthropic_replies.write(reply)

    def stream_reply(self, reply: Reply, request: Mapping[str, Json]) -> Iterator[bytes]:
        """See ``Wire``."""
        return anthropic_replies.stream(reply)

    def write_error(self, status: int, fault: Fault, message: str, *, code: str = "") -> dict[str, Json]:
        """See ``Wire``."""
        usual = "request_too_large" if status == 413 else _WRITTEN.get(fault, "invalid_request_error")
        return {"type": "error", "error": {"type": code or usual, "message": message}}


@dataclass(kw_only=True)
class _Content:
    """What the content of messages holds beside text, also within results of tools and documents."""

    images: int = 0
    image_bytes: int = 0
    unbounded: bool = False
    fetched: bool = False

    def take(self, content: Json) -> None:
        """Content of a message: a text, or a list of blocks. ``DEEPEST`` bounds how often it calls itself."""
        for block in content if isinstance(content, list) else ():
            kind, source = string(block, "type"), entry(block, "source")
            self.fetched |= string(source, "type") == "url"
            if kind == "image":
                self.images += 1
                self.image_bytes += len(string(source, "data"))
                self.unbounded |= string(source, "type") == "file"
            elif kind == "document":
                self.unbounded |= string(source, "type") not in _BOUNDED_DOCUMENTS
                self.take(source.get("content"))
            elif kind == "container_upload":
                self.unbounded = True
            self.take(list(listed(block, "content")))


@dataclass(kw_only=True)
class _Counts:
    """The fields of a stream's usage as they come, the later ones over the earlier."""

    told: dict[str, Json] = field(default_factory=dict)

    def take(self, usage: Mapping[str, Json]) -> None:
        self.told |= {name: value for name, value in usage.items() if value is not None}


class _Meter(EventMeter):
    """Input is told when a message starts, output as it ends: what the start says of output is no final count."""

    matters = re.compile(rb'"message_start"|"message_delta"|"error"')

    def __init__(self) -> None:
        super().__init__()
        self._counts = _Counts()

    def read(self, body: Mapping[str, Json]) -> None:
        kind = string(body, "type")
        if kind == "message_start":
            message = entry(body, "message")
            self.names(string(message, "model"), string(message, "id"))
            self._counts.take({**entry(message, "usage"), "output_tokens": None})
        elif kind == "message_delta":
            self._counts.take(entry(body, "usage"))
            finish = anthropic_replies.FINISHES.get(string(entry(body, "delta"), "stop_reason"))
            self.known.finish = finish or self.known.finish
        elif kind == "error":
            self.known.error = self.known.error or _error(body)
            return
        self.known.usage = anthropic_replies.usage(self._counts.told) if self._counts.told else TokenUsage()


def _error(body: Mapping[str, Json]) -> ProviderError | None:
    error = body.get("error")
    if not isinstance(error, dict):
        return None
    return judged(STREAMED, string(error, "message"), (string(error, "type"),))
