"""Test cases of promptfoo (CSV, JSON, and the JSON of an evaluation) by the names of a row of ours.

A cell of a CSV's ``__expected`` columns is an assertion in short: ``TYPE:VALUE``, with a threshold in brackets after
the type, or a text alone, which must be equal. Source: promptfoo.dev/docs/configuration/test-cases.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proctor.datasets.errors import SourceInvalid
from proctor.datasets.fields import FieldInvalid, Raw
from proctor.datasets.formats.csv_rows import csv_rows
from proctor.datasets.formats.documents import document_of, is_csv, meant, numbered
from proctor.datasets.formats.json_rows import json_rows
from proctor.datasets.formats.rows import Row

__all__ = ["promptfoo_rows"]

_LISTS: frozenset[str] = frozenset({"contains-all", "contains-any", "icontains-all", "icontains-any"})
"""Types whose value is words with commas between."""
_OTHERS: str = """
agent-rubric answer-relevance bleu classifier contains contains-html contains-json contains-sql contains-xml
context-faithfulness context-recall context-relevance conversation-relevance cost equals factuality finish-reason
g-eval gleu guardrails icontains is-html is-json is-refusal is-sql is-valid-function-call
is-valid-openai-function-call is-valid-openai-tools-call is-xml javascript latency levenshtein llm-rubric meteor
model-graded-closedqa model-graded-factuality moderation perplexity perplexity-score pi python regex rouge-n ruby
search-rubric similar skill-used starts-with tool-call-f1 trace-error-spans trace-span-count trace-span-duration
trajectory:goal-success trajectory:step-count trajectory:tool-args-match trajectory:tool-sequence trajectory:tool-used
webhook word-count
"""
_TYPES: frozenset[str] = _LISTS | frozenset(_OTHERS.split())
"""What a cell may begin with; any other text is what is expected."""
_SHORT: Mapping[str, str] = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
_NAMES: str = "|".join(map(re.escape, sorted(_TYPES)))
_ASSERTION = re.compile(rf"(not-)?({_NAMES})(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?", re.DOTALL)
_OPTIONS: tuple[str, ...] = ("prefix", "suffix")


def promptfoo_rows(path: Path) -> Iterator[Row]:
    """Test cases of promptfoo: CSV, JSONL, a JSON array, a configuration's ``tests``, or an evaluation's results."""
    if is_csv(path):
        return csv_rows(path, _of_cells)
    return meant(_tests(path), _of_test)


def _tests(path: Path) -> Iterator[Row]:
    document = document_of(path)
    if document is None:
        return json_rows(path)
    results = document.get("results")
    rows = results.get("results") if isinstance(results, Mapping) else None
    if isinstance(rows, list):
        return _once(rows)
    if isinstance(document.get("tests"), list):
        return numbered(document["tests"])
    if isinstance(document.get("vars"), Mapping):  # one test; in an evaluation it is a list of names
        return numbered([document])
    what = "It has neither `tests` nor `results.results`, as promptfoo writes them."
    raise SourceInvalid(what, where=str(path))


def _once(results: Sequence[object]) -> Iterator[Row]:
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


def _of_test(raw: Mapping[str, Any]) -> Raw:
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


def _of_cells(cells: Mapping[str, str]) -> Raw:
    """A test of the columns that begin with two underscores; all others are its vars."""
    named = {name[2:]: text for name, text in cells.items() if name.startswith("__")}
    expected = [text.strip() for name, text in named.items() if name.startswith("expected")]
    known = {name: named[name] for name in named if not name.startswith("expected")}
    options = {name: known.pop(name) for name in _OPTIONS if name in known}
    test: dict[str, object] = {
        "vars": {name: text for name, text in cells.items() if not name.startswith("__")},
        "assert": [_assertion(text) for text in expected if text],
        "options": options,
        "description": known.pop("description", None),
        "threshold": _number(known.pop("threshold", None)),
        "metadata": dict(_said(name, text) for name, text in known.items()),
    }
    return _of_test(test)


def _said(name: str, text: str) -> tuple[str, object]:
    key = name.removeprefix("metadata:")
    if not key.endswith("[]"):
        return key, text
    return key.removesuffix("[]"), [one.strip().replace("\\,", ",") for one in re.split(r"(?<!\\),", text)]


def _number(text: str | None) -> float | None:
    try:
        found = None if text is None else float(text)
    except ValueError:
        found = math.nan
    if found is not None and not math.isfinite(found):
        raise FieldInvalid("__threshold", "it must be a number")
    return found


def _assertion(text: str) -> Mapping[str, object]:
    short, colon, code = text.partition(":")
    if colon and short in _SHORT:
        return {"type": _SHORT[short], "value": code.strip()}
    found = _ASSERTION.fullmatch(text)
    if found is None:
        return {"type": "equals", "value": text}
    negated, kind, threshold, value = found.groups()
    made: dict[str, object] = {"type": (negated or "") + kind}
    if value is not None:
        made["value"] = _words(value) if kind in _LISTS else value.strip()
    return made if threshold is None else {**made, "threshold": float(threshold)}


def _words(text: str) -> list[str]:
    """Words with commas between; one in quotes may have commas in it."""
    return [word.strip() for line in csv.reader([text], skipinitialspace=True) for word in line]
