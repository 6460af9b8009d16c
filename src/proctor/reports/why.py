"""Why an attempt came to its class, in one line: what ended it, as Proctor itself saw it, and the first words of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor.engine.evidence import Phase
from proctor.engine.outcomes import OutcomeClass
from proctor.reports.formats import one_line

__all__ = ["why"]

LONGEST: int = 300
"""Characters: three lines of a narrow column."""
_FACTS: Mapping[str, str] = {
    "http_status": "HTTP {}",
    "provider_code": "{}",
    "registry": "{}",
    "service": "service {}",
    "kube_reason": "{}",
    "engine_exit": "engine exit {}",
    "signal": "signal {}",
    "oom": "out of memory",
    "exec_limit": "{} limit",
}
"""What is told of a phase beside words: nothing that an agent or a task could have printed."""
_OF_THE_AGENT: frozenset[str] = frozenset(
    {OutcomeClass.AGENT_LIMIT, OutcomeClass.AGENT_REFUSED, OutcomeClass.AGENT_ERROR, OutcomeClass.OUT_OF_MEMORY}
)
"""Classes that rest on the agent's phase, whatever the verifier said."""

_SUMMARY = re.compile(r"FAILED (?!\()")
"""A test that pytest's summary names; not unittest's count of them."""
_FAILURE = re.compile(
    r"(\W{0,5}(fail|failed|failure|wrong|incorrect|mismatch|missing|error|not ok|fatal|panic|assert)\b"
    r"|[\w.]{0,100}(Error|Exception)\b|[\u2715\u2717\u2718\u274c]|.{1,200} (\.\.\.|-) (FAILED|FAIL|WRONG|ERROR)\b)",
    re.IGNORECASE,
)
"""How a line begins, or a named check ends, that says what failed: unittest, TAP, Go, Rust, Jest, plain words."""

Facts = Mapping[str, Any]


def why(
    outcome: str | None,
    rule: str | None,
    phase: str,
    evidence: Sequence[Facts],
    graded: Facts | None,
    rewards: Facts | None,
) -> str:
    """Never empty. ``outcome``: ``None`` while it runs, in ``phase``. ``evidence``: each phase, with its detail.

    ``graded`` and ``rewards``: of the grading that the outcome rests on.
    """
    if outcome is None:
        return f"running: {phase}" if phase else "running"
    told = "; ".join(_told(outcome, evidence, graded, rewards)) or f"{outcome.replace('_', ' ')} by rule {rule}"
    return one_line(told, at_most=LONGEST)


def _told(outcome: str, evidence: Sequence[Facts], graded: Facts | None, rewards: Facts | None) -> Iterator[str]:
    ended = [one for one in evidence if one["detail"].get("failed")]
    if outcome == OutcomeClass.PASSED:
        yield _reward(rewards)
    elif ended:
        yield _of_phase(ended[-1])
    elif outcome in _OF_THE_AGENT and (agent := _last(evidence, Phase.AGENT)) is not None:
        yield _of_phase(agent)
        yield _reward(rewards)
    elif graded is not None:
        yield _of_grading(graded, rewards)
    if outcome != OutcomeClass.AGENT_LIMIT and (limit := _limit(evidence)):
        yield f"the agent reached its {limit} limit"


def _last(evidence: Sequence[Facts], phase: Phase) -> Facts | None:
    return next((one for one in reversed(evidence) if one["phase"] == phase), None)


def _limit(evidence: Sequence[Facts]) -> str | None:
    return next((str(one["detail"]["limit"]) for one in evidence if one["detail"].get("limit")), None)


def _of_phase(item: Facts) -> str:
    detail = item["detail"]
    step = f" ({detail['step']})" if detail.get("step") else ""
    words = ", ".join(_words(detail)) or "failed"
    return f"{item['phase']}{step}: {words}"


def _words(detail: Facts) -> Iterator[str]:
    """What was said first; else what kind of thing it was. Then the facts beside it."""
    if detail.get("limit"):
        yield f"reached its {detail['limit']} limit"
    if detail.get("refused"):
        yield "the model refused"
    said = _first_line(detail.get("message")) or detail.get("reason") or detail.get("exception")
    if said:
        yield str(said).replace("_", " ") if said == detail.get("reason") else str(said)
    for name, words in _FACTS.items():
        if detail.get(name):
            yield words.format(detail[name])
    if detail.get("exit_code"):
        yield f"exit {detail['exit_code']}"
    printed = _last_line(detail.get("stderr_tail"))
    if printed and not said and not detail.get("limit"):
        yield printed


def _of_grading(graded: Facts, rewards: Facts | None) -> str:
    problem = graded.get("problem")
    words = [str(problem).replace("_", " ") if problem else _reward(rewards)]
    if graded.get("exit_code"):
        words.append(f"exit {graded['exit_code']}")
    if graded.get("signal"):
        words.append(f"signal {graded['signal']}")
    printed = _cause(graded.get("stderr_tail")) or _cause(graded.get("stdout_tail"))
    return ", ".join(["verify: " + words[0], *words[1:], *([printed] if printed else [])])


def _reward(rewards: Facts | None) -> str:
    told = ", ".join(f"{name} {value:g}" for name, value in (rewards or {}).items())
    return told or "no reward"


def _first_line(text: object) -> str:
    return next((line.strip() for line in str(text or "").splitlines() if line.strip()), "")


def _cause(text: object) -> str:
    """Of a verifier's own output: the first test that pytest's summary names; the first failure; what it said last."""
    lines = [line.strip() for line in str(text or "").splitlines() if line.strip()]
    for kind in (_SUMMARY, _FAILURE):
        if found := next((line for line in lines if kind.match(line)), ""):
            return found
    return lines[-1] if lines else ""


def _last_line(text: object) -> str:
    """Of standard error: what a program says last is mostly why it ended."""
    return next((line.strip() for line in reversed(str(text or "").splitlines()) if line.strip()), "")
