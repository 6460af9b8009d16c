"""JSON written piece by piece, so that a document may be longer than memory; ASCII, so without what terminals obey."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from proctor.kernel.canonical import Json

__all__ = ["array", "document", "members", "write_chunks", "write_json"]


def document(value: Json) -> Iterator[str]:
    """A whole value. Raises ValueError for NaN and infinity, which JSON has not."""
    yield json.dumps(value, allow_nan=False)


def members(pairs: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """An object of names with the pieces of each value."""
    yield "{"
    for number, (name, chunks) in enumerate(pairs):
        yield f"{',' if number else ''}\n{json.dumps(name)}: "
        yield from chunks
    yield "}"


def array(texts: Iterable[str]) -> Iterator[str]:
    """An array of whole values."""
    yield "["
    for number, text in enumerate(texts):
        yield f"{',' if number else ''}\n{text}"
    yield "]"


def write_chunks(path: Path, chunks: Iterable[str]) -> None:
    """A new file of these pieces."""
    with path.open("x", encoding="ascii") as file:
        file.writelines(chunks)
        file.write("\n")


def write_json(path: Path, value: Json) -> None:
    """A new file of one value, indented for a reader as Harbor's are."""
    with path.open("x", encoding="ascii") as file:
        json.dump(value, file, indent=4, allow_nan=False)
        file.write("\n")
