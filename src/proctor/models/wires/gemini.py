"""Gemini's ``generateContent`` and ``streamGenerateContent?alt=sse``, version v1beta.

The base address has no version. A model and whether to stream are said by the path. Format: the Gemini API's
reference; its fields may be written in camel case or with underscores, and both are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from proctor.kernel.canonical import Json
from proctor.models.conversation import ChatRequest, Reply
from proctor.models.wires import gemini_replies, gemini_requests
from proctor.models.wires.faults import STREAMED, judged
from proctor.models.wires.fields import REQUEST, entry, listed, parsed, string
from proctor.models.wires.gemini_names import camel
from proctor.models.wires.interfaces import Fault, Meter, ProviderError, Reading, RequestFacts, WireName
from proctor.models.wires.sse import EventMeter

__all__ = ["Gemini"]

_WRITTEN: Mapping[Fault, str] = {
    Fault.AUTH: "PERMISSION_DENIED",
    Fault.RATE_LIMIT: "RESOURCE_EXHAUSTED",
    Fault.QUOTA: "RESOURCE_EXHAUSTED",
    Fault.UNAVAILABLE: "UNAVAILABLE",
    Fault.MODEL_UNKNOWN: "NOT_FOUND",
}


@dataclass(frozen=True, kw_only=True)
class Gemini:
    """The wire ``gemini``."""

    name: WireName = WireName.GEMINI

    def facts(self, raw: bytes, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> RequestFacts:
        """See ``Wire``."""
        REQUEST.shallow(body)
        plain = camel(body)
        contents = REQUEST.tables(plain.get("contents"), "contents")
        tools = REQUEST.tables(plain.get("tools"), "tools")
        settings = REQUEST.table(plain.get("generationConfig") or {}, "generationConfig")
        where = "generationConfig"
        limit = REQUEST.count(settings, "maxOutputTokens", where)
        choices = REQUEST.count(settings, "candidateCount", where) or 1
        content = _Content()
        for one in (*contents, plain.get("systemInstruction")):
            content.take(one)
        return RequestFacts(
            model=REQUEST.model(body, model),
            stream=stream,
            max_output_tokens=None if limit is None else limit * choices,
            text_bytes=max(0, len(raw) - content.image_bytes),
            messages=len(contents),
            images=content.images,
            tools=sum(len(listed(tool, "functionDeclarations")) for tool in tools),
            choices=choices,
            stateful=content.unbounded
            or plain.get("cachedContent") is not None
            or any(name != "functionDeclarations" for tool in tools for name in tool),
        )

    def forwarded(self, body: Mapping[str, Json], *, model: str) -> dict[str, Json]:
        """See ``Wire``. The path says which model; a body that says it too says the same."""
        return {**body, **({"model": f"models/{model}"} if "model" in body else {})}

    def path(self, model: str, *, stream: bool) -> str:
        """See ``Wire``."""
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{quote(model, safe='')}:{method}"

    def headers(self, key: str) -> Mapping[str, str]:
        """See ``Wire``."""
        return {"x-goog-api-key": key}

    def read_whole(self, body: Mapping[str, Json]) -> Reading:
        """See ``Wire``."""
        meter = _Meter()
        meter.read(body)
        return meter.reading()

    def meter(self) -> Meter:
        """See ``Wire``."""
        return _Meter()

    def read_error(self, status: int, body: bytes) -> ProviderError:
        """See ``Wire``. A stream's refusal may come as a list of one."""
        whole = parsed(body)
        error = entry(whole[0] if isinstance(whole, list) and whole else whole, "error")
        if not error:
            return judged(status, body[:2_000].decode("utf-8", "replace"), ())
        return _judged(status, error)

    def write_request(self, request: ChatRequest) -> dict[str, Json]:
        """See ``Wire``."""
        return gemini_requests.write(request)

    def read_request(self, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> ChatRequest:
        """See ``Wire``."""
        return gemini_requests.read(body, model=model, stream=stream)

    def read_reply(self, body: Mapping[str, Json]) -> Reply:
        """See ``Wire``."""
        return gemini_replies.read(body)

    def write_reply(self, reply: Reply) -> dict[str, Json]:
        """See ``Wire``."""
        return gemini_replies.write(reply)

    def stream_reply(self, reply: Reply, request: Mapping[str, Json]) -> Iterator[bytes]:
        """See ``Wire``."""
        return gemini_replies.stream(reply)

    def write_error(self, status: int, fault: Fault, message: str, *, code: str = "") -> dict[str, Json]:
        """See ``Wire``. Google says of a key that is not valid that the argument is not."""
        if fault is Fault.AUTH and status == 400:
            detail: Json = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": [detail]}}
        return {
            "error": {"code": status, "message": message, "status": code or _WRITTEN.get(fault, "INVALID_ARGUMENT")}
        }


@dataclass(kw_only=True)
class _Content:
    """What contents hold beside text, also within the responses of functions."""

    images: int = 0
    image_bytes: int = 0
    unbounded: bool = False

    def take(self, content: Json) -> None:
        """One content. Sound has more bytes than tokens; documents and films may have fewer."""
        for part in listed(content, "parts"):
            blob = entry(part, "inlineData")
            kind = string(blob, "mimeType").lower()
            if kind.startswith("image/"):
                self.images += 1
                self.image_bytes += len(string(blob, "data"))
            elif blob and not kind.startswith(("audio/", "text/")):
                self.unbounded = True
            self.unbounded |= isinstance(part, dict) and part.get("fileData") is not None
            self.take(entry(part, "functionResponse"))


class _Meter(EventMeter):
    """Each event says what was used so far, so each is read; they are few, and long."""

    matters = re.compile(rb"\{")

    def __init__(self) -> None:
        super().__init__()
        self._calls = False

    def read(self, body: Mapping[str, Json]) -> None:
        self.names(string(body, "modelVersion"), string(body, "responseId"))
        candidate = gemini_replies.first(body)
        self._calls = self._calls or any(
            isinstance(part, dict) and "functionCall" in part for part in listed(entry(candidate, "content"), "parts")
        )
        known = self.known
        known.finish = gemini_replies.finish(body, calls=self._calls) or known.finish
        if isinstance(body.get("usageMetadata"), dict):
            known.usage = gemini_replies.usage(body["usageMetadata"])
        if known.error is None and entry(body, "error"):
            known.error = _judged(STREAMED, entry(body, "error"))


def _judged(status: int, error: Mapping[str, Json]) -> ProviderError:
    reasons = [string(detail, "reason") for detail in listed(error, "details")]
    return judged(status, string(error, "message"), (*reasons, string(error, "status")))
