"""What no outcome policy may change. A file that breaks one of these is refused by the class or rule and the field.

A policy decides which evidence makes which class and how often a fault is tried again. It never decides that a verdict
is another than the verifier's, that what was not the model's counts against or for it, or that a no is tried again
until it is a yes: those would be other numbers under the same names.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from proctor.agents.interfaces import AgentLimit
from proctor.engine.errors import PolicyInvalid
from proctor.engine.evidence import VerifierProblem
from proctor.engine.policy_terms import ClassRule, OutcomeClass, OutcomePolicy, Owner, Retry, Rule
from proctor.kernel.canonical import Json
from proctor.sandboxes.interfaces import LimitKind

__all__ = ["check_policy"]


class _Complaint(NamedTuple):
    """A field of a class or rule, and what is wrong with it."""

    field: str
    message: str


def check_policy(policy: OutcomePolicy, *, where: str) -> None:
    """Raises ``PolicyInvalid`` for the first thing that no policy may say."""
    for name in OutcomeClass:
        if name not in policy.classes:
            raise PolicyInvalid(f"No row for class {name.value!r}.", where=f"{where}: classes")
        for field, message in _class_complaints(name, policy.classes[name]):
            raise PolicyInvalid(message, where=f"{where}: classes.{name.value}.{field}")
    twice = [name for name, count in Counter(rule.id for rule in policy.rules).items() if count > 1]
    if twice:
        raise PolicyInvalid("Another rule has this id.", where=f"{where}: rule {twice[0]!r}: id")
    for rule in policy.rules:
        for field, message in (*_fields_complaints(rule), *_word_complaints(policy, rule)):
            raise PolicyInvalid(message, where=f"{where}: rule {rule.id!r}: {field}")
    _check_order(policy, where)
    _check_whole(policy, where)


# --- classes ----------------------------------------------------------------------------------------------------------

_MODELS: frozenset[OutcomeClass] = frozenset(
    {
        OutcomeClass.PASSED,
        OutcomeClass.FAILED,
        OutcomeClass.AGENT_LIMIT,
        OutcomeClass.AGENT_REFUSED,
        OutcomeClass.AGENT_ERROR,
    }
)
_PROVIDERS: frozenset[OutcomeClass] = frozenset(
    {OutcomeClass.PROVIDER_AUTH, OutcomeClass.PROVIDER_RATE_LIMIT, OutcomeClass.PROVIDER_ERROR}
)
_OTHERS: Mapping[OutcomeClass, Owner] = {
    OutcomeClass.VERIFIER_ERROR: Owner.TASK,
    OutcomeClass.TASK_INVALID: Owner.TASK,
    OutcomeClass.PROFILE_INVALID: Owner.USER,
    OutcomeClass.BUDGET_EXHAUSTED: Owner.USER,
    OutcomeClass.CANCELLED: Owner.USER,
    OutcomeClass.UNCLASSIFIED: Owner.NOBODY,
}
"""Owners of classes that are neither the model's, a provider's nor the infrastructure's."""


def _owners(name: OutcomeClass) -> tuple[Owner, ...]:
    """Whose a class may be. Only a sandbox's own memory limit is by policy: the run set's, or one for all."""
    if name is OutcomeClass.OUT_OF_MEMORY:
        return Owner.POLICY, Owner.MODEL, Owner.INFRASTRUCTURE
    if name in _MODELS:
        return (Owner.MODEL,)
    return (Owner.PROVIDER,) if name in _PROVIDERS else (_OTHERS.get(name, Owner.INFRASTRUCTURE),)


def _class_complaints(name: OutcomeClass, rule: ClassRule) -> Iterator[_Complaint]:
    owners = _owners(name)
    if rule.owner not in owners:
        known = " or ".join(repr(owner.value) for owner in owners)
        yield _Complaint("owner", f"{rule.owner.value!r}: whose {name.value} is, no policy may change: {known}.")
    verdict = _verdict(name, rule.owner)
    if rule.verdict != verdict:
        yield _Complaint("verdict", f"{rule.verdict!r}: {_WHY_VERDICT[verdict]}: {verdict!r}.")
    if name in _MODELS and rule.retry is not Retry.NEVER:
        yield _Complaint("retry", f"{rule.retry.value!r}: a verdict is final: 'never'.")
    by_hand = rule.owner in (Owner.TASK, Owner.USER, Owner.NOBODY)
    if by_hand and rule.retry not in (Retry.NEVER, Retry.RESUME):
        yield _Complaint("retry", f"{rule.retry.value!r}: a person has to change something: 'never' or 'resume'.")
    if rule.retry is Retry.LANE and rule.owner is not Owner.PROVIDER:
        yield _Complaint("retry", "'lane': only what is a provider's waits for a provider.")


