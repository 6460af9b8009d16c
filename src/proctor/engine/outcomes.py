"""Outcomes: which class an attempt's evidence makes, whose it is, and what follows. Policy as data, pure functions."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from proctor.engine.errors import PolicyInvalid
from proctor.engine.evidence import Evidence, GradingFacts, Phase
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
    "load_policy",
    "parse_policy",
    "remember_policy",
]

CURRENT_POLICY: str = "outcomes-1"
"""The policy that new run sets are pinned to."""

BACKOFF_SEC: tuple[float, ...] = (1.0, 4.0, 16.0)
"""Waits between tries after a fault of one attempt; a fourth fault goes to the dead letters."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")

JITTER: float = 0.2
"""Of each wait, so that cells which failed together do not come back together."""


class OutcomeClass(StrEnum):
    """What became of an attempt."""

    PASSED = "passed"
    FAILED = "failed"
    AGENT_LIMIT = "agent_limit"
    AGENT_REFUSED = "agent_refused"
    AGENT_ERROR = "agent_error"
    VERIFIER_ERROR = "verifier_error"
    TASK_INVALID = "task_invalid"
    PROFILE_INVALID = "profile_invalid"
    PROVIDER_AUTH = "provider_auth"
    PROVIDER_RATE_LIMIT = "provider_rate_limit"
    PROVIDER_ERROR = "provider_error"
    AGENT_SETUP_ERROR = "agent_setup_error"
    IMAGE_ERROR = "image_error"
    SANDBOX_ERROR = "sandbox_error"
    NODE_LOST = "node_lost"
    LEASE_LOST = "lease_lost"
    HARNESS_ERROR = "harness_error"
    OUT_OF_MEMORY = "out_of_memory"
    BUDGET_EXHAUSTED = "budget_exhausted"
    CANCELLED = "cancelled"
    UNCLASSIFIED = "unclassified"


class Owner(StrEnum):
    """Whose an outcome is. Only the model's count as its verdicts."""

    MODEL = "model"
    TASK = "task"
    USER = "user"
    PROVIDER = "provider"
    INFRASTRUCTURE = "infrastructure"
    NOBODY = "nobody"
    POLICY = "policy"


class Retry(StrEnum):
    """What follows an outcome without a verdict."""

    NEVER = "never"
    BACKOFF = "backoff"
    AT_ONCE = "at_once"
    ONCE = "once"
    LANE = "lane"
    RESUME = "resume"


@dataclass(frozen=True, kw_only=True)
class ClassRule:
    """What a policy says of one class."""

    owner: Owner
    verdict: str
    retry: Retry
    tries: int


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One matcher: a phase and what its fields must be."""

    id: str
    outcome: OutcomeClass
    phase: str
    when: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class OutcomePolicy:
    """One version of the policy."""

    version: str
    classes: Mapping[OutcomeClass, ClassRule]
    rules: tuple[Rule, ...]


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
        if _matches(rule, phases):
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


def _matches(rule: Rule, phases: Sequence[tuple[str, Mapping[str, Json]]]) -> bool:
    return any(
        rule.phase in ("any", phase) and all(_holds(facts.get(key), wanted) for key, wanted in rule.when.items())
        for phase, facts in phases
    )


def _holds(value: Json, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return bool(wanted.get("ge", value) <= value <= wanted.get("le", value))
    if isinstance(wanted, list):
        return any(_holds(value, one) for one in wanted)
    return type(value) is type(wanted) and value == wanted


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


_own: dict[str, OutcomePolicy] = {}
"""Policies of tenants' own that this process has read; their versions hold their digest, so none is another's."""


def load_policy(version: str) -> OutcomePolicy:
    """A policy that ships with Proctor, or was remembered. Raises ``PolicyInvalid`` for an unknown version."""
    return _own[version] if version in _own else _shipped(version)


@cache
def _shipped(version: str) -> OutcomePolicy:
    path = files("proctor.engine").joinpath(f"policies/{version}.toml")
    if not path.is_file():
        raise PolicyInvalid(f"There is no outcome policy {version!r}.")
    return parse_policy(path.read_text(encoding="utf-8"), where=version)


def remember_policy(source: str, *, where: str) -> OutcomePolicy:
    """A file of a tenant's own as a policy: its version is its name and the beginning of its digest.

    Raises ``PolicyInvalid``, also for a name that cannot be one.
    """
    read = parse_policy(source, where=where)
    if _NAME.fullmatch(read.version) is None:
        raise PolicyInvalid("A version is letters, digits and . _ - (at most 60).", where=f"{where}: version")
    policy = replace(read, version=f"{read.version}@{hashlib.sha256(source.encode()).hexdigest()[:12]}")
    return _own.setdefault(policy.version, policy)


def parse_policy(source: str, *, where: str) -> OutcomePolicy:
    """Read a policy file and check that it keeps the precedence. Raises ``PolicyInvalid`` naming the place."""
    try:
        document = tomllib.loads(source)
        policy = OutcomePolicy(
            version=document["version"],
            classes={OutcomeClass(name): _class_rule(fields) for name, fields in document["classes"].items()},
            rules=tuple(_rule(fields) for fields in document["rules"]),
        )
    except tomllib.TOMLDecodeError as error:
        raise PolicyInvalid(str(error), where=where) from error
    except (KeyError, ValueError, TypeError) as error:
        raise PolicyInvalid(f"A field is missing or has a value that is not known: {error}.", where=where) from error
    _check_order(policy, where)
    return policy


def _class_rule(fields: Mapping[str, Any]) -> ClassRule:
    return ClassRule(
        owner=Owner(fields["owner"]),
        verdict=fields["verdict"],
        retry=Retry(fields["retry"]),
        tries=fields.get("tries", 1),
    )


def _rule(fields: Mapping[str, Any]) -> Rule:
    if fields["phase"] not in {*Phase, "any", "grading"}:
        raise ValueError(f"phase {fields['phase']!r}")
    if "fault" in fields["when"]:
        raise ValueError("no rule may look at 'fault'")
    return Rule(
        id=fields["id"], outcome=OutcomeClass(fields["class"]), phase=fields["phase"], when=dict(fields["when"])
    )


def _check_order(policy: OutcomePolicy, where: str) -> None:
    """A pass first, then what was not the model's, then the verifier's word; every class has its row."""
    missing = [name for name in OutcomeClass if name not in policy.classes]
    if missing:
        raise PolicyInvalid(f"No row for class {missing[0]!r}.", where=where)
    ranks = [_rank(policy, rule) for rule in policy.rules]
    for rule, before, rank in zip(policy.rules[1:], ranks, ranks[1:], strict=False):
        if rank < before:
            raise PolicyInvalid(
                f"Rule {rule.id!r} stands too late: a pass comes first, then infrastructure, provider and user, "
                "then the verifier's word.",
                where=where,
            )


def _rank(policy: OutcomePolicy, rule: Rule) -> int:
    if policy.classes[rule.outcome].verdict == "pass":
        return 0
    verdict_words = {OutcomeClass.VERIFIER_ERROR}
    model = policy.classes[rule.outcome].owner is Owner.MODEL
    return 2 if model or rule.outcome in verdict_words else 1
