"""The last event of a stream on OpenAI's chat wire, which tells the usage: a caller that did not ask gets none.

We always ask, to count; a program that reads ``choices[0]`` of each event would break over one without any.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from proctor.kernel.canonical import Json
from proctor.models.wires.interfaces import WireName

__all__ = ["UsageHider", "asked_for_usage"]

LONGEST_HELD: int = 1024 * 1024
"""Bytes of an event that are held until it is whole; one that is longer tells no usage."""


def asked_for_usage(wire: WireName, body: Mapping[str, Json]) -> bool:
    """Whether a caller gets what the provider says of usage, as it comes."""
    options = body.get("stream_options")
    return wire is not WireName.OPENAI_CHAT or (isinstance(options, Mapping) and options.get("include_usage") is True)


class UsageHider:
    """Lets whole events through but those that tell nothing but usage."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """What may pass of what has come."""
        held = self._held + piece
        end = max((held.rfind(mark) + len(mark) for mark in (b"\n\n", b"\r\n\r\n") if mark in held), default=0)
        whole, self._held = held[:end], held[end:]
        if len(self._held) > LONGEST_HELD:
            whole, self._held = held, b""
        return whole if b'"usage"' not in whole else _without_usage(whole)

    def finish(self) -> bytes:
        """What is left."""
        held, self._held = self._held, b""
        return _without_usage(held)


def _without_usage(whole: bytes) -> bytes:
    events = whole.replace(b"\r\n", b"\n").split(b"\n\n")
    return b"\n\n".join(event for event in events if not _tells_usage_alone(event))


def _tells_usage_alone(event: bytes) -> bool:
    if b'"usage"' not in event or not event.startswith(b"data:"):
        return False
    try:
        body = json.loads(event[5:])
    except (ValueError, RecursionError):
        return False
    return isinstance(body, dict) and body.get("choices") == [] and isinstance(body.get("usage"), dict)
