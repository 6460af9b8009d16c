"""What becomes of a cell in Harbor's fields, and what stands beside because Harbor has no field for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.engine.evidence import Evidence, Phase
from proctor.engine.exporting import AttemptFacts, GradingRow, OutcomeRow, Try
from proctor.engine.outcomes import CURRENT_POLICY, OutcomeClass, load_policy
from proctor.engine.reading import CellRow
from proctor.reports.harbor.inputs import ExportedProfile, ExportedTask, exported_profiles, trial_lock
from proctor.reports.harbor.names import plain, step_folder, trial_name
from proctor.reports.harbor.ours import trial_document
from proctor.reports.harbor.trials import Trial, harbor_rewards, trial_config, trial_result

BEGUN = datetime(2026, 9, 18, 14, 5, tzinfo=UTC)
POLICIES: dict[str, Any] = {"agent_timeout": "task", "verifier_timeout": "task", "resources": "task"}
OWED = [name for name, rule in load_policy(CURRENT_POLICY).classes.items() if rule.verdict == "none"]
DIGEST = "a" * 64


def configuration(**parts: Any) -> dict[str, Any]:
    """The parts of a configuration document that an export looks at."""
    return {
        "agent": {"name": "scripted", "version": "1", "layer": None},
        "model": None,
        "thinking": None,
        "options": {},
        "policies": POLICIES,
        "sandbox": {"backend": "local", "environment": {}},
        **parts,
    }


def profiles(*documents: Mapping[str, Any]) -> dict[int, ExportedProfile]:
    """Profiles p0, p1, ... of these configurations."""
    rows = [
        {"position": place, "name": f"p{place}", "series": "s", "configuration": f"c{place}", "document": one}
        for place, one in enumerate(documents)
    ]
    return exported_profiles(rows)


def cell(number: int = 1, **parts: Any) -> CellRow:
    """A cell with a verdict of no."""
    fields = {
        "cell": UUID(int=number << 96),
        "profile": 0,
        "content_digest": DIGEST,
        "trial": 1,
        "reused": False,
        "withdrawn": None,
        "verdict": False,
        "reward": 0.0,
        "outcome": "failed",
        "owner": "model",
        "limit": "",
        "attempt": UUID(int=number),
        "attempts": 1,
    }
    return CellRow(**{**fields, **parts})


def grading(rewards: Mapping[str, float] | None, **detail: Any) -> GradingRow:
    """A grading by snapshot."""
    return GradingRow(number=1, mode="snapshot", forgeable=False, rewards=rewards, detail=detail, graded_at=BEGUN)


def phases(*told: tuple[str, Mapping[str, Any]]) -> tuple[Evidence, ...]:
    """Phases of a second each."""
    return tuple(
        Evidence(
            phase=Phase(phase),
            seq=number,
            started_at=BEGUN + timedelta(seconds=number),
            ended_at=BEGUN + timedelta(seconds=number + 1),
            detail=dict(detail),
        )
        for number, (phase, detail) in enumerate(told, start=1)
    )


def attempt(outcome: str = "failed", *, verdict: bool | None = False, **parts: Any) -> AttemptFacts:
    """An attempt that ended in a class."""
    fields: dict[str, Any] = {
        "id": UUID(int=1),
        "number": 1,
        "started_at": BEGUN,
        "ended_at": BEGUN + timedelta(minutes=1),
        "backend": "local",
        "last_segment": 0,
        "limits": {},
        "usage": None,
        "artifacts": {},
        "outcome": OutcomeRow(outcome=outcome, owner="whose", rule="by-rule", verdict=verdict, limit=""),
        "grading": None,
        "evidence": (),
        "tries": (Try(attempt=UUID(int=1), number=1, outcome=outcome, owner="whose", rule="by-rule"),),
    }
    return AttemptFacts(**{**fields, **parts})


def trial(facts: AttemptFacts, *, steps: Sequence[str] = (), profile: ExportedProfile | None = None) -> Trial:
    """A trial of that attempt."""
    return Trial(
        run_set=UUID(int=9),
        policy_version=CURRENT_POLICY,
        folder=Path("/jobs/job"),
        profile=profile or profiles(configuration())[0],
        task=ExportedTask(name="org/task", content_digest=DIGEST, dataset="set", steps=tuple(steps)),
        cell=cell(),
        facts=facts,
    )


# --- names ------------------------------------------------------------------------------------------------------------


@given(st.text(max_size=300))
def test_a_folders_name_is_one_harmless_component_whatever_a_task_is_called(text: str) -> None:
    for name in (plain(text), trial_name(text, UUID(int=5)), step_folder(text)):
        assert PurePosixPath(name).parts == (name,)
        assert not name.startswith(".")
        assert name.isprintable()
        assert 0 < len(name.encode()) <= 255


@pytest.mark.parametrize("text", ["..", "../../etc/passwd", "/etc/passwd", "", "\x1b[2J", "~root", "a\\..\\b"])
def test_names_that_would_climb(text: str) -> None:
    assert "/" not in trial_name(text, UUID(int=5))
    assert not plain(text).startswith((".", "~", "/"))


def test_a_trials_name_is_of_harbors_form_and_of_its_cell_alone() -> None:
    first, second = UUID(int=1 << 96), UUID(int=2 << 96)
    assert trial_name("org/growing-ledger", first) == "growing-ledger__0000000100000000"
    assert trial_name("org/growing-ledger", first) != trial_name("org/growing-ledger", second)
    assert trial_name("x" * 80, first).startswith("x" * 32 + "__")


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_profiles_that_harbor_would_count_as_one_are_told_apart() -> None:
    codex = {"name": "codex", "version": "2", "layer": None}
    found = profiles(
        configuration(),
        configuration(options={"script": {}}),
        configuration(agent=codex, model="openai/gpt"),
        configuration(agent=codex, model="azure/gpt"),
        configuration(agent=codex, model="openai/other"),
    )
    assert [one.agent for one in found.values()] == ["scripted@p0", "scripted@p1", "codex@p2", "codex@p3", "codex"]
    assert found[4].info()["model_info"] == {"name": "other", "provider": "openai"}
    assert found[0].info()["model_info"] is None


def test_an_override_stands_where_harbor_looks_for_one() -> None:
    resources = {"memory_mb": 512.0, "cpus": 0.5}
    policies = {"agent_timeout": 30.0, "verifier_timeout": 9.0, "resources": resources}
    config = trial_config(trial(attempt(), profile=profiles(configuration(policies=policies, thinking="high"))[0]))
    agent, environment = config["agent"], config["environment"]
    assert isinstance(agent, dict)
    assert (agent["override_timeout_sec"], agent["kwargs"]) == (30.0, {"reasoning_effort": "high"})
    assert environment == {
        "import_path": "proctor:local",
        "override_cpus": 0.5,
        "override_memory_mb": 512,
        "override_storage_mb": None,
    }
    assert config["verifier"] == {"override_timeout_sec": 9.0}


def test_a_task_without_override_has_none() -> None:
    config = trial_config(trial(attempt()))
    assert config["verifier"] == {"override_timeout_sec": None}
    assert config["timeout_multiplier"] == 1.0


def test_a_task_is_found_by_name_and_digest_or_is_a_plain_path() -> None:
    packaged = ExportedTask(name="org/task", content_digest=DIGEST, dataset="set")
    local = ExportedTask(name="a [b]/../c", content_digest=DIGEST, dataset="set")
    assert packaged.config() == {"name": "org/task", "ref": f"sha256:{DIGEST}", "source": "set"}
    assert packaged.id() == {"org": "org", "name": "task", "ref": f"sha256:{DIGEST}"}
    assert (local.id(), local.lock()["type"]) == ({"path": "a-b-..-c"}, "local")


@pytest.mark.parametrize(
    ("mode", "word"), [("live", "shared"), ("separate", "separate"), ("snapshot", None), ("import", None)]
)
def test_only_modes_that_harbor_knows_are_named(mode: str, word: str | None) -> None:
    facts = attempt(grading=replace(grading({"reward": 0.0}), mode=mode))
    one = trial(facts)
    assert trial_result(one)["verifier_environment_mode"] == word
    verifier = trial_lock(one.task, one.profile, mode)["verifier"]
    assert isinstance(verifier, dict)
    assert verifier["environment_mode"] == word


# --- classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", OWED)
def test_a_class_without_a_verdict_is_the_exception_and_its_reward_does_not_count(outcome: OutcomeClass) -> None:
    failed = {"failed": True, "message": "what happened", "stderr_tail": "last words"}
    facts = attempt(
        outcome, verdict=None, grading=grading({"reward": 0.0}), evidence=phases(("start", {}), ("agent", failed))
    )
    result = trial_result(trial(facts))
    assert result["verifier_result"] is None
    assert result["exception_info"] == {
        "exception_type": outcome.value,
        "exception_message": "agent: what happened (owner: whose; rule: by-rule)",
        "exception_traceback": "last words",
        "occurred_at": "2026-09-18T14:05:03+00:00",
        "policy_override": {"has_valid_reward": False},
    }
    assert trial_document(trial(facts))["rewards"] == {"proctor": {"reward": 0.0}, "harbor": {"reward": 0.0}}


def test_a_broken_verifier_says_so() -> None:
    facts = attempt("verifier_error", verdict=None, grading=grading(None, problem="reward_empty"))
    told = trial_result(trial(facts))["exception_info"]
    assert isinstance(told, dict)
    assert told["exception_message"] == "verify: reward_empty (owner: whose; rule: by-rule)"


@pytest.mark.parametrize("outcome", ["failed", "agent_limit", "agent_refused", "agent_error"])
def test_a_verdict_is_no_exception_however_the_agent_ended(outcome: str) -> None:
    result = trial_result(trial(attempt(outcome, grading=grading({"reward": 0.0}))))
    assert (result["exception_info"], result["verifier_result"]) == (None, {"rewards": {"reward": 0.0}})


# --- what it took -----------------------------------------------------------------------------------------------------


def test_unknown_usage_is_null_and_never_nothing() -> None:
    result = trial_result(trial(attempt(usage=None)))["agent_result"]
    assert isinstance(result, dict)
    assert {name: value for name, value in result.items() if name != "metadata"} == dict.fromkeys(
        ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd")
    )
    part = trial_result(trial(attempt(usage={"input_tokens": None, "cache_read_tokens": 5, "cost_nano": None})))
    assert isinstance(part["agent_result"], dict)
    assert (part["agent_result"]["n_input_tokens"], part["agent_result"]["cost_usd"]) == (None, None)


def test_input_tokens_include_cached_ones() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_tokens": 5,
        "cache_write_tokens": 2,
        "output_tokens": 3,
        "cost_nano": 1_500_000_000,
    }
    result = trial_result(trial(attempt(usage=usage)))["agent_result"]
    assert isinstance(result, dict)
    assert [result[name] for name in ("n_input_tokens", "n_cache_tokens", "n_output_tokens")] == [17, 5, 3]
    assert result["cost_usd"] == 1.5


def test_times_are_of_the_phases_and_not_of_the_reference_solution() -> None:
    evidence = phases(
        ("prepare", {}),
        ("start", {}),
        ("agent_setup", {}),
        ("agent", {}),
        ("verify", {}),
        ("verify", {"reference": "x"}),
    )
    result = trial_result(trial(attempt(evidence=evidence)))
    assert result["environment_setup"] == {
        "started_at": "2026-09-18T14:05:01+00:00",
        "finished_at": "2026-09-18T14:05:03+00:00",
    }
    assert result["verifier"] == {
        "started_at": "2026-09-18T14:05:05+00:00",
        "finished_at": "2026-09-18T14:05:06+00:00",
    }


# --- steps ------------------------------------------------------------------------------------------------------------


def step(name: str, rewards: Mapping[str, float] | None, *, reached: bool = True, problem: str | None = None) -> Any:
    """A step as a grading tells it."""
    return {"name": name, "reached": reached, "rewards": rewards, "passed": None, "problem": problem}


STOPPED = grading(
    {"reward": 0.3},
    strategy="mean",
    steps=[step("one", {"reward": 0.9}), step("two", None, reached=False), step("three", None, reached=False)],
    executed_mean={"reward": 0.9},
)


def test_both_readings_of_a_task_that_was_left_early() -> None:
    evidence = phases(("agent", {"step": "one"}), ("verify", {"step": "one"}))
    one = trial(attempt(grading=STOPPED, evidence=evidence), steps=("one", "two", "three"))
    result = trial_result(one)
    assert result["verifier_result"] == {"rewards": {"reward": 0.9}}
    assert trial_document(one)["rewards"] == {"proctor": {"reward": 0.3}, "harbor": {"reward": 0.9}}
    assert isinstance(result["agent_result"], dict)
    assert result["agent_result"]["metadata"]["proctor"]["rewards"] == {"reward": 0.3}
    assert isinstance(result["step_results"], list)
    assert [(told["step_name"], told["verifier_result"]) for told in result["step_results"]] == [
        ("one", {"rewards": {"reward": 0.9}})
    ]


def test_with_the_strategy_final_harbor_reads_the_last_step_that_was_run() -> None:
    steps = [step("one", {"reward": 1.0}), step("two", {"reward": 0.2}), step("three", None, reached=False)]
    told = grading({"reward": 0.0}, strategy="final", steps=steps, executed_mean={"reward": 0.6})
    assert harbor_rewards(told) == {"reward": 0.2}
    assert harbor_rewards(grading({"reward": 0.5})) == {"reward": 0.5}


def test_a_broken_step_is_an_exception_that_leaves_a_verdict_valid() -> None:
    steps = [step("one", None, problem="reward_missing"), step("two", {"reward": 1.0})]
    told = grading({"reward": 1.0}, strategy="final", steps=steps, executed_mean={"reward": 1.0})
    evidence = phases(("agent", {"step": "one"}), ("verify", {"step": "one"}), ("agent", {"step": "two"}))
    passed = trial_result(trial(attempt("passed", verdict=True, grading=told, evidence=evidence), steps=("one", "two")))
    assert isinstance(passed["step_results"], list)
    exception = passed["step_results"][0]["exception_info"]
    assert (exception["exception_type"], exception["exception_message"]) == ("verifier_error", "reward_missing")
    assert "policy_override" not in exception
    assert passed["verifier_result"] == {"rewards": {"reward": 1.0}}
