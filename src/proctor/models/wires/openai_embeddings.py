"""OpenAI's embeddings (``POST /embeddings``): passed on and counted; there is no conversation here.

The base address ends in ``/v1``. Format: OpenAI's API reference, Embeddings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from proctor.kernel.canonical import Json
from proctor.models.conversation import ChatRequest, Finish, Reply, TokenUsage
from proctor.models.errors import RequestInvalid
from proctor.models.wires.fields import REQUEST, string
from proctor.models.wires.interfaces import Fault, Meter, ProviderError, Reading, RequestFacts, WireName
from proctor.models.wires.openai_errors import bearer, openai_error, read_openai_error, streamed_error
from proctor.models.wires.usage import told

__all__ = ["OpenAiEmbeddings"]


@dataclass(frozen=True, kw_only=True)
class OpenAiEmbeddings:
    """The wire ``openai-embeddings``."""

    name: WireName = WireName.OPENAI_EMBEDDINGS

    def facts(self, raw: bytes, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> RequestFacts:
        """See ``Wire``. ``messages`` is how many texts there are; tokens that are given by number are of more bytes
        than they count."""
        REQUEST.shallow(body)
        given = body.get("input")
        if not isinstance(given, (str, list)) or not given:
            raise RequestInvalid("It has to be a text, or a list of texts or tokens.", where="input")
        many = isinstance(given, list) and not isinstance(given[0], int)
        return RequestFacts(
            model=REQUEST.model(body, model),
            stream=False,
            max_output_tokens=0,
            text_bytes=len(raw),
            messages=len(given) if many else 1,
        )

    def forwarded(self, body: Mapping[str, Json], *, model: str) -> dict[str, Json]:
        """See ``Wire``."""
        return {**body, "model": model}

    def path(self, model: str, *, stream: bool) -> str:
        """See ``Wire``."""
        return "/embeddings"

    def headers(self, key: str) -> Mapping[str, str]:
        """See ``Wire``."""
        return bearer(key)

    def read_whole(self, body: Mapping[str, Json]) -> Reading:
        """See ``Wire``."""
        return Reading(
            model=string(body, "model"),
            usage=_usage(body.get("usage")),
            finish=Finish.STOP if isinstance(body.get("data"), list) else None,
            error=streamed_error(body),
        )

    def meter(self) -> Meter:
        """See ``Wire``: a stream, which this wire has not, says nothing."""
        return _NoMeter()

    def read_error(self, status: int, body: bytes) -> ProviderError:
        """See ``Wire``."""
        return read_openai_error(status, body)

    def write_request(self, request: ChatRequest) -> dict[str, Json]:
        """Raises ``RequestInvalid``."""
        _no_conversation()

    def read_request(self, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> ChatRequest:
        """Raises ``RequestInvalid``."""
        _no_conversation()

    def read_reply(self, body: Mapping[str, Json]) -> Reply:
        """Raises ``RequestInvalid``."""
        _no_conversation()

    def write_reply(self, reply: Reply) -> dict[str, Json]:
        """Raises ``RequestInvalid``."""
        _no_conversation()

    def stream_reply(self, reply: Reply, request: Mapping[str, Json]) -> Iterator[bytes]:
        """Raises ``RequestInvalid``."""
        _no_conversation()

    def write_error(self, status: int, fault: Fault, message: str, *, code: str = "") -> dict[str, Json]:
        """See ``Wire``."""
        return openai_error(status, fault, message, code)


class _NoMeter:
    def feed(self, piece: bytes) -> None:
        _ = piece

    def reading(self) -> Reading:
        return Reading()


def _usage(usage: Json) -> TokenUsage:
    """Input alone. Where the total is another number, neither can be trusted."""
    if not isinstance(usage, dict):
        return TokenUsage()
    given = told(usage, "prompt_tokens")
    if given is None or told(usage, "total_tokens", absent=given) != given:
        return TokenUsage()
    return TokenUsage(
        input_tokens=given, cache_read_tokens=0, cache_write_tokens=0, output_tokens=0, reasoning_tokens=0
    )


def _no_conversation() -> NoReturn:
    raise RequestInvalid("There is no conversation on the wire for embeddings.", where="wire")
