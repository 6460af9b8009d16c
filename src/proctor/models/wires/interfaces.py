"""A wire: one provider's way of writing requests, replies, streams and errors. Pure: no connection is made here.

A wire does two things. It reads what passes: of a request which model it wants and how much it may answer, of a reply
what it used and who answered, also out of a stream as it goes by; nothing that passes is changed. And it writes and
reads whole conversations in our own words, both as a client (the built-in agent, judges) and as a server (the mock
provider, models that only litellm reaches).

Everything read is hostile: an agent made the request, and a provider's reply may be broken. ``RequestInvalid`` and
``ReplyInvalid`` are all that is ever raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from proctor.kernel.canonical import Json
from proctor.models.conversation import ChatRequest, Finish, Reply, TokenUsage

__all__ = ["Fault", "Meter", "ProviderError", "Reading", "RequestFacts", "Wire", "WireName"]


class WireName(StrEnum):
    """The wires there are."""

    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"
    OPENAI_EMBEDDINGS = "openai-embeddings"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


@dataclass(frozen=True, kw_only=True)
class RequestFacts:
    """What a request asks, for its price and its limits."""

    model: str
    stream: bool
    max_output_tokens: int | None
    """For all of its ``choices`` together; ``None``: it sets no limit, so the model's own holds."""
    text_bytes: int
    """UTF-8 bytes of the body without the data of its images."""
    messages: int
    images: int = 0
    tools: int = 0
    choices: int = 1
    stateful: bool = False
    """Its input can't be bounded: it refers to something that the provider keeps (``previous_response_id``, files), has
    tools that the provider runs, or documents whose bytes say little of their tokens."""
    fetches: bool = False
    """A picture or document of it is an address, from which the provider would fetch it."""


@dataclass(kw_only=True)
class Reading:
    """What a reply says of itself, whole or as far as a stream has come: a meter fills its own in."""

    model: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    finish: Finish | None = None
    """``None``: it did not come to its end."""
    error: ProviderError | None = None
    """What a provider says within a stream that began well."""
    id: str = ""
    fingerprint: str = ""


class Fault(StrEnum):
    """What a provider's refusal means, whatever words it uses."""

    AUTH = "auth"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    """The account has no credit: waiting does not help."""
    UNAVAILABLE = "unavailable"
    """5xx, overloaded, or a connection that broke."""
    MODEL_UNKNOWN = "model_unknown"
    UNSUPPORTED = "unsupported"
    """A parameter that the model does not take."""
    CONTEXT = "context"
    """More than the model's context holds."""
    REFUSED = "refused"
    """By the provider's safety rules."""
    INVALID = "invalid"
    """Any other 4xx: the request itself is wrong."""


@dataclass(frozen=True, kw_only=True)
class ProviderError:
    """A provider's refusal as it put it, and what it means."""

    fault: Fault
    code: str = ""
    message: str = ""


class Meter(Protocol):
    """Reads one stream as it passes, in pieces cut anywhere."""

    def feed(self, piece: bytes) -> None:
        """Another piece. Never raises; what can't be read is passed over."""
        ...

    def reading(self) -> Reading:
        """What is known so far."""
        ...


class Wire(Protocol):
    """One wire."""

    @property
    def name(self) -> WireName:
        """Which it is."""
        ...

    # --- what passes -----------------------------------------------------------------------------------------------

    def facts(self, raw: bytes, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> RequestFacts:
        """What a request asks; ``raw`` are the bytes of ``body``. ``model`` and ``stream``: what the path says, on a
        wire that says them there (Gemini). Raises ``RequestInvalid`` naming the field."""
        ...

    def forwarded(self, body: Mapping[str, Json], *, model: str) -> dict[str, Json]:
        """The body as it goes to the provider: for that model, and such that a stream tells its usage
        (``stream_options.include_usage`` on OpenAI's chat wire); else as it came."""
        ...

    def path(self, model: str, *, stream: bool) -> str:
        """Where the provider takes it, below the base address, beginning with a slash."""
        ...

    def headers(self, key: str) -> Mapping[str, str]:
        """By which a provider knows who asks, and the wire's version."""
        ...

    def read_whole(self, body: Mapping[str, Json]) -> Reading:
        """What a whole reply says of itself. Never raises; what is not there is not known."""
        ...

    def meter(self) -> Meter:
        """For one streamed reply."""
        ...

    def read_error(self, status: int, body: bytes) -> ProviderError:
        """What a refusal means, by its status, codes and words; never raises."""
        ...

    # --- conversations ---------------------------------------------------------------------------------------------

    def write_request(self, request: ChatRequest) -> dict[str, Json]:
        """A request in our words as this wire's body. Raises ``RequestInvalid`` for what the wire can't say."""
        ...

    def read_reply(self, body: Mapping[str, Json]) -> Reply:
        """A whole reply in our words. Raises ``ReplyInvalid``."""
        ...

    def read_request(self, body: Mapping[str, Json], *, model: str = "", stream: bool = False) -> ChatRequest:
        """A request in our words, as a server reads it. Raises ``RequestInvalid``."""
        ...

    def write_reply(self, reply: Reply) -> dict[str, Json]:
        """A reply as a server of this wire writes it."""
        ...

    def stream_reply(self, reply: Reply, request: Mapping[str, Json]) -> Iterator[bytes]:
        """The same as a server streams it, event by event, each piece one or more whole events; ``request`` is the
        body that asked."""
        ...

    def write_error(self, status: int, fault: Fault, message: str, *, code: str = "") -> dict[str, Json]:
        """A refusal as a server of this wire writes it."""
        ...