def _verdict(name: OutcomeClass, owner: Owner) -> str:
    if owner is Owner.POLICY:
        return "policy"
    if owner is not Owner.MODEL:
        return "none"
    return "pass" if name is OutcomeClass.PASSED else "fail"


_WHY_VERDICT: Mapping[str, str] = {
    "none": "what is not the model's is owed and has no verdict",
    "pass": "that is what passed means",
    "fail": "what is the model's and did not pass is a fail",
    "policy": "it follows from whose it is",
}

# --- fields that a rule may look at -----------------------------------------------------------------------------------

_YES_OR_NO: frozenset[str] = frozenset(
    {"failed", "oom", "crashed", "refused", "graded", "output_truncated", "below_min_reward"}
)
_NUMBERS: frozenset[str] = frozenset({"exit_code", "signal", "http_status", "engine_exit", "retry_after", "tries"})
_WORDS: Mapping[str, frozenset[str]] = {
    "source": frozenset(
        {"task", "profile", "user", "queue", "provider", "engine", "registry", "agent", "sandbox", "harness"}
    ),
    "reason": frozenset({"cancelled", "budget", "lease_lost", "secret_missing"}),
    "limit": frozenset(AgentLimit),
    "exec_limit": frozenset(LimitKind),
    "problem": frozenset(VerifierProblem),
    "reference": frozenset({"passed", "failed", "absent"}),
    "exception": frozenset(),
    "kube_reason": frozenset(),
    "step": frozenset(),
}
"""Fields that are words, with the words there are; none are listed where others choose them."""
_OF_GRADING: frozenset[str] = frozenset({"passed", "problem"})
_OF_EVIDENCE: frozenset[str] = _YES_OR_NO | _NUMBERS | frozenset(_WORDS)


def _fields_complaints(rule: Rule) -> Iterator[_Complaint]:
    """What can never match, so that a mistyped name is no silent rule."""
    if not rule.when:
        yield _Complaint("when", "It fits everything: a rule looks at something.")
    known = _OF_GRADING if rule.phase == "grading" else _OF_EVIDENCE
    for field, wanted in rule.when.items():
        if field == "fault":
            yield _Complaint(
                "when.fault", "no rule may look at 'fault': what was made on purpose is as the real thing."
            )
        elif field not in known:
            near = difflib.get_close_matches(field, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known))}."
            yield _Complaint(f"when.{field}", f"Phase {rule.phase!r} has no field of that name; {hint}")
        elif problem := _never_holds(field, wanted):
            yield _Complaint(f"when.{field}", problem)


def _never_holds(field: str, wanted: object) -> str:
    if isinstance(wanted, Mapping):
        return _range_problem(wanted) if field in _NUMBERS else "A range is of numbers; this field is none."
    if isinstance(wanted, list):
        one_by_one = [_value_problem(field, one) for one in wanted]
        return next(filter(None, one_by_one), "") if wanted else "An empty list fits nothing."
    return _value_problem(field, wanted)


def _range_problem(wanted: Mapping[object, object]) -> str:
    ends = [wanted.get(end) for end in ("ge", "le") if end in wanted]
    if not ends or len(ends) != len(wanted):
        return "A range is { ge = NUMBER, le = NUMBER }, or one of them."
    numbers = [end for end in ends if isinstance(end, int | float) and not isinstance(end, bool) and math.isfinite(end)]
    if len(numbers) != len(ends):
        return "The ends of a range are numbers."
    return "The range is empty." if numbers != sorted(numbers) else ""


def _value_problem(field: str, wanted: object) -> str:
    if field in _NUMBERS:
        number = type(wanted) is int or (field == "retry_after" and type(wanted) is float and math.isfinite(wanted))
        return "" if number else f"{wanted!r} can never be: it is a number."
    if field in _WORDS:
        known = _WORDS[field]
        if not isinstance(wanted, str):
            return f"{wanted!r} can never be: it is a word."
        return "" if not known or wanted in known else f"{wanted!r} can never be; there are {', '.join(sorted(known))}."
    return "" if isinstance(wanted, bool) else f"{wanted!r} can never be: it is true or false."


# --- what a class rests on --------------------------------------------------------------------------------------------

