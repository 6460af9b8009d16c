"""Examples by hand of datasets: what a support team's questions look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["DATASETS"]

_VERSION = "0198c2f1-2b3c-8d4e-9f50-61728394a5b6"
_BEFORE = "0198c2f1-1a2b-8c3d-8e4f-506172839405"
_CONTENT = "1cb0fa903e22ddd8245b18256ff21e2e1b776633ef4ec5c14976052346ff422f"
_MADE = {
    "tenant": "0198c2ef-0a1b-7c2d-9e3f-4a5b6c7d8e9f",
    "id": _VERSION,
    "dataset": "support",
    "version": "1.1.0",
    "rows": 1204,
    "parts": [
        {
            "key": f"0198c2ef-0a1b-7c2d-9e3f-4a5b6c7d8e9f/datasets/{_VERSION}/00000.parquet",
            "rows": 1204,
            "bytes": 88_217,
            "sha256": _CONTENT[::-1],
        }
    ],
    "content_hash": _CONTENT,
    "has_embeddings": False,
    "created_at": "2026-07-01T09:00:00Z",
    "creator": "ada@example.org",
    "metadata": {"ticket": "SUP-117"},
    "lineage": {
        "operation": "import",
        "parameters": {"file": "questions.jsonl", "format": "jsonl", "left_out": 0},
        "parents": [{"id": _BEFORE, "dataset": "support", "version": "1.0.0"}],
    },
}
_BEFORE_IT = {
    **_MADE,
    "id": _BEFORE,
    "version": "1.0.0",
    "rows": 1200,
    "created_at": "2026-06-01T09:00:00Z",
    "lineage": {"operation": "import", "parameters": {"file": "questions.jsonl", "format": "jsonl"}, "parents": []},
}
_SPLITS = [
    {"name": "train", "seed": 7, "low_ppm": 0, "high_ppm": 800_000},
    {"name": "test", "seed": 7, "low_ppm": 800_000, "high_ppm": 1_000_000},
]

DATASETS: Mapping[str, Any] = {
    "DatasetRow": {
        "name": "support",
        "versions": 2,
        "version": "1.1.0",
        "rows": 1204,
        "has_embeddings": False,
        "creator": "ada@example.org",
        "created_at": "2026-06-01T09:00:00Z",
        "changed_at": "2026-07-01T09:00:00Z",
    },
    "DatasetVersion": _MADE,
    "DatasetDetail": {"version": _MADE, "splits": _SPLITS},
    "ListedExample": {
        "position": 17,
        "id": "q17",
        "input": "How do I return a parcel?",
        "expected": "With the label in the box, within 30 days.",
        "difficulty": "easy",
        "source": "https://help.example.org/returns",
        "tags": ["returns"],
        "metadata": {"language": "en"},
        "digest": _CONTENT[:32],
    },
    "FitCount": {"fit": 41, "examples": 1204},
    "DatasetQuality": {
        "dataset": "support",
        "version": "1.1.0",
        "examples": 1204,
        "without_expected": {"examples": 12, "query": "-expected=*"},
        "empty_inputs": {"examples": 0, "query": "is:empty"},
        "duplicates": {"examples": 9, "query": "is:duplicate", "inputs": 4},
        "contradictions": {"examples": 2, "query": "is:contradiction", "inputs": 1},
        "input_characters": {"examples": 1204, "min": 8, "median": 61, "p95": 420, "max": 2210},
        "expected_characters": {"examples": 1192, "min": 2, "median": 48, "p95": 310, "max": 1480},
        "kinds": [
            {"examples": 1180, "query": "expects:short_text", "kind": "short_text"},
            {"examples": 12, "query": "expects:one_word", "kind": "one_word"},
        ],
        "fields": [
            {
                "examples": 1100,
                "query": "difficulty=*",
                "name": "difficulty",
                "is_metadata": False,
                "values": 2,
                "common": [
                    {"examples": 700, "query": "difficulty=easy", "value": "easy"},
                    {"examples": 400, "query": "difficulty=hard", "value": "hard"},
                ],
            },
            {
                "examples": 1204,
                "query": "language=*",
                "name": "language",
                "is_metadata": True,
                "values": 1,
                "common": [{"examples": 1204, "query": "language=en", "value": "en"}],
            },
        ],
        "metadata_fields": 1,
        "leaks": {"examples": 5, "query": "is:leaked", "inputs": 2},
        "splits": [
            {"examples": 3, "query": "split=train is:leaked", "split": "train", "size": 963},
            {"examples": 2, "query": "split=test is:leaked", "split": "test", "size": 241},
        ],
    },
    "VersionDiff": {
        "before": _BEFORE_IT,
        "after": _MADE,
        "difference": {"added": 4, "changed": 12, "removed": 0, "same": 1188},
        "changes": [{"id": "q17", "kind": "changed", "fields": ["expected"]}],
        "next": "q17",
    },
    "DerivationWanted": {
        "new": {"dataset": "smoke", "version": None, "metadata": {}},
        "derivation": {"operation": "sample", "source": "support@1.1.0", "size": 200, "seed": 7, "by": "difficulty"},
    },
}
"""By the name of a component of the document."""
