"""Exports of other tools, each with the names it gives to what an example has, brought to the names of a row of ours.

Field names are those of Inspect's ``Sample``, of Langfuse's dataset items (public API and CSV export), and of Phoenix's
``/v1/datasets/{id}/examples``, ``/csv`` and its client's ``Dataset``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from proctor.datasets.fields import FieldInvalid, Raw
from proctor.datasets.formats.csv_rows import csv_rows
from proctor.datasets.formats.documents import document_of, is_csv, listed, meant, numbered, object_or_named
from proctor.datasets.formats.json_rows import json_rows
from proctor.datasets.formats.rows import Row

__all__ = ["inspect_rows", "langfuse_rows", "phoenix_rows"]

_VOLATILE: frozenset[str] = frozenset(
    {"datasetId", "datasetName", "createdAt", "updatedAt", "version", "mediaReferences", "htmlSourcePath"}
)
"""Of a Langfuse item: says nothing of the example, and would make each export another version."""
_VALUES: frozenset[str] = frozenset({"input", "expectedOutput", "metadata"})
"""Of a Langfuse item: any JSON. Its CSV quoted texts in them once, and now has them as they are."""
_JSON_TEXTS: tuple[str, ...] = ("metadata", "files")
"""Of an Inspect sample: objects that a text may stand for, in a CSV's cell or in JSON."""


def inspect_rows(path: Path) -> Iterator[Row]:
    """Samples of Inspect as JSONL, a JSON array, one JSON object or CSV, read as Inspect reads them.

    ``target`` is what is expected, always as text or a list of texts; ``choices`` and the rest go to metadata.
    """
    if is_csv(path):
        return meant(csv_rows(path), _of_inspect)
    document = document_of(path)
    return meant(json_rows(path) if document is None else numbered([document]), _of_inspect)


def langfuse_rows(path: Path) -> Iterator[Row]:
    """Dataset items of Langfuse as JSONL, a JSON array, CSV, or a page of its API (``data``)."""
    rows = csv_rows(path, _langfuse_cells) if is_csv(path) else listed(path, ("data",))
    return meant(rows, _of_langfuse)


def phoenix_rows(path: Path) -> Iterator[Row]:
    """Examples of Phoenix: the answer of its API (``data.examples``), its client's dataset, JSONL, or its CSV."""
    if is_csv(path):
        return csv_rows(path, _of_phoenix_cells)
    return meant(listed(path, ("data", "examples"), ("examples",)), _of_phoenix)


def _of_inspect(raw: Mapping[str, Any]) -> Raw:
    named = {"expected" if name == "target" else name: value for name, value in raw.items()}
    named["expected"] = _target(named.get("expected"))
    for name in _JSON_TEXTS:
        named[name] = _parsed(name, named.get(name))
    named["choices"] = _choices(named.get("choices"))
    sandbox = named.get("sandbox")
    if isinstance(sandbox, str) and sandbox.lstrip().startswith("["):
        named["sandbox"] = _parsed("sandbox", sandbox)
    return {name: value for name, value in named.items() if value is not None}


def _target(value: Any) -> Any:
    """Text, or a list of texts; an object is none to Inspect either, and is left as it is."""
    if isinstance(value, list):
        return [str(one) for one in value]
    return str(value) if isinstance(value, bool | int | float) else value


def _parsed(name: str, value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise FieldInvalid(name, "it must be JSON") from error


def _choices(value: Any) -> list[str] | None:
    """A list, or a text with commas or else spaces between; empty ones are none."""
    if value is None:
        return None
    if isinstance(value, str):
        value = value.split(",") if "," in value else value.split()
        return [one.strip() for one in value if one.strip()]
    return [str(one) for one in value if str(one).strip()] if isinstance(value, list) else [str(value)]


def _of_langfuse(raw: Mapping[str, Any]) -> Raw:
    named = {name: value for name, value in raw.items() if name not in {*_VOLATILE, "expectedOutput", "metadata"}}
    return {**named, "expected": raw.get("expectedOutput"), "metadata": object_or_named(raw.get("metadata"))}


def _langfuse_cells(cells: Mapping[str, str]) -> Raw:
    """What may be any JSON as its value; ids and words are text, whatever they look like."""
    return {name: _value(text, '{["') if name in _VALUES else text for name, text in cells.items()}


def _value(text: str, begins: str) -> object:
    """The JSON of a cell that begins with one of these; a number stays text, for a text looks the same in a cell."""
    if text[:1] not in begins:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _of_phoenix(raw: Mapping[str, Any]) -> Raw:
    """``example_id`` is what its client's data frames call the id."""
    return {
        "id": raw.get("id") or raw.get("example_id"),
        "input": raw.get("input"),
        "expected": raw.get("output") or None,
        "metadata": object_or_named(raw.get("metadata")),
    }


def _of_phoenix_cells(cells: Mapping[str, str]) -> Raw:
    """``example_id``, ``input_KEY``, ``output_KEY``, ``metadata_KEY``; or with a dot, and ``id``.

    Objects and lists in a cell are JSON; numbers and truth values are texts, as its CSV has made them.
    """
    parts: dict[str, dict[str, object]] = {"input": {}, "output": {}, "metadata": {}}
    for name, text in cells.items():
        for part, values in parts.items():
            if name.startswith((f"{part}_", f"{part}.")):
                values[name[len(part) + 1 :]] = _value(text, "{[")
    identity = cells.get("id") or cells.get("example_id")
    found = {"id": identity, "input": parts["input"], "expected": parts["output"], "metadata": parts["metadata"]}
    return {name: value for name, value in found.items() if value}
