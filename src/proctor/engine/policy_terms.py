"""The words of an outcome policy: classes, owners, what follows, and one version of the policy. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from proctor.kernel.canonical import Json

__all__ = ["ClassRule", "OutcomeClass", "OutcomePolicy", "Owner", "Retry", "Rule"]


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

    def fits(self, phase: str, facts: Mapping[str, Json]) -> bool:
        """Whether one phase of an attempt, with what was seen of it, is what the rule looks for."""
        return self.phase in ("any", phase) and all(
            _holds(facts.get(field), wanted) for field, wanted in self.when.items()
        )


def _holds(value: Json, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return bool(wanted.get("ge", value) <= value <= wanted.get("le", value))
    if isinstance(wanted, list):
        return any(_holds(value, one) for one in wanted)
    return type(value) is type(wanted) and value == wanted


@dataclass(frozen=True, kw_only=True)
class OutcomePolicy:
    """One version of the policy."""

    version: str
    classes: Mapping[OutcomeClass, ClassRule]
    rules: tuple[Rule, ...]
