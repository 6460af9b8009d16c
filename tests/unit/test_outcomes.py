"""Outcomes: the class that evidence makes, and what follows, under the policy that ships."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from proctor.engine.errors import PolicyInvalid
from proctor.engine.evidence import Evidence, GradingFacts, Phase, VerifierProblem
from proctor.engine.outcomes import (
    CURRENT_POLICY,
    Outcome,
    OutcomeClass,
    Owner,
    classify,
    dispose,
    final_classes,
    load_policy,
    parse_policy,
)
from proctor.engine.phases import PhaseFailed, PhaseRecorder
from proctor.kernel.canonical import Json
from proctor.kernel.clock import SystemClock
from proctor.sandboxes.errors import LeftBroken, NothingThere, TransferRefused

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = load_policy(CURRENT_POLICY)


def seen(phase: Phase, seq: int = 1, **detail: Json) -> Evidence:
    return Evidence(phase=phase, seq=seq, started_at=NOW, ended_at=NOW, detail=detail)


def graded(passed: bool | None, problem: VerifierProblem | None = None) -> GradingFacts:
    return GradingFacts(
        number=1,
        verifier_digest="v",
        mode="snapshot",
        backend="fake",
        forgeable=False,
        rewards={"reward": 1.0 if passed else 0.0} if passed is not None else None,
        passed=passed,
        problem=problem,
        graded_at=NOW,
    )


def outcome_of(*evidence: Evidence, grading: GradingFacts | None = None, memory: Owner = Owner.MODEL) -> Outcome:
    return classify(POLICY, evidence, grading, out_of_memory=memory)


CASES: list[tuple[str, Evidence, GradingFacts | None, OutcomeClass, bool | None]] = [
    ("pass", seen(Phase.AGENT, exit_code=0), graded(True), OutcomeClass.PASSED, True),
    ("fail", seen(Phase.AGENT, exit_code=0), graded(False), OutcomeClass.FAILED, False),
    ("pass at the limit", seen(Phase.AGENT, limit="time"), graded(True), OutcomeClass.PASSED, True),
    ("fail at the limit", seen(Phase.AGENT, limit="time"), graded(False), OutcomeClass.AGENT_LIMIT, False),
    ("pass after a crash", seen(Phase.AGENT, crashed=True, exit_code=1), graded(True), OutcomeClass.PASSED, True),
    ("crash", seen(Phase.AGENT, crashed=True, exit_code=1), graded(False), OutcomeClass.AGENT_ERROR, False),
    ("refusal", seen(Phase.AGENT, refused=True), graded(False), OutcomeClass.AGENT_REFUSED, False),
    ("limit without a verifier's word", seen(Phase.AGENT, limit="time"), None, OutcomeClass.UNCLASSIFIED, None),
    (
        "no reward",
        seen(Phase.AGENT, exit_code=0),
        graded(None, VerifierProblem.MISSING),
        OutcomeClass.VERIFIER_ERROR,
        None,
    ),
    (
        "malformed task",
        seen(Phase.PREPARE, failed=True, source="task", exception="TaskUnsupported"),
        None,
        OutcomeClass.TASK_INVALID,
        None,
    ),
    ("docker exits 18", seen(Phase.IMAGE, source="engine", engine_exit=18), None, OutcomeClass.IMAGE_ERROR, None),
    ("registry 429", seen(Phase.IMAGE, source="registry", http_status=429), None, OutcomeClass.IMAGE_ERROR, None),
    ("model 429", seen(Phase.AGENT, source="provider", http_status=429), None, OutcomeClass.PROVIDER_RATE_LIMIT, None),
    ("model 401", seen(Phase.AGENT, source="provider", http_status=401), None, OutcomeClass.PROVIDER_AUTH, None),
    ("model 529", seen(Phase.AGENT, source="provider", http_status=529), None, OutcomeClass.PROVIDER_ERROR, None),
    ("model 404", seen(Phase.AGENT, source="provider", http_status=404), None, OutcomeClass.PROFILE_INVALID, None),
    ("connection", seen(Phase.AGENT, source="provider"), None, OutcomeClass.PROVIDER_ERROR, None),
    ("sandbox", seen(Phase.START, failed=True, source="sandbox"), None, OutcomeClass.SANDBOX_ERROR, None),
    ("our bug", seen(Phase.VERIFY, failed=True, source="harness"), None, OutcomeClass.HARNESS_ERROR, None),
    ("setup", seen(Phase.AGENT_SETUP, failed=True, source="agent"), None, OutcomeClass.AGENT_SETUP_ERROR, None),
    ("evicted", seen(Phase.AGENT, kube_reason="Evicted"), None, OutcomeClass.NODE_LOST, None),
    ("pull back-off", seen(Phase.START, kube_reason="ImagePullBackOff"), None, OutcomeClass.IMAGE_ERROR, None),
    ("worker died", seen(Phase.RECORD, source="queue", reason="lease_lost"), None, OutcomeClass.LEASE_LOST, None),
    ("cancelled", seen(Phase.AGENT, source="user", reason="cancelled"), None, OutcomeClass.CANCELLED, None),
    ("budget", seen(Phase.AGENT, source="user", reason="budget"), None, OutcomeClass.BUDGET_EXHAUSTED, None),
    ("nothing known", seen(Phase.AGENT, exit_code=18), None, OutcomeClass.UNCLASSIFIED, None),
]


@pytest.mark.parametrize(
    ("evidence", "grading", "wanted", "verdict"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_what_evidence_makes(
    evidence: Evidence, grading: GradingFacts | None, wanted: OutcomeClass, verdict: bool | None
) -> None:
    found = outcome_of(evidence, grading=grading)
    assert (found.outcome, found.verdict) == (wanted, verdict)


def test_a_verifiers_no_after_a_providers_failure_is_no_verdict() -> None:
    found = outcome_of(seen(Phase.AGENT, source="provider", http_status=503), grading=graded(False))
    assert (found.outcome, found.verdict) == (OutcomeClass.PROVIDER_ERROR, None)


def test_a_pass_wins_over_everything() -> None:
    found = outcome_of(seen(Phase.AGENT, source="provider", http_status=503), grading=graded(True))
    assert (found.outcome, found.verdict) == (OutcomeClass.PASSED, True)


def test_a_pass_at_a_limit_says_which() -> None:
    assert outcome_of(seen(Phase.AGENT, limit="time"), grading=graded(True)).limit == "time"


@pytest.mark.parametrize(
    "printed", ["rate limit exceeded", "HTTP 429", "ImagePullBackOff", "exit code 18", "OOMKilled"]
)
def test_nothing_that_was_printed_makes_a_class(printed: str) -> None:
    found = outcome_of(seen(Phase.AGENT, crashed=True, exit_code=1, stderr_tail=printed), grading=graded(False))
    assert found.outcome is OutcomeClass.AGENT_ERROR


@pytest.mark.parametrize(
    ("owner", "verdict"), [(Owner.MODEL, False), (Owner.INFRASTRUCTURE, None)], ids=["model", "infrastructure"]
)
def test_memory_belongs_to_whom_the_run_set_says(owner: Owner, verdict: bool | None) -> None:
    found = outcome_of(seen(Phase.AGENT, oom=True), grading=graded(False), memory=owner)
    assert (found.outcome, found.owner, found.verdict) == (OutcomeClass.OUT_OF_MEMORY, owner, verdict)


def test_every_class_is_in_the_policy_and_only_the_models_have_verdicts() -> None:
    for name, rule in POLICY.classes.items():
        assert (rule.verdict in ("pass", "fail")) == (rule.owner is Owner.MODEL), name


def test_faults_of_one_attempt_wait_and_end_in_the_dead_letters() -> None:
    found = outcome_of(seen(Phase.START, failed=True, source="sandbox"))
    waits = [dispose(POLICY, found, tries=tries, jitter=0.0) for tries in range(4)]
    assert [d.delay for d in waits[:3]] == [1.0, 4.0, 16.0]
    assert waits[3].dead
    assert [d.used for d in waits] == [1, 1, 1, 1]
    assert dispose(POLICY, found, tries=0, jitter=1.0).delay == pytest.approx(1.2)


def test_waiting_for_a_provider_uses_no_try() -> None:
    found = outcome_of(seen(Phase.AGENT, source="provider", http_status=429))
    disposal = dispose(POLICY, found, tries=50, jitter=0.0)
    assert (disposal.close_lane, disposal.used, disposal.dead) == (True, 0, False)


def test_a_bug_of_ours_is_tried_once_more() -> None:
    found = outcome_of(seen(Phase.VERIFY, failed=True, source="harness"))
    assert not dispose(POLICY, found, tries=0, jitter=0.0).dead
    assert dispose(POLICY, found, tries=1, jitter=0.0).dead


def test_unknown_outcomes_are_never_retried_automatically() -> None:
    assert dispose(POLICY, outcome_of(), tries=0, jitter=0.0).dead
    assert outcome_of().owner is Owner.NOBODY


def test_verdicts_and_hopeless_classes_are_done() -> None:
    assert dispose(POLICY, outcome_of(grading=graded(False)), tries=0, jitter=0.0).done
    assert final_classes(POLICY) == ["task_invalid", "profile_invalid"]


def _shipped() -> str:
    return files("proctor.engine").joinpath(f"policies/{CURRENT_POLICY}.toml").read_text(encoding="utf-8")


def replaced(old: str, new: str) -> str:
    assert old in _shipped()
    return _shipped().replace(old, new)


def test_a_policy_that_is_not_toml_is_refused() -> None:
    with pytest.raises(PolicyInvalid, match="x.toml"):
        parse_policy("[classes", where="x.toml")


def test_a_policy_with_an_unknown_class_is_refused() -> None:
    with pytest.raises(PolicyInvalid, match="rule 'task-invalid': class: 'tsak_invalid'"):
        parse_policy(replaced('class = "task_invalid"', 'class = "tsak_invalid"'), where="x.toml")


def test_a_policy_without_a_class_is_refused() -> None:
    with pytest.raises(PolicyInvalid, match="node_lost"):
        parse_policy(re.sub(r"(?m)^node_lost .*$", "", _shipped()), where="x.toml")


def test_a_policy_that_breaks_the_precedence_is_refused() -> None:
    late = '\n[[rules]]\nid = "late"\nclass = "image_error"\nphase = "image"\nwhen = { failed = true }\n'
    with pytest.raises(PolicyInvalid, match="'late' stands too late"):
        parse_policy(_shipped() + late, where="x.toml")


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(PolicyInvalid, match="outcomes-0"):
        load_policy("outcomes-0")


@pytest.mark.parametrize("error", [TransferRefused("a device"), NothingThere("gone"), LeftBroken("no shell")])
def test_whatever_is_wrong_with_what_an_agent_left_is_the_agents(error: TransferRefused) -> None:
    recorder = PhaseRecorder(SystemClock())
    with pytest.raises(PhaseFailed), recorder.phase(Phase.COLLECT):
        raise error
    outcome = outcome_of(*recorder.evidence)
    assert (outcome.outcome, outcome.owner) == (OutcomeClass.AGENT_LIMIT, Owner.MODEL)
