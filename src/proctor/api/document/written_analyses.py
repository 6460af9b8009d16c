"""Examples by hand of analyses: a support team's answers of July against those of June."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ANALYSES"]

_JULY = {"id": "0198c2f4-7081-7c9d-8ebf-2a3b4c5d6e7f", "name": "answers-july", "dataset": "support@1.1.0"}
_JUNE = {"id": "0198c2f4-6f70-7b8c-9dae-1f2a3b4c5d6e", "name": "answers-june", "dataset": "support@1.1.0"}
_AVERAGE = {
    "mean": 0.8122,
    "error": 0.0113,
    "interval": {"low": 0.7891, "high": 0.8334},
    "items": 1198,
    "clusters": 1198,
}
ANALYSES: Mapping[str, Any] = {
    "JobComparison": {
        "a": _JULY,
        "b": _JUNE,
        "paired_by": "row",
        "evaluators": [
            {
                "evaluator": "exact-match",
                "same_evaluator": True,
                "examples": 1190,
                "left_out": {
                    "only_a": 5,
                    "only_b": 8,
                    "neither": 1,
                    "absent_a": 0,
                    "absent_b": 0,
                    "repeats_a": 0,
                    "repeats_b": 0,
                },
                "difference": {
                    "mean": 0.0303,
                    "error": 0.0097,
                    "interval": {"low": 0.0113, "high": 0.0493},
                    "mean_a": 0.8437,
                    "mean_b": 0.8134,
                    "better": 85,
                    "worse": 49,
                    "correlation": 0.6218,
                    "test": "McNemar, chi-square",
                    "p": 0.0019,
                    "p_adjusted": 0.0019,
                    "seed": None,
                    "detectable": 0.0271,
                    "finding": "better",
                },
                "undefined": None,
            }
        ],
        "only_a": [],
        "only_b": ["token-f1"],
        "margin": 0.02,
        "alpha": 0.05,
        "regression": False,
    },
    "MovedExample": {"example": "ticket-4711", "row_a": 17, "row_b": 17, "a": 0.0, "b": 1.0},
    "Segments": {
        "evaluator": "exact-match",
        "by": "tag",
        "parts": [{"label": "billing", "average": _AVERAGE, "difference": -0.0311, "p": 0.012, "p_adjusted": 0.036}],
        "unlabelled": 4,
    },
    "JobFailures": {
        "job": _JUNE,
        "failures": 6,
        "not_evaluated": 0,
        "by_status": [{"label": "refused", "count": 6, "share": 1.0, "examples": ["ticket-12", "ticket-305"]}],
        "by_text": [{"label": "The output is refused.", "count": 6, "share": 1.0, "examples": ["ticket-12"]}],
        "read": 6,
    },
    "Spread": {
        "evaluator": "exact-match",
        "count": 1198,
        "low": 0.0,
        "high": 1.0,
        "deviation": 0.3907,
        "quantiles": {"0.05": 0.0, "0.25": 1.0, "0.5": 1.0, "0.75": 1.0, "0.95": 1.0},
        "edges": [0.0, 0.5, 1.0],
        "counts": [225, 973],
        "undefined": None,
    },
    "Repeats": {
        "evaluator": "exact-match",
        "examples": 1198,
        "chances": [{"k": 1, "any": _AVERAGE, "all": _AVERAGE}],
        "undefined": None,
    },
    "Agreement": {
        "job": _JUNE,
        "evaluators": ["exact-match", "contains"],
        "level": "nominal",
        "decimals": None,
        "alpha": {"value": 0.871, "interval": {"low": 0.838, "high": 0.902}, "items": 1198, "undefined": None},
        "kappas": [
            {
                "a": "exact-match",
                "b": "contains",
                "kappa": {
                    "value": 0.871,
                    "interval": {"low": 0.837, "high": 0.902},
                    "items": 1198,
                    "undefined": None,
                },
            }
        ],
    },
    "History": {
        "series": [
            {
                "evaluator": "exact-match",
                "moments": [
                    {"job": _JUNE, "created_at": "2026-07-01T09:12:00Z", "average": _AVERAGE, "coverage": 0.995}
                ],
                "changes": [],
            }
        ],
        "same_version": True,
    },
    "JobReport": {
        "job": _JUNE,
        "against": None,
        "state": "complete",
        "done": 1204,
        "expected": 1204,
        "sections": [
            {
                "kind": "numbers",
                "title": "Numbers",
                "evaluator": "exact-match",
                "figures": [
                    {
                        "name": "mean",
                        "value": 0.8122,
                        "query": "SELECT avg(score) AS value FROM results WHERE job = '0198c2f4' AND status = 'scored'",
                        "low": 0.7891,
                        "high": 0.8334,
                        "error": 0.0113,
                        "p": None,
                        "items": 1198,
                    }
                ],
                "notes": ["6 of 1,204 results have no score."],
                "edges": [],
            }
        ],
    },
    "Plan": {
        "design": {
            "between": 0.1111111111111111,
            "within_a": 0.0,
            "within_b": 0.0,
            "trials_a": 1,
            "trials_b": 1,
            "alpha": 0.05,
        },
        "power": 0.8,
        "difference": 0.03,
        "items": None,
        "needed": 969,
        "detectable": None,
        "found": None,
    },
}
"""By the name of a component of the document."""
