"""New labels from a file, for ``Relabel``."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from pydantic import JsonValue

from proctor.datasets.derivations import LABELS
from proctor.datasets.errors import RelabelInvalid
from proctor.datasets.fields import FieldInvalid
from proctor.datasets.formats.catalogue import Format, found_format, rows_of

__all__ = ["read_labels"]


def read_labels(path: Path) -> list[dict[str, JsonValue]]:
    """An id and the fields to replace, for each row of a JSONL or CSV file.

    Raises ``RelabelInvalid``, ``SourceInvalid``, ``FormatUnclear``.
    """
    kind = found_format(path, None)
    if kind not in (Format.JSONL, Format.CSV):
        raise RelabelInvalid("It is neither JSONL nor CSV.", where=str(path))
    found: list[dict[str, JsonValue]] = []
    for number, raw in rows_of(path, kind):
        if isinstance(raw, FieldInvalid):
            raise RelabelInvalid(f"Row {number:,}: {raw}.", where=str(path))
        found.append(cast("dict[str, JsonValue]", dict(raw)))
        if len(found) > LABELS:
            raise RelabelInvalid(
                f"It has more than {LABELS:,} labels.", where=str(path), remedy="Import a whole version."
            )
    if not found:
        raise RelabelInvalid("It has no label.", where=str(path))
    return found
