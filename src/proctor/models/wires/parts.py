"""What the conversations of several wires share: pictures as addresses, arguments as JSON, turns as they are read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from proctor.kernel.canonical import Json
from proctor.kernel.errors import ProctorError
from proctor.models.conversation import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult
from proctor.models.errors import RequestInvalid
from proctor.models.wires.fields import parsed
from proctor.models.wires.interfaces import WireName

__all__ = [
    "THINKING",
    "Turns",
    "address",
    "arguments_text",
    "own",
    "picture",
    "sampled",
    "split_results",
    "texts_only",
    "tool_call",
    "unspeakable",
]

THINKING: frozenset[str] = frozenset({"minimal", "low", "medium", "high"})
"""The levels of ``ChatRequest.thinking``; what else a provider has is passed on as sampling."""


def address(image: Image, where: str) -> str:
    """A picture's address; one that is given by its bytes is a ``data:`` address."""
    if image.data:
        return f"data:{image.media_type};base64,{image.data}"
    if not image.url:
        raise RequestInvalid("A picture needs its bytes or an address.", where=where)
    return image.url


def picture(url: str) -> Image:
    """The reverse of ``address``."""
    head, mark, data = url.partition(";base64,")
    if head.startswith("data:") and mark:
        return Image(media_type=head.removeprefix("data:"), data=data)
    return Image(url=url)


def arguments_text(call: ToolCall) -> str:
    """A call's arguments as the text that OpenAI's wires have for them."""
    return call.malformed or json.dumps(dict(call.arguments), ensure_ascii=False)


def tool_call(id: str, name: str, arguments: str) -> ToolCall:
    """The reverse; no text at all stands for no arguments."""
    value = parsed(arguments) if arguments.strip() else {}
    if isinstance(value, dict):
        return ToolCall(id=id, name=name, arguments=value)
    return ToolCall(id=id, name=name, arguments={}, malformed=arguments)


def split_results(parts: Sequence[Part]) -> tuple[list[ToolResult], list[Part]]:
    """A user's parts: what tools gave, which has to follow its calls at once, and the rest."""
    results = [part for part in parts if isinstance(part, ToolResult)]
    return results, [part for part in parts if not isinstance(part, ToolResult)]


def texts_only(parts: Sequence[Part], where: str) -> list[str]:
    """The texts of a message that can have nothing else."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    if len(texts) != len(parts):
        raise RequestInvalid("It can hold nothing but text.", where=where)
    return texts


def own(part: Part, wire: WireName) -> bool:
    """Whether it is an opaque part of this wire."""
    return isinstance(part, Opaque) and part.wire == wire


def unspeakable(part: Part, where: str) -> ProctorError:
    """The error of a part that can't be said in this place."""
    return RequestInvalid(f"This wire can't say a {type(part).__name__} here.", where=where)


def sampled(sampling: Mapping[str, Json], taken: Iterable[str]) -> dict[str, Json]:
    """What a request passes on by name, where no name is one that the request has a field for."""
    for name in taken:
        if name in sampling:
            raise RequestInvalid("The request says this in a field of its own.", where=f"sampling.{name}")
    return dict(sampling)


class Turns:
    """The messages of a request as they are read, one by one."""

    def __init__(self) -> None:
        self._turns: list[tuple[Role, list[Part]]] = []
        self._joining = ""
        self._names: dict[str, str] = {}

    def add(self, role: Role, parts: Iterable[Part], *, joining: str = "") -> None:
        """A message; one that is ``joining`` what the one before it joined becomes a part of that."""
        if not joining or joining != self._joining:
            self._turns.append((role, []))
        self._joining = joining
        for part in parts:
            self._turns[-1][1].append(part)
            if isinstance(part, ToolCall):
                self._names[part.id] = part.name

    def result(self, call_id: str, content: str, *, is_error: bool = False) -> ToolResult:
        """What a tool gave; its name is the one that was called."""
        return ToolResult(call_id=call_id, name=self._names.get(call_id, ""), content=content, is_error=is_error)

    def messages(self) -> list[Message]:
        """All of them."""
        return [Message(role=role, parts=parts) for role, parts in self._turns]
