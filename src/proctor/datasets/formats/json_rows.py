"""Rows of JSON: one object a line, or one array of objects, read without holding the whole of it."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from proctor.datasets.errors import SourceInvalid
from proctor.datasets.fields import ROW_BYTES, FieldInvalid, Raw
from proctor.datasets.formats.rows import Row, bounded_lines, no_utf8, opened

__all__ = ["array_rows", "json_rows", "line_rows", "object_of"]

_PIECE: int = 1 << 20
_SPACE = " \t\r\n"


def line_rows(path: Path) -> Iterator[Row]:
    """An object a line; a row's number is its line's, and empty lines are none. Raises ``SourceInvalid``."""
    with opened(path) as file:
        for number, line in enumerate(bounded_lines(file, str(path)), 1):
            if line.strip():
                yield Row(number, object_of(line))


def array_rows(path: Path) -> Iterator[Row]:
    """The objects of one array, counted from 1. Raises ``SourceInvalid`` for what is no such array."""
    with opened(path) as file:
        for number, value in enumerate(_Array(file, path).values(), 1):
            yield Row(number, value if isinstance(value, dict) else FieldInvalid("", "it is no JSON object"))


def json_rows(path: Path) -> Iterator[Row]:
    """An array where the file begins with one, else an object a line."""
    with opened(path) as file:
        begins = file.read(_PIECE).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return array_rows(path) if begins == b"[" else line_rows(path)


def object_of(line: bytes) -> Raw | FieldInvalid:
    """A line's object, or why it is none."""
    try:
        value = _DECODER.decode(line.decode())
    except RecursionError:
        return FieldInvalid("", "it is nested too deeply")
    except UnicodeDecodeError:
        return FieldInvalid("", "it is not UTF-8")
    except json.JSONDecodeError as error:
        return FieldInvalid("", f"it is no JSON from its character {error.pos + 1:,} on: {error.msg}")
    except ValueError as error:
        return FieldInvalid("", f"it is no JSON: {error}")
    return value if isinstance(value, dict) else FieldInvalid("", "it is no JSON object")


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is no number")


_DECODER = json.JSONDecoder(parse_constant=_no_number)
"""Made once: making one takes as long as reading a line with it."""


class _Array:
    """The values of an array one after the other; what was read of it is let go."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text, self._at, self._ended = "", 0, False

    def values(self) -> Iterator[object]:
        """Each once it is whole. Raises ``SourceInvalid``."""
        self._take("[")
        if self._next() == "]":
            return
        number = 0
        while True:
            number += 1
            yield self._value(number)
            if self._next() == "]":
                return
            self._take(",")

    def _take(self, wanted: str) -> None:
        if self._next() != wanted:
            raise SourceInvalid("It is no JSON array of objects.", where=str(self._path))
        self._at += 1

    def _next(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _value(self, number: int) -> object:
        self._next()
        wanted = _PIECE
        while True:
            if self._ended or len(self._text) - self._at >= wanted:
                try:
                    value, end = _DECODER.raw_decode(self._text, self._at)
                except (ValueError, RecursionError) as error:
                    if self._ended or len(self._text) - self._at > ROW_BYTES:
                        raise SourceInvalid(
                            f"Value {number:,} can't be read: {error}.", where=str(self._path)
                        ) from None
                    wanted *= 2
                else:
                    self._at = end
                    return value
            self._more()

    def _more(self) -> bool:
        """Whether there was more of the file."""
        piece = self._file.read(_PIECE)
        try:
            text = self._decode(piece, not piece)
        except UnicodeDecodeError as error:
            raise no_utf8(str(self._path)) from error
        self._text, self._at = self._text[self._at :] + text, 0
        self._ended = not piece
        return bool(piece)
