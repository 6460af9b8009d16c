"""Exports of other tools, each brought to the names of a row of ours.

Field names are those of Inspect's ``Sample``, of Langfuse's dataset items (public API and CSV export), of Phoenix's
``/v1/datasets/{id}/examples`` and ``/csv``, and of promptfoo's test cases (CSV, JSON and the JSON of an evaluation).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proctor.datasets.errors import SourceInvalid
from proctor.datasets.fields import FieldInvalid, Raw
from proctor.datasets.formats.csv_rows import csv_rows
from proctor.datasets.formats.json_rows import json_rows
from proctor.datasets.formats.rows import Row

__all__ = ["inspect_rows", "langfuse_rows", "phoenix_rows", "promptfoo_rows"]

DOCUMENT_BYTES: int = 64 << 20
"""Of one JSON document that is held whole; larger exports come as JSONL or CSV."""
_VOLATILE: frozenset[str] = frozenset({"datasetId", "datasetName", "createdAt", "updatedAt", "mediaReferences"})
"""Of a Langfuse item: says nothing of the example, and would make each export another version."""


def inspect_rows(path: Path) -> Iterator[Row]:
    """Samples of Inspect as JSONL, a JSON array or CSV: ``target`` is what is expected, ``choices`` go to metadata."""
    rows = csv_rows(path) if _is_csv(path) else json_rows(path)
    return _meaning(rows, _of_inspect)


def langfuse_rows(path: Path) -> Iterator[Row]:
    """Dataset items of Langfuse as JSONL, a JSON array, CSV, or a page of its API (``data``)."""
    rows = csv_rows(path, _json_cells) if _is_csv(path) else _listed(path, ("data",))
    return _meaning(rows, _of_langfuse)


def phoenix_rows(path: Path) -> Iterator[Row]:
    """Examples of Phoenix: the answer of its API (``data.examples``), JSONL, or its CSV download."""
    if _is_csv(path):
        return csv_rows(path, _of_phoenix_cells)
    return _meaning(_listed(path, ("data", "examples")), _of_phoenix)


def promptfoo_rows(path: Path) -> Iterator[Row]:
    """Test cases of promptfoo: CSV, JSONL, a JSON array, a configuration's ``tests``, or an evaluation's results."""
    if _is_csv(path):
        return csv_rows(path, _of_promptfoo_cells)
    return _meaning(_promptfoo_tests(path), _of_promptfoo)


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _meaning(rows: Iterator[Row], meaning: Callable[[Mapping[str, Any]], Raw]) -> Iterator[Row]:
    for row in rows:
        if isinstance(row.raw, FieldInvalid):
            yield row
            continue
        try:
            yield Row(row.number, meaning(row.raw))
        except FieldInvalid as error:
            yield Row(row.number, error)


def _listed(path: Path, places: Sequence[str]) -> Iterator[Row]:
    """Rows of an array or of lines; of one document, those of the list at that place in it."""
    document = _document(path)
    if document is None:
        return json_rows(path)
    found: Any = document
    for name in places:
        found = found.get(name) if isinstance(found, Mapping) else None
    return _numbered(found) if isinstance(found, list) else json_rows(path)


def _document(path: Path) -> Mapping[str, Any] | None:
    """The object that is all of a file; ``None`` where it begins otherwise or goes on after it."""
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


def _numbered(values: Sequence[object]) -> Iterator[Row]:
    for number, value in enumerate(values, 1):
        yield Row(number, value if isinstance(value, dict) else FieldInvalid("", "it is no JSON object"))


def _of_inspect(raw: Mapping[str, Any]) -> Raw:
    return {"expected" if name == "target" else name: value for name, value in raw.items()}


def _of_langfuse(raw: Mapping[str, Any]) -> Raw:
    named = {name: value for name, value in raw.items() if name not in {*_VOLATILE, "expectedOutput", "metadata"}}
    return {**named, "expected": raw.get("expectedOutput"), "metadata": _object(raw.get("metadata"))}


def _object(value: Any) -> Any:
    """Metadata, which may be any JSON there and is an object here."""
    return value if value is None or isinstance(value, Mapping) else {"metadata": value}


def _json_cells(cells: Mapping[str, str]) -> Raw:
    """Cells that are JSON as their values; an id is text, whatever it looks like."""
    return {name: text if name == "id" else _json_or_text(text) for name, text in cells.items()}


def _json_or_text(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _of_phoenix(raw: Mapping[str, Any]) -> Raw:
    return {
        "id": raw.get("id"),
        "input": raw.get("input"),
        "expected": raw.get("output") or None,
        "metadata": _object(raw.get("metadata")),
    }


def _of_phoenix_cells(cells: Mapping[str, str]) -> Raw:
    """``example_id``, ``input_KEY``, ``output_KEY``, ``metadata_KEY``; or with a dot, and ``id``."""
    parts: dict[str, dict[str, object]] = {"input": {}, "output": {}, "metadata": {}}
    for name, text in cells.items():
        for part, values in parts.items():
            if name.startswith((f"{part}_", f"{part}.")):
                values[name[len(part) + 1 :]] = text
    identity = cells.get("id") or cells.get("example_id")
    found = {"id": identity, "input": parts["input"], "expected": parts["output"], "metadata": parts["metadata"]}
    return {name: value for name, value in found.items() if value}


def _promptfoo_tests(path: Path) -> Iterator[Row]:
    document = _document(path)
    if document is None or "vars" in document:
        return json_rows(path)
    if isinstance(document.get("tests"), list):
        return _numbered(document["tests"])
    results = document.get("results")
    rows = results.get("results") if isinstance(results, Mapping) else None
    if not isinstance(rows, list):
        what = "It has neither `tests` nor `results.results`, as promptfoo writes them."
        raise SourceInvalid(what, where=str(path))
    return _tests_once(rows)


def _tests_once(results: Sequence[object]) -> Iterator[Row]:
    """The test case of each result, once: each prompt and provider has a result of the same test."""
    seen: set[object] = set()
    for number, result in enumerate(results, 1):
        test = result.get("testCase") if isinstance(result, dict) else None
        if not isinstance(test, dict):
            yield Row(number, FieldInvalid("testCase", "it is missing"))
            continue
        known = result.get("testIdx") if isinstance(result, dict) else None
        if not isinstance(known, int) or known not in seen:
            seen.add(known)
            yield Row(number, test)


def _of_promptfoo(raw: Mapping[str, Any]) -> Raw:
    asserted = raw.get("assert") or []
    if not isinstance(asserted, list):
        raise FieldInvalid("assert", "it must be a list")
    metadata = raw.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise FieldInvalid("metadata", "it must be an object")
    more = {name: raw[name] for name in ("description", "options", "threshold") if raw.get(name)}
    return {"input": raw.get("vars") or None, "expected": _expected(asserted), "metadata": {**more, **metadata}}


def _expected(asserted: Sequence[Any]) -> Any:
    """What one ``equals`` says; of anything else, the assertions as they are."""
    if len(asserted) == 1 and isinstance(asserted[0], Mapping) and asserted[0].get("type") == "equals":
        return asserted[0].get("value")
    return list(asserted) or None


def _of_promptfoo_cells(cells: Mapping[str, str]) -> Raw:
    """``__expected…`` and ``__metadata:KEY``; other names with two underscores go to metadata, all others are vars."""
    expected = [text for name, text in cells.items() if name.startswith("__expected")]
    variables = {name: text for name, text in cells.items() if not name.startswith("__")}
    metadata: dict[str, object] = {}
    for name, text in cells.items():
        if name.startswith("__") and not name.startswith("__expected"):
            key = name.removeprefix("__metadata:").removeprefix("__")
            listed = key.endswith("[]")
            metadata[key.removesuffix("[]")] = [one.strip() for one in text.split(",")] if listed else text
    raw: dict[str, object] = {"input": variables or None, "metadata": metadata}
    if expected:
        raw["expected"] = expected[0].removeprefix("equals:").strip() if len(expected) == 1 else expected
    return raw
