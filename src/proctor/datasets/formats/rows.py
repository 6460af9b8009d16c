"""What every format yields, and lines of files that can't be trusted to have ends."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from proctor.datasets.errors import SourceInvalid
from proctor.datasets.fields import ROW_BYTES, FieldInvalid, Raw

__all__ = ["Row", "bounded_lines", "no_utf8", "opened"]

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Of little-endian UTF-32 the mark begins as UTF-16's."""


class Row(NamedTuple):
    """One row. ``number``: as its format counts, from 1; ``raw``: what it says, or why it can't be read."""

    number: int
    raw: Raw | FieldInvalid


def opened(path: Path) -> BinaryIO:
    """A file to read. Raises ``SourceInvalid``."""
    try:
        return path.open("rb")
    except OSError as error:
        raise SourceInvalid(f"It can't be read: {error.strerror}.", where=str(path)) from error


def no_utf8(name: str, place: str = "") -> SourceInvalid:
    """What a text of another encoding is refused with. ``place``: where that was seen, as ``, after line 7``."""
    remedy = "Save it as UTF-8 (a spreadsheet calls it CSV UTF-8) and import it again. Nothing was imported."
    return SourceInvalid(f"It is not UTF-8{place}.", where=name, remedy=remedy)


def bounded_lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Its lines with their ends, without a byte order mark.

    Raises ``SourceInvalid`` for one that is too long, and for the mark of another encoding.
    """
    number = 0
    while line := file.readline(ROW_BYTES + 2):
        number += 1
        if number == 1 and line.startswith(_OTHER_BOMS):
            raise no_utf8(name)
        if len(line) > ROW_BYTES + 1:
            raise SourceInvalid(f"Line {number:,} is longer than {ROW_BYTES >> 20} MiB.", where=name)
        yield line.removeprefix(_BOM) if number == 1 else line
