"""Examples by hand of evaluation jobs: a support team's answers, judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["JOBS"]

_VERSION = "0198c2f1-2b3c-8d4e-9f50-61728394a5b6"
_TENANT = "0198c2ef-0a1b-7c2d-9e3f-4a5b6c7d8e9f"
_SAMPLES_ID = "0198c2f3-5e6f-8a7b-8c9d-0e1f2a3b4c5d"
_JOB_ID = "0198c2f4-6f70-7b8c-9dae-1f2a3b4c5d6e"
_DIGEST = "0d6a3f1c7b9e2d4a5c8f0b1e3d6a9c2f4b7e0d3a6c9f1b4e7d0a3c6f9b2e5d8a"
_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
_SAMPLES = {
    "id": _SAMPLES_ID,
    "name": "answers-june",
    "dataset_version": _VERSION,
    "rows": 1204,
    "repeats": 1,
    "outputs": 1198,
    "parts": [
        {
            "key": f"{_TENANT}/samples/{_VERSION}/0198c2f3-5e6f-8a7b-8c9d-0e1f2a3b4c5e/00000.parquet",
            "rows": 1204,
            "bytes": 61_044,
            "sha256": _DIGEST,
        }
    ],
    "content_hash": _DIGEST[::-1],
    "model": "example/small",
    "source": "answers-june.jsonl",
    "creator": None,
    "created_at": "2026-07-01T09:10:00Z",
}
_JOB = {
    "id": _JOB_ID,
    "name": "answers-june",
    "state": "complete",
    "dataset": "support@1.1.0",
    "dataset_version": _VERSION,
    "samples": "answers-june",
    "target": None,
    "budget_nano": None,
    "sample_set": _SAMPLES_ID,
    "judges": [
        {"name": "exact-match", "digest": _DIGEST, "type": "exact-match", "implementation": 1, "configuration": {}}
    ],
    "band": 2,
    "cut": {"rows": 1204, "repeats": 1, "size": 10_000},
    "chunks_done": 1,
    "counts": {"exact-match": {"scored": 1198, "refused": 6}},
    "creator": None,
    "trace_id": _TRACE,
    "created_at": "2026-07-01T09:12:00Z",
    "started_at": "2026-07-01T09:12:00Z",
    "ended_at": "2026-07-01T09:12:01Z",
}
_PROMPT: Mapping[str, Any] = {
    "reference": "capital@2",
    "name": "capital",
    "version": 2,
    "digest": _DIGEST,
    "description": "One word is asked for",
    "creator": "0198c2ef-1a2b-7c3d-8e4f-5a6b7c8d9e0f",
    "created_at": "2026-06-30T10:00:00Z",
}
_PROMPT_VERSION: Mapping[str, Any] = {
    "row": _PROMPT,
    "system": "You know geography.",
    "prompt": "Answer in one word: {{input}}",
}
_STREAM = {
    **_JOB,
    "name": "support-bot",
    "state": "running",
    "dataset": None,
    "dataset_version": None,
    "samples": None,
    "sample_set": None,
    "band": 1,
    "cut": {"rows": 1204, "repeats": 1, "size": 10_000, "pieces": 31},
    "chunks_done": 31,
    "counts": {"exact-match": {"scored": 1204}},
    "ended_at": None,
    "kept": False,
    "stream": True,
    "open": True,
}
_REFUSED = {"row": 3, "field": "output", "reason": "it is missing"}
JOBS: Mapping[str, Any] = {
    "SampleSet": _SAMPLES,
    "Job": _JOB,
    "Stream": {"job": _STREAM, "refused": 1},
    "Appended": {"rows": 2, "refused": 1, "refusals": [_REFUSED]},
    "Refusal": _REFUSED,
    "KeptRefusal": {
        "id": "0198c2f4-7081-7c9d-8eaf-2a3b4c5d6e7f",
        "at": "2026-07-01T09:12:01Z",
        **_REFUSED,
        "said": '{"id": "ticket-4713"}',
    },
    "JobStanding": {
        "job": _JOB,
        "expected": 1204,
        "done": 1204,
        "per_second": None,
        "left_sec": None,
        "evaluators": [
            {
                "evaluator": "exact-match",
                "digest": _DIGEST,
                "expected": 1204,
                "counts": {"scored": 1198, "refused": 6},
                "scored": 1198,
                "mean": 0.8122,
                "error": 0.0113,
                "interval": {"low": 0.7891, "high": 0.8334},
                "coverage": 0.995,
                "bounds": {"low": 0.8081, "high": 0.8131},
            }
        ],
        "gaps": [],
        "spent_nano": 0,
    },
    "ListedResult": {
        "job": _JOB_ID,
        "dataset_version": _VERSION,
        "row": 17,
        "example": "ticket-4711",
        "sample": "9a0364b9e99bb480dd25e1f0284c8555",
        "target": None,
        "model": "example/small",
        "evaluator": "exact-match",
        "evaluator_version": _DIGEST,
        "repeat": 0,
        "score": 1.0,
        "label": None,
        "status": "scored",
        "error": None,
        "seconds": 0.0000004,
        "cost_nano": 0,
        "probability": 1.0,
        "trace_id": _TRACE,
        "time": "2026-07-01T09:12:01Z",
    },
    "PromptRow": _PROMPT,
    "PromptVersion": _PROMPT_VERSION,
    "PromptAdded": {"prompt": _PROMPT_VERSION, "new": True},
}
"""By the name of a component of the document."""
