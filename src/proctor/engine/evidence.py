"""Evidence: what happened, phase by phase. It is only ever added to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from proctor.kernel.canonical import Json

__all__ = ["STDERR_TAIL", "STDOUT_TAIL", "Evidence", "GradingFacts", "Phase", "VerifierProblem"]

STDERR_TAIL: int = 8 * 1024
STDOUT_TAIL: int = 2 * 1024
"""Bytes of standard error kept with the phase that ended an attempt."""


class Phase(StrEnum):
    """The phases of an attempt, in their order.

    Of a task with steps ``start`` and ``healthcheck`` (what the step itself asks for), ``agent``, ``collect`` and
    ``verify`` come once a step, with its name as ``step`` in their detail.
    """

    PREPARE = "prepare"
    IMAGE = "image"
    START = "start"
    HEALTHCHECK = "healthcheck"
    AGENT_SETUP = "agent_setup"
    AGENT = "agent"
    COLLECT = "collect"
    VERIFY = "verify"
    RECORD = "record"


class VerifierProblem(StrEnum):
    """Why a verifier left no reward to read."""

    MISSING = "reward_missing"
    EMPTY = "reward_empty"
    UNPARSABLE = "reward_unparsable"
    TIMEOUT = "verifier_timeout"
    CRASH = "verifier_crash"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One phase: when it ran, and of a phase that failed what Proctor itself saw."""

    phase: Phase
    seq: int
    started_at: datetime
    ended_at: datetime
    detail: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GradingFacts:
    """One run of the verifier over an attempt's final state."""

    number: int
    verifier_digest: str
    mode: str
    backend: str
    forgeable: bool
    rewards: Mapping[str, float] | None
    passed: bool | None
    """``None`` where there is a problem instead of a reward."""
    problem: VerifierProblem | None = None
    primary: float | None = None
    graded_at: datetime
    detail: Mapping[str, Json] = field(default_factory=dict)

    def facts(self) -> Mapping[str, Json]:
        """The fields that a policy's rules may match."""
        return {"passed": self.passed, "problem": self.problem.value if self.problem else None}


def retry_after(evidence: Sequence[Evidence]) -> float | None:
    """The seconds that a provider which ended an attempt asked to be left alone; ``None``: it did not say."""
    ended = last_error(evidence)
    told = None if ended is None else ended.detail.get("retry_after")
    return float(told) if isinstance(told, int | float) else None


def last_error(evidence: Sequence[Evidence]) -> Evidence | None:
    """The phase that ended an attempt early, if one did."""
    failed = [item for item in evidence if item.detail.get("failed")]
    return failed[-1] if failed else None