_EARLY: frozenset[str] = frozenset({"prepare", "image", "start", "healthcheck", "agent_setup"})
"""Phases whose failure is a fault by itself: no agent has worked yet, or it is the step's own preparation."""
_TOLD_BY_US: frozenset[str] = frozenset({"source", "exception", "reason", "http_status", "kube_reason", "engine_exit"})
"""Fields that say who ended an attempt. Exit codes, signals and limits are in the agent's hands."""


def _word_complaints(policy: OutcomePolicy, rule: Rule) -> Iterator[_Complaint]:
    passed = rule.when.get("passed")
    if "passed" in rule.when and not isinstance(passed, bool):
        yield _Complaint("when.passed", "The verifier says yes or no: true or false, one of them.")
    if rule.outcome is OutcomeClass.PASSED:
        yield from _passed_complaints(rule)
    elif passed is True:
        yield _Complaint("class", f"{rule.outcome.value!r}: what the verifier passed is passed.")
    elif rule.outcome in _OWN_WORDS:
        yield from _OWN_WORDS[rule.outcome](rule)
    elif policy.classes[rule.outcome].owner is Owner.MODEL:
        yield from _model_complaints(rule)
    else:
        yield from _others_complaints(rule)


def _passed_complaints(rule: Rule) -> Iterator[_Complaint]:
    if rule.phase != "grading" or rule.when != {"passed": True}:
        field = "when.passed" if "passed" in rule.when else "when"
        yield _Complaint(field, "Only what the verifier passed is passed: phase 'grading', { passed = true }.")


def _unclassified_complaints(_: Rule) -> Iterator[_Complaint]:
    yield _Complaint("class", "'unclassified' is what no rule knows; no rule makes it.")


def _memory_complaints(rule: Rule) -> Iterator[_Complaint]:
    if not _ended_by_memory(rule):
        yield _Complaint("when", "Only what Proctor saw run out of memory is: { oom = true }.")


def _verifier_complaints(rule: Rule) -> Iterator[_Complaint]:
    if rule.phase != "grading" or rule.when.keys() != {"problem"}:
        yield _Complaint(
            "when", "Only a verifier that said neither yes nor no broke: phase 'grading', { problem = … }."
        )


_OWN_WORDS: Mapping[OutcomeClass, Callable[[Rule], Iterator[_Complaint]]] = {
    OutcomeClass.UNCLASSIFIED: _unclassified_complaints,
    OutcomeClass.OUT_OF_MEMORY: _memory_complaints,
    OutcomeClass.VERIFIER_ERROR: _verifier_complaints,
}


def _ended_by_memory(rule: Rule) -> bool:
    when = rule.when
    return when.get("oom") is True or when.get("exec_limit") == "memory" or when.get("kube_reason") == "OOMKilled"


def _model_complaints(rule: Rule) -> Iterator[_Complaint]:
    """A fail rests on the verifier's no; or on what the agent itself did so that none could be asked."""
    source = rule.when.get("source")
    if "source" in rule.when and source != "agent":
        yield _Complaint("when.source", f"{source!r} is not the model's: it is owed and has no verdict.")
    said_no = rule.phase == "grading" and rule.when.get("passed") is False
    broke_it = rule.phase == "verify" and rule.when.get("reference") == "passed"
    if rule.outcome is OutcomeClass.FAILED:
        if not (said_no or broke_it):
            told = "phase 'grading', { passed = false }; or phase 'verify', { reference = 'passed' }"
            yield _Complaint("when", f"Only what the verifier failed is failed: {told}.")
        return
    graded = rule.phase != "grading" and rule.when.get("graded") is True
    refused = rule.phase == "agent" and rule.when.get("refused") is True
    left_it = rule.phase == "collect" and source == "agent"
    if not (said_no or broke_it or graded or refused or left_it):
        yield _Complaint(
            "when", f"{rule.outcome.value!r} is a fail: the verifier must have said no: {{ graded = true }}."
        )


