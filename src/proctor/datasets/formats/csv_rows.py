"""Rows of a CSV file (RFC 4180) with a header; an empty cell says nothing."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from proctor.datasets.errors import SourceInvalid
from proctor.datasets.fields import ROW_BYTES, FieldInvalid, Raw
from proctor.datasets.formats.rows import Row, bounded_lines, no_utf8, opened

__all__ = ["csv_rows", "read_cells"]

COLUMNS: int = 1000
"""Of one file; what has more is a matrix and no list of examples."""
_JSON: frozenset[str] = frozenset({"tags", "embedding", "metadata"})
"""Columns whose cells are JSON; ``tags`` may also be words with commas between."""
_OTHER_SEPARATORS: Mapping[str, str] = {";": "semicolons", "\t": "tabs", "|": "bars (|)"}
"""What spreadsheets and databases write instead: found in the one name of a header, it is no part of that name."""
_BARE_CR: str = "new-line character seen in unquoted field"
"""How the reader's reason begins; what it goes on with is advice to a programmer."""

csv.field_size_limit(ROW_BYTES)  # one number for all of a process; nobody else here reads CSV


def csv_rows(path: Path, meaning: Callable[[Mapping[str, str]], Raw] | None = None) -> Iterator[Row]:
    """Rows after the header, counted from 1. ``meaning``: of the cells that say something, by the header's names.

    Raises ``SourceInvalid`` for a file that is none.
    """
    with opened(path) as file:
        reader = csv.reader((line.decode() for line in bounded_lines(file, str(path))), strict=True)
        try:
            header = _header(next(reader, []), path)
            for number, cells in enumerate((one for one in reader if one), 1):
                yield Row(number, _raw(header, cells, meaning or read_cells))
        except UnicodeDecodeError as error:
            raise no_utf8(str(path), f", after line {reader.line_num:,}") from error
        except csv.Error as error:
            raise _no_csv(reader.line_num, str(error), path) from error


def read_cells(cells: Mapping[str, str]) -> Raw:
    """Cells as texts, but for those that are JSON. Raises ``FieldInvalid``."""
    return {name: _json_cell(name, text) if name in _JSON else text for name, text in cells.items()}


def _no_csv(line: int, reason: str, path: Path) -> SourceInvalid:
    if not reason.startswith(_BARE_CR):
        return SourceInvalid(f"Line {line:,} is no CSV: {reason}.", where=str(path))
    told = f"Line {line:,} ends in CR, or has one outside of quotes; lines have to end in LF or CRLF."
    remedy = "Save it with lines that end in LF or CRLF and import it again. Nothing was imported."
    return SourceInvalid(told, where=str(path), remedy=remedy)


def _header(names: Sequence[str], path: Path) -> Sequence[str]:
    separators = [word for sign, word in _OTHER_SEPARATORS.items() if len(names) == 1 and sign in names[0]]
    if separators:
        told = f"Its cells are separated by {separators[0]}; commas are read."
        remedy = "Save it with commas between the cells and import it again. Nothing was imported."
        raise SourceInvalid(told, where=str(path), remedy=remedy)
    if not names or len(set(names)) < len(names) or len(names) > COLUMNS:
        what = f"It must begin with a header: names of columns, each once, at most {COLUMNS:,}."
        raise SourceInvalid(what, where=str(path))
    return names


def _raw(
    header: Sequence[str], cells: Sequence[str], meaning: Callable[[Mapping[str, str]], Raw]
) -> Raw | FieldInvalid:
    if len(cells) != len(header):
        return FieldInvalid("", f"it has {len(cells):,} cells and the header {len(header):,}")
    try:
        return meaning({name: text for name, text in zip(header, cells, strict=True) if text})
    except FieldInvalid as error:
        return error


def _json_cell(name: str, text: str) -> object:
    if name == "tags" and not text.lstrip().startswith("["):
        return [tag.strip() for tag in text.split(",") if tag.strip()]
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FieldInvalid(name, "the cell must be JSON") from error
