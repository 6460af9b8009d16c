"""Fault plans: who is hit, what each fault leaves in the evidence, and that no rule looks at its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.resources import files
from uuid import UUID, uuid5

import pytest

from proctor.agents.errors import ProviderFailed
from proctor.agents.noop import Noop
from proctor.engine.assignments import Assignment, LoadedTask
from proctor.engine.certificates.runs import OneTask
from proctor.engine.errors import PolicyInvalid
from proctor.engine.evidence import Evidence, GradingFacts, Phase, VerifierProblem, retry_after
from proctor.engine.faults.agents import FaultyAgent
from proctor.engine.faults.hits import Hit
from proctor.engine.faults.plan import FaultKind, planned_faults, profile_plan
from proctor.engine.faults.sandboxes import FaultyBackend
from proctor.engine.outcomes import CURRENT_POLICY, OutcomeClass, classify, load_policy, parse_policy
from proctor.engine.phases import PhaseFailed, PhaseRecorder
from proctor.engine.spec import Fault
from proctor.kernel.canonical import Json
from proctor.kernel.clock import SystemClock
from proctor.sandboxes.errors import ImagePullFailed, NodeLost, SandboxError
from proctor.sandboxes.fake import FakeBackend
from proctor.sandboxes.interfaces import ExecRequest, SandboxSpec
from tests.contracts.sandboxes import SandboxContract, labels

NIL = UUID(int=0)
CELLS = [uuid5(NIL, str(number)) for number in range(4_000)]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def plan(*faults: Fault, profile: str = "p") -> Mapping[str, Json]:
    return {"fault_plan": profile_plan(faults, profile)}


def fault(kind: str, **more: object) -> Fault:
    return Fault.model_validate({"kind": kind, **more})


def hit(*faults: Fault, task: str = "org/task-1") -> Hit:
    assignment = Assignment(
        tenant=NIL,
        cell=NIL,
        attempt=NIL,
        number=1,
        token=1,
        tries=0,
        run_set=NIL,
        content_digest="c",
        configuration={},
        provider="",
        trace_id="",
        policy_version=CURRENT_POLICY,
    )
    loaded = LoadedTask(content_digest="c", agent_digest="a", verifier_digest="v", name=task, task=None, folder=None)
    return Hit(planned_faults(plan(*faults)), assignment, OneTask(loaded))


# --- who is hit ---------------------------------------------------------------------------------------------------


def test_only_the_named_attempts_are_hit() -> None:
    (one,) = planned_faults(plan(fault("eviction", attempts=[2, 4])))
    assert [number for number in range(1, 6) if one.may_hit(CELLS[0], number)] == [2, 4]
    (first,) = planned_faults(plan(fault("eviction")))
    assert [number for number in range(1, 6) if first.may_hit(CELLS[0], number)] == [1]


def test_a_share_of_the_cells_is_hit_and_the_seed_chooses_which() -> None:
    def chosen(seed: int, share: float = 0.3) -> set[UUID]:
        (one,) = planned_faults(plan(fault("eviction", share=share, seed=seed)))
        return {cell for cell in CELLS if one.may_hit(cell, 1)}

    assert len(chosen(7)) == pytest.approx(0.3 * len(CELLS), rel=0.1)
    assert chosen(7) == chosen(7)
    assert chosen(7) != chosen(8)
    assert chosen(7) < chosen(7, 0.6), "a greater share adds cells"
    (every,) = planned_faults(plan(fault("eviction")))
    assert all(every.may_hit(cell, 1) for cell in CELLS)


def test_which_cells_are_hit_does_not_move_between_releases() -> None:
    (one,) = planned_faults(plan(fault("eviction", share=0.5, seed=7)))
    assert [n for n in range(8) if one.may_hit(CELLS[n], 1)] == [1, 2, 3, 4, 6, 7]


def test_a_plan_is_of_the_profiles_that_it_can_hit_and_knows_no_names() -> None:
    faults = [fault("eviction", profiles=["p", "q"]), fault("pull_drop")]
    assert profile_plan(faults, "p") == profile_plan(faults, "q") != profile_plan(faults, "r")
    assert profile_plan(faults[:1], "r") is None
    assert planned_faults({"fault_plan": None}) == planned_faults({}) == ()
    assert "profiles" not in str(profile_plan(faults, "p"))


@pytest.mark.parametrize(
    "change", [{"kind": "oom_kill"}, {"tasks": "x"}, {"attempts": [2]}, {"share": 0.5}, {"share": 0.5, "seed": 2}]
)
def test_everything_of_an_entry_is_in_the_digest(change: dict[str, object]) -> None:
    before, after = profile_plan([fault("eviction")], "p"), profile_plan([fault(**{"kind": "eviction", **change})], "p")  # type: ignore[arg-type]
    assert before is not None
    assert after is not None
    assert before["digest"] != after["digest"]


def test_the_first_entry_that_fits_is_made_and_told_once() -> None:
    made = hit(fault("eviction", tasks="other-*"), fault("pull_drop", tasks="task-*"), fault("oom_kill"))
    assert not made.makes(FaultKind.EVICTION)
    assert not made.makes(FaultKind.OOM_KILL)
    assert made.remarks() == {}
    assert made.makes(FaultKind.PULL_DROP)
    told = made.remarks()["fault"]
    assert re.fullmatch(r"plan [0-9a-f]{12}, entry 2: pull_drop", str(told))
    assert made.remarks() == {}


# --- what each leaves ---------------------------------------------------------------------------------------------


def recorded(error: Exception, phase: Phase) -> Evidence:
    recorder = PhaseRecorder(SystemClock(), remarks=lambda: {"fault": "plan x, entry 1: some"})
    with pytest.raises(PhaseFailed), recorder.phase(phase):
        raise error
    return recorder.evidence[0]


def chained(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


REAL: list[tuple[Exception, Phase, dict[str, Json], OutcomeClass]] = [
    (
        ImagePullFailed("unexpected EOF", engine_exit=18),
        Phase.IMAGE,
        {"source": "engine", "engine_exit": 18},
        OutcomeClass.IMAGE_ERROR,
    ),
    (
        ImagePullFailed("slow down", http_status=429),
        Phase.IMAGE,
        {"source": "registry", "http_status": 429},
        OutcomeClass.IMAGE_ERROR,
    ),
    (
        NodeLost(kube_reason="Evicted"),
        Phase.AGENT,
        {"source": "sandbox", "kube_reason": "Evicted"},
        OutcomeClass.NODE_LOST,
    ),
    (NodeLost(kube_reason="NodeLost"), Phase.COLLECT, {"kube_reason": "NodeLost"}, OutcomeClass.NODE_LOST),
    (
        ProviderFailed(http_status=429, retry_after=2.0),
        Phase.AGENT,
        {"source": "provider", "http_status": 429, "retry_after": 2.0},
        OutcomeClass.PROVIDER_RATE_LIMIT,
    ),
    (
        ProviderFailed(http_status=401),
        Phase.AGENT,
        {"source": "provider", "http_status": 401},
        OutcomeClass.PROVIDER_AUTH,
    ),
    (ProviderFailed(http_status=529), Phase.AGENT, {"http_status": 529}, OutcomeClass.PROVIDER_ERROR),
    (ProviderFailed("connection reset"), Phase.AGENT, {"source": "provider"}, OutcomeClass.PROVIDER_ERROR),
    (SandboxError("broke"), Phase.AGENT, {"source": "sandbox"}, OutcomeClass.SANDBOX_ERROR),
]


@pytest.mark.parametrize(
    ("error", "phase", "fields", "outcome"), REAL, ids=[f"{c[0].__class__.__name__}-{c[3]}" for c in REAL]
)
def test_what_ended_a_phase_is_told_and_classified(
    error: Exception, phase: Phase, fields: dict[str, Json], outcome: OutcomeClass
) -> None:
    item = recorded(error, phase)
    assert {"failed": True, "exception": type(error).__name__, **fields}.items() <= item.detail.items()
    found = classify(load_policy(CURRENT_POLICY), [item], None)
    assert found.outcome is outcome
    without = Evidence(
        phase=phase,
        seq=1,
        started_at=NOW,
        ended_at=NOW,
        detail={name: value for name, value in item.detail.items() if name != "fault"},
    )
    assert classify(load_policy(CURRENT_POLICY), [without], None) == found


def test_how_long_a_provider_wants_to_be_left_alone_is_read_from_what_ended_the_attempt() -> None:
    assert retry_after([recorded(ProviderFailed(http_status=429, retry_after=2.5), Phase.AGENT)]) == 2.5
    assert retry_after([recorded(ProviderFailed(http_status=429), Phase.AGENT)]) is None
    assert retry_after([]) is None


def test_a_policy_that_looks_at_faults_is_refused() -> None:
    shipped = files("proctor.engine").joinpath(f"policies/{CURRENT_POLICY}.toml").read_text(encoding="utf-8")
    looking = shipped.replace("when = { engine_exit = 18", "when = { fault = 'x'").replace(
        'when = { source = "registry" }', 'when = { fault = "x" }'
    )
    assert looking != shipped
    with pytest.raises(PolicyInvalid, match="no rule may look at 'fault'"):
        parse_policy(looking, where="x.toml")


def test_a_crashed_verifier_is_the_tasks() -> None:
    grading = GradingFacts(
        number=2,
        verifier_digest="v",
        mode="snapshot",
        backend="fake",
        forgeable=False,
        rewards=None,
        passed=None,
        problem=VerifierProblem.CRASH,
        graded_at=NOW,
    )
    assert classify(load_policy(CURRENT_POLICY), [], grading).outcome is OutcomeClass.VERIFIER_ERROR


# --- the wrappers --------------------------------------------------------------------------------------------------


class TestAFaultyBackendWithoutItsMoment(SandboxContract):
    @pytest.fixture
    def backend(self):  # type: ignore[no-untyped-def]
        return FaultyBackend(FakeBackend(), hit(fault("lost_worker")))


async def test_other_sessions_than_the_agents_survive_its_memory_limit() -> None:
    backend = FaultyBackend(FakeBackend(), hit(fault("oom_kill")))
    sandbox = await backend.create(SandboxSpec(labels=labels()))
    killed = await sandbox.exec(ExecRequest(argv=["x"], session="agent"))
    assert (killed.oom, killed.signal, killed.exit_code) == (True, 9, None)
    assert (await sandbox.exec(ExecRequest(argv=["x"], session="verifier"))).exit_code == 0
    assert (await sandbox.exec(ExecRequest(argv=["x"]))).exit_code == 0


async def test_an_agent_that_ran_no_command_is_evicted_all_the_same() -> None:
    sandbox = await FaultyBackend(FakeBackend(), hit(fault("eviction"))).create(SandboxSpec(labels=labels()))
    await sandbox.exec(ExecRequest(argv=["x"], session="setup"))
    with pytest.raises(NodeLost) as caught:
        await sandbox.kill_session("agent")
    assert caught.value.kube_reason == "Evicted"


def test_a_wrapped_agent_is_who_it_was() -> None:
    assert FaultyAgent(Noop(), hit(fault("auth_error"))).identity == Noop.identity
