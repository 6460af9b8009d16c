"""Every format by its name, and which one a file has where its name or folder says so for sure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from proctor.datasets.errors import FormatUnclear, SourceInvalid
from proctor.datasets.formats.arrow_rows import DICT_FILE, STATE_FILE, hugging_face_rows, parquet_rows
from proctor.datasets.formats.csv_rows import csv_rows
from proctor.datasets.formats.exports import inspect_rows, langfuse_rows, phoenix_rows
from proctor.datasets.formats.json_rows import line_rows
from proctor.datasets.formats.promptfoo import promptfoo_rows
from proctor.datasets.formats.rows import Row

__all__ = ["Format", "found_format", "rows_of"]


class Format(StrEnum):
    """What is read."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    HF = "hf"
    """A folder that Hugging Face's ``save_to_disk`` wrote."""
    INSPECT = "inspect"
    LANGFUSE = "langfuse"
    PHOENIX = "phoenix"
    PROMPTFOO = "promptfoo"


_BY_SUFFIX: Mapping[str, Format] = {
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
}
"""A ``.json`` may be of any tool, so none is assumed."""
_FOLDERS: frozenset[Format] = frozenset({Format.HF, Format.PARQUET})
_READERS: Mapping[Format, Callable[[Path], Iterator[Row]]] = {
    Format.JSONL: line_rows,
    Format.CSV: csv_rows,
    Format.PARQUET: parquet_rows,
    Format.HF: hugging_face_rows,
    Format.INSPECT: inspect_rows,
    Format.LANGFUSE: langfuse_rows,
    Format.PHOENIX: phoenix_rows,
    Format.PROMPTFOO: promptfoo_rows,
}


def found_format(path: Path, wanted: Format | None) -> Format:
    """The format that is wanted, else what the file's name or the folder's files say.

    Raises ``FormatUnclear``, and ``SourceInvalid`` where the path is nothing that such a format is read from.
    """
    if not path.exists():
        raise SourceInvalid("There is no such file or folder.", where=str(path))
    found = wanted or (_of_folder(path) if path.is_dir() else _BY_SUFFIX.get(path.suffix.lower()))
    if found is None:
        raise FormatUnclear(where=str(path))
    if path.is_dir() and found not in _FOLDERS:
        raise SourceInvalid(f"It is a folder; {found.value} is read from a file.", where=str(path))
    if found is Format.HF and not path.is_dir():
        raise SourceInvalid("It is a file; hf is read from the folder that save_to_disk wrote.", where=str(path))
    return found


def rows_of(path: Path, kind: Format) -> Iterator[Row]:
    """The rows of a file or folder, one after the other. Raises ``SourceInvalid`` on the way."""
    return _READERS[kind](path)


def _of_folder(path: Path) -> Format | None:
    if any((path / name).is_file() for name in (STATE_FILE, DICT_FILE)):
        return Format.HF
    return Format.PARQUET if next(path.glob("*.parquet"), None) is not None else None
