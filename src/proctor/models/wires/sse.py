"""Server-sent events (the WHATWG's ``text/event-stream``) in pieces cut anywhere, and how a stream is metered."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

from proctor.kernel.canonical import Json
from proctor.models.wires.fields import encoded, glanced
from proctor.models.wires.interfaces import Reading

__all__ = ["EVENT_BYTES", "EventMeter", "Events", "event", "pieces"]

EVENT_BYTES: int = 16 << 20
"""Of one event that is read; a longer one is passed over. Images that models draw come in events of a few MiB."""
_PIECE_CHARS: int = 24
"""Of a text in one event of a stream that we write: about what providers send at once."""


class Events:
    """Splits a stream into the data of its events. Holds no more than ``EVENT_BYTES`` and a piece."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._searched = 0
        self._after_return = False
        self._passing_over = False

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of each event that this piece completes, in order; events without data are left out."""
        self._kept += self._with_newlines(piece)
        found: list[bytes] = []
        if self._kept.find(b"\n\n", self._searched) >= 0:
            *events, rest = bytes(self._kept).split(b"\n\n")
            if self._passing_over:
                del events[0]
            found = [data for event in events if len(event) <= EVENT_BYTES and (data := _data(event))]
            self._kept, self._passing_over = bytearray(rest), False
        if len(self._kept) > EVENT_BYTES:
            del self._kept[:-1]
            self._passing_over = True
        self._searched = max(0, len(self._kept) - 1)
        return found

    def is_whole(self, piece: bytes) -> bool:
        """Whether a piece begins and ends between events, so that it may be left out."""
        return piece.endswith(b"\n\n") and not (self._kept or self._after_return or self._passing_over)

    def _with_newlines(self, piece: bytes) -> bytes:
        """Every end of a line as one ``\\n``, also where its two bytes come in two pieces."""
        if self._after_return and piece:
            self._after_return = False
            piece = piece.removeprefix(b"\n")
        if b"\r" not in piece:
            return piece
        self._after_return = piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _data(event: bytes) -> bytes:
    if b"\n" not in event:
        return event[5:].removeprefix(b" ") if event.startswith(b"data:") else b""
    lines = event.split(b"\n")
    return b"\n".join([line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")])


class EventMeter(ABC):
    """Meters a stream whose events are JSON objects: those that ``matters`` finds are parsed, the others passed over.

    It runs on every byte that a model streams to an agent. A pattern over JSON in bytes is safe: within a string the
    quotes of what looks like a key are escaped.
    """

    matters: ClassVar[re.Pattern[bytes]]

    def __init__(self) -> None:
        self.known = Reading()
        self._events = Events()

    def feed(self, piece: bytes) -> None:
        """Another piece; until the model is known every event is parsed."""
        if self.known.model and self._events.is_whole(piece) and not self.matters.search(piece):
            return
        for data in self._events.feed(piece):
            if self.known.model and not self.matters.search(data):
                continue
            body = glanced(data)
            if isinstance(body, dict):
                self.read(body)

    def reading(self) -> Reading:
        """What is known so far."""
        return self.known

    @abstractmethod
    def read(self, body: Mapping[str, Json]) -> None:
        """One event, into ``known``. Never raises."""

    def names(self, model: str, id: str = "", fingerprint: str = "") -> None:
        """Who answers; what an event does not say stays as it was."""
        known = self.known
        known.model, known.id = model or known.model, id or known.id
        known.fingerprint = fingerprint or known.fingerprint


def event(body: Json, name: str = "") -> bytes:
    """One event as a server sends it; ``name``: its type, on wires that name it."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + encoded(body) + b"\n\n"


def pieces(text: str) -> Iterator[str]:
    """A text in the pieces in which it is streamed."""
    for start in range(0, len(text), _PIECE_CHARS):
        yield text[start : start + _PIECE_CHARS]
