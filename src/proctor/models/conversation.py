"""A conversation with a model in words that no provider owns; ``wires/`` says how each provider writes it.

Callers of ours (the built-in agent, judges) speak in these. What foreign agents send is passed on as it came and is
only read for what it is: see ``wires/interfaces.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from proctor.kernel.canonical import Json
from proctor.kernel.sums import added

__all__ = [
    "ChatRequest",
    "Finish",
    "Image",
    "Message",
    "Opaque",
    "Part",
    "Reasoning",
    "Reply",
    "Role",
    "Text",
    "TokenUsage",
    "Tool",
    "ToolCall",
    "ToolResult",
]


class Role(StrEnum):
    """Who speaks. Results of tools are a user's parts, whatever a wire makes of them."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, kw_only=True)
class Text:
    """Words."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Image:
    """A picture: its bytes in base64, or where it is."""

    media_type: str = ""
    data: str = ""
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class Reasoning:
    """What a model thought, as far as its provider shows it."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Opaque:
    """A part that has to go back as it came (signed thinking, encrypted reasoning), on the same wire alone."""

    wire: str
    value: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A model wants a tool run."""

    id: str
    name: str
    arguments: Mapping[str, Json]
    malformed: str = ""
    """The arguments as they came, where they were no JSON object; ``arguments`` is empty then."""


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What a tool gave."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


Part = Text | Image | Reasoning | Opaque | ToolCall | ToolResult


@dataclass(frozen=True, kw_only=True)
class Message:
    """One turn."""

    role: Role
    parts: Sequence[Part]

    @property
    def text(self) -> str:
        """Its words, without what else it has."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, kw_only=True)
class Tool:
    """What a model may call. ``parameters`` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """What is asked of a model."""

    model: str
    """As its provider names it, without the provider before it."""
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    max_output_tokens: int | None = None
    thinking: str | None = None
    """``minimal``, ``low``, ``medium``, ``high``; ``None``: as the provider does by itself."""
    sampling: Mapping[str, Json] = field(default_factory=dict)
    """``temperature``, ``top_p``, ``seed``, ``stop`` and what else a provider knows, passed on by name."""
    stream: bool = False


class Finish(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    REFUSED = "refused"


@dataclass(frozen=True, kw_only=True)
class TokenUsage:
    """Tokens in disjoint buckets: no token is in two. ``None``: the provider did not say, which is not 0."""

    input_tokens: int | None = None
    """Neither read from a cache nor written to one."""
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    """Without reasoning."""
    reasoning_tokens: int | None = None

    @property
    def total(self) -> int | None:
        """Of all buckets; ``None`` where one of them is not known."""
        return added(
            self.input_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.output_tokens,
            self.reasoning_tokens,
        )

    @classmethod
    def none(cls) -> TokenUsage:
        """Known to be nothing."""
        return cls(input_tokens=0, cache_read_tokens=0, cache_write_tokens=0, output_tokens=0, reasoning_tokens=0)

    def plus(self, more: TokenUsage) -> TokenUsage:
        """Of both together, bucket by bucket."""
        return TokenUsage(
            input_tokens=added(self.input_tokens, more.input_tokens),
            cache_read_tokens=added(self.cache_read_tokens, more.cache_read_tokens),
            cache_write_tokens=added(self.cache_write_tokens, more.cache_write_tokens),
            output_tokens=added(self.output_tokens, more.output_tokens),
            reasoning_tokens=added(self.reasoning_tokens, more.reasoning_tokens),
        )


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a model answered. ``parts``: text, reasoning, tool calls and opaque parts, in order."""

    model: str
    """As the provider says that it is named."""
    parts: Sequence[Part]
    finish: Finish
    usage: TokenUsage
    id: str = ""

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """What it wants run, in order."""
        return [part for part in self.parts if isinstance(part, ToolCall)]
