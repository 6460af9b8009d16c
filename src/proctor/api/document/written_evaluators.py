"""Examples by hand of what is answered of evaluators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["EVALUATORS"]

_ROW: Mapping[str, Any] = {
    "reference": "one-line@1",
    "name": "one-line",
    "version": 1,
    "type": "regex",
    "kind": "metric",
    "implementation": 1,
    "digest": "0d6a3f1c7b9e2d4a5c8f0b1e3d6a9c2f4b7e0d3a6c9f1b4e7d0a3c6f9b2e5d8a",
    "description": "Answers in one line",
    "allowed": True,
    "cost_nano": 0,
    "latency_sec": 0.0000004,
    "evaluations": 120_000,
    "accuracy": None,
    "accuracy_source": None,
    "created_at": "2026-06-30T10:00:00Z",
}
EVALUATORS: Mapping[str, Any] = {
    "DatasetFacts": {
        "missing": 2,
        "number": 98,
        "json": 0,
        "empty": 0,
        "one_word": 0,
        "short_text": 0,
        "long_text": 0,
        "code": 0,
    },
    "EvaluatorRow": _ROW,
    "EvaluatorDetail": {
        "row": _ROW,
        "said": {"pattern": "^.{1,80}$"},
        "configuration": {"pattern": "^.{1,80}$", "match": "search", "ignore_case": False},
    },
    "Suggestion": {
        "evaluator": _ROW,
        "fit": 0.98,
        "cost_nano": 0,
        "reasons": ["98 of 100 expect a number: numbers are compared within a tolerance"],
    },
    "Trial": {
        "evaluator": "one-line@1",
        "digest": _ROW["digest"],
        "score": 1.0,
        "status": "scored",
        "label": None,
        "error": None,
        "seconds": 0.0004,
    },
    "EvaluatorRule": {"subject": "python", "allowed": False, "changed_at": "2026-06-30T10:00:00Z"},
}
"""By the name of a component of the document."""
