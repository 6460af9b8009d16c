"""What the readers of other tools' exports share: whole JSON documents, lists inside them, and rows with a meaning."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proctor.datasets.errors import SourceInvalid
from proctor.datasets.fields import FieldInvalid, Raw
from proctor.datasets.formats.json_rows import json_rows
from proctor.datasets.formats.rows import Row

__all__ = ["document_of", "is_csv", "listed", "meant", "numbered", "object_or_named"]

DOCUMENT_BYTES: int = 64 << 20
"""Of one JSON document that is held whole; larger exports come as JSONL or CSV."""


def is_csv(path: Path) -> bool:
    """Whether its name says that it is CSV."""
    return path.suffix.lower() == ".csv"


def meant(rows: Iterator[Row], meaning: Callable[[Mapping[str, Any]], Raw]) -> Iterator[Row]:
    """Rows as ``meaning`` has them; what it refuses is a malformed row."""
    for row in rows:
        if isinstance(row.raw, FieldInvalid):
            yield row
            continue
        try:
            yield Row(row.number, meaning(row.raw))
        except FieldInvalid as error:
            yield Row(row.number, error)


def listed(path: Path, *places: Sequence[str]) -> Iterator[Row]:
    """Rows of an array or of lines; of one document, those of the list at the first place that has one."""
    document = document_of(path)
    for names in places if document is not None else ():
        found: Any = document
        for name in names:
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, list):
            return numbered(found)
    return json_rows(path)


def document_of(path: Path) -> Mapping[str, Any] | None:
    """The object that is all of a file; ``None`` where it begins otherwise or goes on after it.

    Raises ``SourceInvalid``.
    """
    try:
        with path.open("rb") as file:
            begins = file.read(1)
            if begins != b"{":
                return None
            text = begins + file.read(DOCUMENT_BYTES)
    except OSError as error:
        raise SourceInvalid(f"It can't be read: {error.strerror}.", where=str(path)) from error
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def numbered(values: Sequence[object]) -> Iterator[Row]:
    """Objects of a list, counted from 1."""
    for number, value in enumerate(values, 1):
        yield Row(number, value if isinstance(value, dict) else FieldInvalid("", "it is no JSON object"))


def object_or_named(value: Any) -> Any:
    """Metadata, which may be any JSON elsewhere and is an object here."""
    return value if value is None or isinstance(value, Mapping) else {"metadata": value}
