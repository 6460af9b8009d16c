"""What is recorded of an attempt, as the rows that the statements take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from proctor.engine.evidence import Evidence, GradingFacts
from proctor.engine.outcomes import Outcome

__all__ = ["evidence_rows", "grading_row", "outcome_row"]


def evidence_rows(attempt: UUID, evidence: Iterable[Evidence]) -> list[dict[str, Any]]:
    """Evidence of an attempt, as ``insert_evidence`` takes it."""
    return [
        {
            "attempt_id": attempt,
            "seq": item.seq,
            "phase": item.phase.value,
            "started_at": item.started_at,
            "ended_at": item.ended_at,
            "detail": item.detail,
        }
        for item in evidence
    ]


def grading_row(attempt: UUID, grading: GradingFacts) -> dict[str, Any]:
    """A grading of an attempt, as ``insert_gradings`` takes it."""
    return {
        "attempt_id": attempt,
        "verifier_digest": grading.verifier_digest,
        "number": grading.number,
        "mode": grading.mode,
        "backend": grading.backend,
        "forgeable": grading.forgeable,
        "rewards": grading.rewards,
        "detail": {**grading.detail, "passed": grading.passed, "primary": grading.primary},
        "graded_at": grading.graded_at,
    }


def outcome_row(attempt: UUID, policy_version: str, outcome: Outcome) -> dict[str, Any]:
    """An outcome of an attempt, as ``insert_outcomes`` takes it."""
    return {
        "attempt_id": attempt,
        "grading": outcome.grading,
        "policy_version": policy_version,
        "class": outcome.outcome.value,
        "owner": outcome.owner.value,
        "rule": outcome.rule,
        "verdict": outcome.verdict,
        "limit": outcome.limit,
    }
