"""OpenAI's chat completions (``POST /chat/completions``), which most other providers and servers speak too.

The base address ends in ``/v1``, as in ``OPENAI_BASE_URL``. Format: OpenAI's API reference, Chat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from proctor.kernel.canonical import Json
from proctor.models.conversation import ChatRequest, Finish, Reply
from proctor.models.wires import openai_chat_replies, openai_chat_requests
from proctor.models.wires.fields import REQUEST, entry, listed, string
from proctor.models.wires.interfaces import Fault, Meter, ProviderError, Reading, RequestFacts, WireName
from proctor.models.wires.openai_errors import bearer, openai_error, read_openai_error, streamed_error
from proctor.models.wires.sse import EventMeter
from proctor.models.wires.usage import openai_usage

__all__ = ["OpenAiChat"]

_CLIENT_TOOLS: frozenset[str] = frozenset({"function", "custom"})
"""Tools that the caller runs; what any other brings into the conversation can't be known before."""

_BOUNDED: frozenset[str] = frozenset({"text", "image_url", "input_audio", "refusal", "thinking", "redacted_thinking"})
"""Parts of messages whose tokens their bytes bound, or their number: not files, nor films that some servers take."""


@dataclass(frozen=True, kw_only=True)
class OpenAiChat:
    """The wire ``openai-chat``."""

    name: WireName = WireName.OPENAI_CHAT

    def facts(self, raw: bytes, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> RequestFacts:
        """See ``Wire``."""
        REQUEST.shallow(body)
        messages = REQUEST.tables(body.get("messages"), "messages")
        tools = REQUEST.tables(body.get("tools"), "tools")
        functions = REQUEST.tables(body.get("functions"), "functions")
        limits = [limit for name in ("max_completion_tokens", "max_tokens") if (limit := REQUEST.count(body, name))]
        choices = REQUEST.count(body, "n") or 1
        parts = [part for message in messages for part in listed(message, "content")]
        pictures = [part for part in parts if string(part, "type") == "image_url"]
        return RequestFacts(
            model=REQUEST.model(body, model),
            stream=REQUEST.flag(body, "stream"),
            max_output_tokens=max(limits) * choices if limits else None,
            text_bytes=max(0, len(raw) - sum(_inline_bytes(part) for part in pictures)),
            messages=len(messages),
            images=len(pictures),
            tools=len(tools) + len(functions),
            choices=choices,
            stateful=any(string(part, "type") not in _BOUNDED for part in parts)
            or any(message.get("audio") is not None for message in messages)
            or any(string(tool, "type") not in _CLIENT_TOOLS for tool in tools)
            or body.get("web_search_options") is not None,
            fetches=any(not string(entry(part, "image_url"), "url").startswith("data:") for part in pictures),
        )

    def forwarded(self, body: Mapping[str, Json], *, model: str) -> dict[str, Json]:
        """See ``Wire``."""
        sent: dict[str, Json] = {**body, "model": model}
        if body.get("stream") is True:
            sent["stream_options"] = {**entry(body, "stream_options"), "include_usage": True}
        return sent

    def path(self, model: str, *, stream: bool) -> str:
        """See ``Wire``."""
        return "/chat/completions"

    def headers(self, key: str) -> Mapping[str, str]:
        """See ``Wire``."""
        return bearer(key)

    def read_whole(self, body: Mapping[str, Json]) -> Reading:
        """See ``Wire``."""
        choice = _first(body)
        refused = bool(string(entry(choice, "message"), "refusal"))
        return Reading(
            model=string(body, "model"),
            usage=openai_usage(body.get("usage"), given="prompt", made="completion"),
            finish=Finish.REFUSED if refused else openai_chat_replies.FINISHES.get(string(choice, "finish_reason")),
            error=streamed_error(body),
            id=string(body, "id"),
            fingerprint=string(body, "system_fingerprint"),
        )

    def meter(self) -> Meter:
        """See ``Wire``."""
        return _Meter()

    def read_error(self, status: int, body: bytes) -> ProviderError:
        """See ``Wire``."""
        return read_openai_error(status, body)

    def write_request(self, request: ChatRequest) -> dict[str, Json]:
        """See ``Wire``."""
        return openai_chat_requests.write(request)

    def read_request(self, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> ChatRequest:
        """See ``Wire``."""
        return openai_chat_requests.read(body, model=model)

    def read_reply(self, body: Mapping[str, Json]) -> Reply:
        """See ``Wire``."""
        return openai_chat_replies.read(body)

    def write_reply(self, reply: Reply) -> dict[str, Json]:
        """See ``Wire``."""
        return openai_chat_replies.write(reply)

    def stream_reply(self, reply: Reply, request: Mapping[str, Json]) -> Iterator[bytes]:
        """See ``Wire``."""
        return openai_chat_replies.stream(reply, request)

    def write_error(self, status: int, fault: Fault, message: str, *, code: str = "") -> dict[str, Json]:
        """See ``Wire``."""
        return openai_error(status, fault, message, code)


class _Meter(EventMeter):
    """Every chunk has ``"finish_reason":null`` and ``"usage":null``: only those where there is more matter."""

    matters = re.compile(rb'"finish_reason"\s*:\s*"|"usage"\s*:\s*\{|"refusal"\s*:\s*"|"error"\s*:')

    def __init__(self) -> None:
        super().__init__()
        self._refused = False

    def read(self, body: Mapping[str, Json]) -> None:
        known, choice = self.known, _first(body)
        self.names(string(body, "model"), string(body, "id"), string(body, "system_fingerprint"))
        self._refused = self._refused or bool(string(entry(choice, "delta"), "refusal"))
        finish = openai_chat_replies.FINISHES.get(string(choice, "finish_reason"), known.finish)
        known.finish = Finish.REFUSED if finish and self._refused else finish
        known.error = known.error or streamed_error(body)
        if isinstance(body.get("usage"), dict):
            known.usage = openai_usage(body["usage"], given="prompt", made="completion")


def _first(body: Mapping[str, Json]) -> Json:
    """The choice of index 0: the one whose end is told."""
    for choice in listed(body, "choices"):
        if isinstance(choice, dict) and choice.get("index", 0) == 0:
            return choice
    return None


def _inline_bytes(part: Json) -> int:
    url = string(entry(part, "image_url"), "url")
    return len(url) if url.startswith("data:image/") else 0
