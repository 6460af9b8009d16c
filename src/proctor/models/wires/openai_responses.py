"""OpenAI's responses (``POST /responses``), used without state: nothing is stored there, all of the input goes along.

The base address ends in ``/v1``, as in ``OPENAI_BASE_URL``. Format: OpenAI's API reference, Responses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from proctor.kernel.canonical import Json
from proctor.models.conversation import ChatRequest, Reply
from proctor.models.errors import RequestInvalid
from proctor.models.wires import openai_responses_replies, openai_responses_requests
from proctor.models.wires.fields import REQUEST, entry, listed, string
from proctor.models.wires.interfaces import Fault, Meter, ProviderError, Reading, RequestFacts, WireName
from proctor.models.wires.openai_errors import bearer, openai_error, read_openai_error, streamed_error
from proctor.models.wires.sse import EventMeter
from proctor.models.wires.usage import openai_usage

__all__ = ["OpenAiResponses"]

_CLIENT_TOOLS: frozenset[str] = frozenset({"function", "custom", "local_shell", "apply_patch"})
"""Tools that the caller runs; what any other brings into the conversation can't be known before."""
_BOUNDED: frozenset[str] = frozenset(
    {
        *("", "text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal"),
        *("input_image", "input_audio", "computer_screenshot"),
    }
)
"""Parts of items whose tokens their bytes bound, or their number: not files."""
_KEPT: tuple[str, ...] = ("previous_response_id", "conversation", "prompt")
"""Fields that refer to what the provider keeps."""


@dataclass(frozen=True, kw_only=True)
class OpenAiResponses:
    """The wire ``openai-responses``."""

    name: WireName = WireName.OPENAI_RESPONSES

    def facts(self, raw: bytes, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> RequestFacts:
        """See ``Wire``. What answers in the background tells nobody what it used, and is refused."""
        REQUEST.shallow(body)
        if REQUEST.flag(body, "background"):
            raise RequestInvalid("What is answered later can't be counted.", where="background")
        tools = REQUEST.tables(body.get("tools"), "tools")
        items = _items(body)
        content = _Content()
        for item in items:
            content.take(item)
        return RequestFacts(
            model=REQUEST.model(body, model),
            stream=REQUEST.flag(body, "stream"),
            max_output_tokens=REQUEST.count(body, "max_output_tokens"),
            text_bytes=max(0, len(raw) - content.image_bytes),
            messages=len(items) or 1,
            images=content.images,
            tools=len(tools),
            stateful=content.unbounded
            or not all(_is_the_callers(tool) for tool in tools)
            or any(body.get(name) is not None for name in _KEPT),
            fetches=content.fetched,
        )

    def forwarded(self, body: Mapping[str, Json], *, model: str) -> dict[str, Json]:
        """See ``Wire``."""
        return {**body, "model": model}

    def path(self, model: str, *, stream: bool) -> str:
        """See ``Wire``."""
        return "/responses"

    def headers(self, key: str) -> Mapping[str, str]:
        """See ``Wire``."""
        return bearer(key)

    def read_whole(self, body: Mapping[str, Json]) -> Reading:
        """See ``Wire``."""
        return Reading(
            model=string(body, "model"),
            usage=openai_usage(body.get("usage"), given="input", made="output"),
            finish=openai_responses_replies.finish(body),
            error=streamed_error(body),
            id=string(body, "id"),
        )

    def meter(self) -> Meter:
        """See ``Wire``."""
        return _Meter()

    def read_error(self, status: int, body: bytes) -> ProviderError:
        """See ``Wire``."""
        return read_openai_error(status, body)

    def write_request(self, request: ChatRequest) -> dict[str, Json]:
        """See ``Wire``."""
        return openai_responses_requests.write(request)

    def read_request(self, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> ChatRequest:
        """See ``Wire``."""
        return openai_responses_requests.read(body, model=model)

    def read_reply(self, body: Mapping[str, Json]) -> Reply:
        """See ``Wire``."""
        return openai_responses_replies.read(body)

    def write_reply(self, reply: Reply) -> dict[str, Json]:
        """See ``Wire``."""
        return openai_responses_replies.write(reply)

    def stream_reply(self, reply: Reply, request: Mapping[str, Json]) -> Iterator[bytes]:
        """See ``Wire``."""
        return openai_responses_replies.stream(reply)

    def write_error(self, status: int, fault: Fault, message: str, *, code: str = "") -> dict[str, Json]:
        """See ``Wire``."""
        return openai_error(status, fault, message, code)


def _items(body: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """Of the input; one that is a text alone has none."""
    given = body.get("input")
    return [] if isinstance(given, str) else REQUEST.tables(given, "input")


@dataclass(kw_only=True)
class _Content:
    """What items of the input hold beside text, also within the outputs of tools."""

    images: int = 0
    image_bytes: int = 0
    unbounded: bool = False
    fetched: bool = False

    def take(self, item: Json) -> None:
        """One item, with its content or its output."""
        self.unbounded |= string(item, "type") == "item_reference"
        for part in (*listed(item, "content"), *listed(item, "output"), entry(item, "output")):
            kind = string(part, "type")
            self.unbounded |= kind not in _BOUNDED or string(part, "file_id") != ""
            if kind in ("input_image", "computer_screenshot"):
                url = string(part, "image_url")
                self.images += 1
                self.fetched |= bool(url) and not url.startswith("data:")
                self.image_bytes += len(url) if url.startswith("data:image/") else 0


class _Meter(EventMeter):
    """The events that end a stream hold the whole reply; those between have neither usage nor model."""

    matters = re.compile(rb'"type"\s*:\s*"(?:response\.(?:created|completed|incomplete|failed)|error)"')

    def read(self, body: Mapping[str, Json]) -> None:
        known, kind = self.known, string(body, "type")
        if kind == "error":
            known.error = known.error or streamed_error(body) or streamed_error({"error": body})
            return
        reply = entry(body, "response")
        self.names(string(reply, "model"), string(reply, "id"))
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            known.usage = openai_usage(reply.get("usage"), given="input", made="output")
            known.finish = openai_responses_replies.finish(reply)
            known.error = streamed_error(reply)


def _is_the_callers(tool: Mapping[str, Json]) -> bool:
    """Whether the caller runs it, or all that a namespace holds."""
    if string(tool, "type") == "namespace":
        return all(_is_the_callers(one) for one in REQUEST.tables(tool.get("tools"), "tools"))
    return string(tool, "type") in _CLIENT_TOOLS