def _others_complaints(rule: Rule) -> Iterator[_Complaint]:
    """What is not the model's rests on what Proctor saw of it; an agent could else have its fails taken back."""
    if rule.when.get("passed") is False:
        yield _Complaint("class", f"{rule.outcome.value!r}: what the verifier failed is the model's.")
    sources = rule.when.get("source")
    named = sources if isinstance(sources, list) else [sources]
    if "agent" in named and rule.phase != "agent_setup":
        yield _Complaint("when.source", f"'agent' is the model's own and never makes {rule.outcome.value!r}.")
    if rule.outcome in _PROVIDERS and named != ["provider"]:
        yield _Complaint("when", "A provider ended an attempt only by the gateway's log: { source = 'provider' }.")
    agents = [one for one in _AGENTS_WORK.items() if _names(rule.when.get(one[0]), one[1])]
    if agents and "source" not in rule.when:
        field, word = agents[0]
        yield _Complaint(f"when.{field}", f"{word!r} is the agent's work and never makes {rule.outcome.value!r}.")
    early = rule.phase in _EARLY and rule.when.get("failed") is True
    if not early and not rule.when.keys() & _TOLD_BY_US:
        told = ", ".join(sorted(_TOLD_BY_US))
        message = f"Exit codes, signals and limits are in the agent's hands and never make {rule.outcome.value!r}"
        yield _Complaint("when", f"{message}: look at one of {told}.")


_AGENTS_WORK: Mapping[str, str] = {"exception": "TransferRefused", "kube_reason": "OOMKilled"}
"""What Proctor records that an agent can bring about: hostile files that it leaves, memory that it takes."""


def _names(wanted: object, word: str) -> bool:
    return word in wanted if isinstance(wanted, list) else wanted == word


# --- order ------------------------------------------------------------------------------------------------------------


def _check_order(policy: OutcomePolicy, where: str) -> None:
    """A pass first, then what was not the model's, then the verifier's word."""
    ranks = [_rank(policy, rule) for rule in policy.rules]
    for rule, before, rank in zip(policy.rules[1:], ranks, ranks[1:], strict=False):
        if rank < before:
            raise PolicyInvalid(
                f"Rule {rule.id!r} stands too late: a pass comes first, then infrastructure, provider and user, "
                "then the verifier's word.",
                where=f"{where}: rule {rule.id!r}",
            )


def _rank(policy: OutcomePolicy, rule: Rule) -> int:
    if rule.outcome is OutcomeClass.PASSED:
        return 0
    model = policy.classes[rule.outcome].owner is Owner.MODEL
    return 2 if model or rule.outcome is OutcomeClass.VERIFIER_ERROR else 1


def _check_whole(policy: OutcomePolicy, where: str) -> None:
    """Without a rule for each of the verifier's words its verdicts would be owed, and asked for until they please;
    without one for what others did, that would be the model's fail wherever a verifier said no."""
    for outcome, said in ((OutcomeClass.PASSED, True), (OutcomeClass.FAILED, False)):
        if not any(rule.outcome is outcome and rule.when == {"passed": said} for rule in policy.rules):
            told = f"{{ passed = {str(said).lower()} }}"
            raise PolicyInvalid(f"No rule makes a grading with {told} {outcome.value!r}.", where=f"{where}: rules")
    owed = [rule for rule in policy.rules if _rank(policy, rule) == 1]
    for phase, facts in _NOT_THE_MODELS:
        if not any(rule.fits(phase, {"failed": True, "graded": True, **facts}) for rule in owed):
            seen = ", ".join(f"{field} = {value!r}" for field, value in facts.items()) or "failed = true"
            message = (
                f"No rule is for a phase {phase!r} that ended with {{ {seen} }}: that is not the model's, and owed."
            )
            raise PolicyInvalid(message, where=f"{where}: rules")


_NOT_THE_MODELS: tuple[tuple[str, Mapping[str, Json]], ...] = (
    ("prepare", {"source": "task"}),
    ("prepare", {"source": "profile"}),
    ("image", {"source": "registry", "http_status": 429}),
    ("image", {"source": "engine", "engine_exit": 18}),
    ("start", {"source": "sandbox"}),
    ("start", {"kube_reason": "ImagePullBackOff"}),
    ("healthcheck", {}),
    ("agent_setup", {"source": "agent"}),
    *(("agent", {"source": "provider", "http_status": status}) for status in (400, 401, 403, 404, 422, 429, 500, 529)),
    ("agent", {"source": "provider"}),
    ("agent", {"source": "sandbox"}),
    ("agent", {"source": "user", "reason": "cancelled"}),
    ("agent", {"source": "user", "reason": "budget"}),
    *(("agent", {"kube_reason": reason}) for reason in ("Evicted", "NodeLost", "Preempting", "Shutdown")),
    ("collect", {"source": "sandbox"}),
    ("verify", {"source": "harness"}),
    ("record", {"source": "queue", "reason": "lease_lost"}),
)
"""What ends an attempt without being the model's, as Proctor records it; every policy has rules that own it."""
