"""Outcomes: which class an attempt's evidence makes, whose it is, and what follows. Pure functions over a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.engine.evidence import Evidence, GradingFacts, Phase
from proctor.engine.policy_files import (
    CURRENT_POLICY,
    is_shipped,
    load_policy,
    parse_policy,
    remember_policy,
)
from proctor.engine.policy_terms import OutcomeClass, OutcomePolicy, Owner, Retry
from proctor.kernel.canonical import Json

__all__ = [
    "CURRENT_POLICY",
    "Disposal",
    "Outcome",
    "OutcomeClass",
    "OutcomePolicy",
    "Owner",
    "Retry",
    "classify",
    "dispose",
    "final_classes",
    "is_shipped",
    "load_policy",
    "parse_policy",
    "remember_policy",
]

BACKOFF_SEC: tuple[float, ...] = (1.0, 4.0, 16.0)
"""Waits between tries after a fault of one attempt; a fourth fault goes to the dead letters."""

JITTER: float = 0.2
"""Of each wait, so that cells which failed together do not come back together."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The class derived from evidence under one policy version."""

    outcome: OutcomeClass
    owner: Owner
    rule: str
    verdict: bool | None
    limit: str = ""
    grading: int = 0
    """The grading it rests on, 0 where there was none."""


@dataclass(frozen=True, kw_only=True)
class Disposal:
    """What becomes of the cell's queue row."""

    done: bool = False
    dead: bool = False
    delay: float = 0.0
    used: int = 0
    close_lane: bool = False


def classify(
    policy: OutcomePolicy,
    evidence: Sequence[Evidence],
    grading: GradingFacts | None,
    *,
    out_of_memory: Owner = Owner.MODEL,
) -> Outcome:
    """The first rule that matches; what no rule knows is ``unclassified``, never a model's fault.

    ``out_of_memory`` is the run set's resource policy: whose a sandbox's own memory limit is.
    """
    phases = _facts(evidence, grading)
    for rule in policy.rules:
        if any(rule.fits(phase, facts) for phase, facts in phases):
            return _outcome(policy, rule.outcome, rule.id, evidence, grading, out_of_memory)
    return _outcome(policy, OutcomeClass.UNCLASSIFIED, "none", evidence, grading, out_of_memory)


def dispose(policy: OutcomePolicy, outcome: Outcome, *, tries: int, jitter: float) -> Disposal:
    """What follows: ``tries`` are the faults used up before this one, ``jitter`` is uniform in [-1, 1]."""
    if outcome.verdict is not None:
        return Disposal(done=True)
    rule = policy.classes[outcome.outcome]
    if rule.retry is Retry.NEVER:
        return Disposal(done=True)
    if rule.retry is Retry.LANE:
        return Disposal(close_lane=True)
    if rule.retry is Retry.RESUME or tries + 1 >= rule.tries:
        return Disposal(dead=True, used=1)
    if rule.retry is Retry.BACKOFF:
        wait = BACKOFF_SEC[min(tries, len(BACKOFF_SEC) - 1)]
        return Disposal(delay=wait * (1 + JITTER * jitter), used=1)
    return Disposal(used=1)


def final_classes(policy: OutcomePolicy) -> list[str]:
    """Classes without a verdict that trying again can't change: the file itself has to."""
    return [name.value for name, rule in policy.classes.items() if rule.retry is Retry.NEVER and rule.verdict == "none"]


def _facts(evidence: Sequence[Evidence], grading: GradingFacts | None) -> list[tuple[str, Mapping[str, Json]]]:
    graded = grading is not None and grading.passed is not None
    phases: list[tuple[str, Mapping[str, Json]]] = [
        (item.phase.value, {**item.detail, "graded": graded}) for item in evidence
    ]
    if grading is not None:
        phases.append(("grading", grading.facts()))
    return phases


def _outcome(
    policy: OutcomePolicy,
    outcome: OutcomeClass,
    rule: str,
    evidence: Sequence[Evidence],
    grading: GradingFacts | None,
    out_of_memory: Owner,
) -> Outcome:
    known = policy.classes[outcome]
    owner = out_of_memory if known.owner is Owner.POLICY else known.owner
    verdict = known.verdict
    if verdict == "policy":
        verdict = "fail" if owner is Owner.MODEL else "none"
    return Outcome(
        outcome=outcome,
        owner=owner,
        rule=rule,
        verdict={"pass": True, "fail": False, "none": None}[verdict],
        limit=_limit(evidence),
        grading=grading.number if grading else 0,
    )


def _limit(evidence: Sequence[Evidence]) -> str:
    for item in evidence:
        if item.phase is Phase.AGENT and isinstance(item.detail.get("limit"), str):
            return str(item.detail["limit"])
    return ""
