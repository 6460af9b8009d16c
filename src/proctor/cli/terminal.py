"""What untrusted programs printed, shown on a terminal: never as orders to it."""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderResult

__all__ = ["Calming", "calm", "pass_on", "piecewise"]


def calm(text: str) -> str:
    """Text with a question mark for each character that a terminal would obey rather than show."""
    return "".join(char if char in "\n\t" or char.isprintable() else "?" for char in text.replace("\r\n", "\n"))


def pass_on(text: str) -> None:
    """Write other people's text to standard output: calmed on a terminal, as it is into a file or pipe."""
    if sys.stdout.isatty():
        sys.stdout.write(calm(text))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()


def piecewise(target: TextIO) -> Callable[[bytes], None]:
    """The same for bytes that come in pieces."""
    decoder = getincrementaldecoder("utf-8")("replace")

    def write(data: bytes) -> None:
        if target.isatty():
            target.write(calm(decoder.decode(data)))
        else:
            target.buffer.write(data)
        target.flush()

    return write


class Calming:
    """A hook of a console: the words of whatever it prints are calmed, its own colours and movements are not."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Each renderable with its text calmed."""
        return [_Calmed(one) for one in renderables]


@dataclass(frozen=True)
class _Calmed:
    what: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment

        for segment in console.render(self.what, options):
            calmed = segment.control or segment.text.isprintable()
            yield segment if calmed else Segment(calm(segment.text), segment.style)
