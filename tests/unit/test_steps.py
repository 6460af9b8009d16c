"""Steps: the verdicts on them as one grading, by both readings, and what each step is run under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.agents.interfaces import Usage
from proctor.engine.evidence import GradingFacts, VerifierProblem
from proctor.engine.spec import Policy
from proctor.engine.steps import StepPlan, grade_whole, mean_rewards, plan_steps
from proctor.kernel.canonical import Json
from proctor.suites.tasks import (
    AgentSettings,
    Artifact,
    Environment,
    RewardStrategy,
    Step,
    Task,
    Userland,
    VerificationMode,
    Verifier,
)

NOW = datetime(2026, 11, 29, tzinfo=UTC)
CONFIGURATION: Mapping[str, Json] = {"policies": Policy().model_dump(mode="json")}
VERIFIER = Verifier(mode=VerificationMode.SNAPSHOT, env={"A": "task", "B": "task"})


def task(*names: str, strategy: RewardStrategy = RewardStrategy.MEAN, threshold: float = 1.0) -> Task:
    return Task(
        name="t",
        instruction="",
        agent=AgentSettings(timeout_sec=30.0),
        environment=Environment(),
        verifier=VERIFIER,
        userland=Userland(),
        artifacts=(Artifact(source="/a"),),
        steps=tuple(Step(name=name, instruction=name, agent=AgentSettings(), verifier=VERIFIER) for name in names),
        reward_strategy=strategy,
        pass_threshold=threshold,
    )


def step(rewards: Mapping[str, float] | None, problem: VerifierProblem = VerifierProblem.MISSING) -> GradingFacts:
    """How one step was graded."""
    return GradingFacts(
        number=1,
        verifier_digest="v",
        mode="snapshot",
        backend="fake",
        forgeable=False,
        rewards=rewards,
        passed=None if rewards is None else rewards.get("reward", 0.0) >= 1.0,
        problem=problem if rewards is None else None,
        graded_at=NOW,
        detail={"exit_code": 3},
    )


def whole(given: Task, *rewards: Mapping[str, float] | None) -> GradingFacts:
    plans = plan_steps(given, Path("/nowhere"), CONFIGURATION)
    return grade_whole(given, plans, [step(one) for one in rewards], number=2, graded_at=NOW)


def test_all_steps_passed() -> None:
    facts = whole(task("one", "two"), {"reward": 1.0}, {"reward": 1.0})
    assert (facts.passed, facts.primary, facts.number) == (True, 1.0, 2)
    assert facts.detail["executed_mean"] == {"reward": 1.0}


def test_a_step_that_was_not_reached_counts_0_and_harbor_s_reading_leaves_it_out() -> None:
    facts = whole(task("one", "two", "three"), {"reward": 0.9})
    assert facts.rewards == pytest.approx({"reward": 0.3})
    assert (facts.passed, facts.primary) == (False, pytest.approx(0.3))
    assert facts.detail["executed_mean"] == {"reward": 0.9}
    steps = facts.detail["steps"]
    assert isinstance(steps, list)
    assert [(one["name"], one["reached"], one["rewards"], one["passed"]) for one in steps] == [
        ("one", True, {"reward": 0.9}, False),
        ("two", False, None, False),
        ("three", False, None, False),
    ]
    assert steps[0]["exit_code"] == 3


def test_the_mean_is_by_name_and_an_absent_name_counts_0() -> None:
    facts = whole(task("one", "two", threshold=0.5), {"reward": 1.0, "style": 0.5}, {"speed": 4.0})
    assert facts.rewards == {"reward": 0.5, "style": 0.25, "speed": 2.0}
    assert facts.passed is True


@pytest.mark.parametrize("reward", [0.1, 0.7, 0.9])
def test_steps_at_the_threshold_are_not_below_it_together(reward: float) -> None:
    facts = whole(task("one", "two", "three", threshold=reward), *[{"reward": reward}] * 3)
    assert (facts.passed, facts.primary) == (True, reward)


@pytest.mark.parametrize(
    ("rewards", "passed", "primary"),
    [
        (({"reward": 0.0}, {"reward": 1.0}), True, 1.0),
        (({"reward": 1.0}, {"reward": 0.5}), False, 0.5),
        (({"reward": 1.0},), False, 0.0),
        ((None, {"reward": 1.0}), True, 1.0),
    ],
)
def test_final_takes_the_last_declared_step(
    rewards: Sequence[Mapping[str, float] | None], passed: bool, primary: float
) -> None:
    facts = whole(task("one", "two", strategy=RewardStrategy.FINAL), *rewards)
    assert (facts.passed, facts.primary, facts.problem) == (passed, primary, None)


def test_a_final_step_that_broke_has_no_verdict() -> None:
    facts = whole(task("one", "two", strategy=RewardStrategy.FINAL), {"reward": 1.0}, None)
    assert (facts.passed, facts.rewards, facts.problem) == (None, None, VerifierProblem.MISSING)


def test_a_broken_step_leaves_no_verdict_but_the_others_rewards() -> None:
    facts = whole(task("one", "two"), None, {"reward": 1.0})
    assert (facts.passed, facts.rewards, facts.problem) == (None, None, VerifierProblem.MISSING)
    assert facts.detail["executed_mean"] == {"reward": 1.0}
    assert facts.detail["problem"] == "reward_missing"


def test_without_the_primary_reward_anywhere_there_is_no_verdict() -> None:
    facts = whole(task("one", "two"), {"style": 1.0}, {"style": 1.0})
    assert (facts.passed, facts.problem, facts.rewards) == (None, VerifierProblem.MISSING, {"style": 1.0})


def test_one_step_verified_live_makes_the_whole_forgeable() -> None:
    given = task("one", "two")
    plans = plan_steps(given, Path("/nowhere"), CONFIGURATION)
    results = [step({"reward": 1.0}), replace(step({"reward": 1.0}), forgeable=True, mode="live")]
    facts = grade_whole(given, plans, results, number=1, graded_at=NOW)
    assert (facts.forgeable, facts.mode) == (True, "live")


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.floats(-1e6, 1e6)), min_size=1, max_size=5),
    st.integers(0, 4),
)
def test_ours_is_harbors_reading_times_the_share_of_steps_reached(
    rewards: list[dict[str, float]], missing: int
) -> None:
    ours = mean_rewards(rewards, of=len(rewards) + missing)
    theirs = mean_rewards(rewards)
    share = len(rewards) / (len(rewards) + missing)
    assert ours == pytest.approx({name: value * share for name, value in theirs.items()})


def plan(min_reward: Mapping[str, float]) -> StepPlan:
    (made,) = plan_steps(task(), Path("/nowhere"), CONFIGURATION)
    return replace(made, min_reward=min_reward)


@pytest.mark.parametrize(
    ("min_reward", "rewards", "permitted"),
    [
        ({}, None, True),
        ({}, {"reward": 0.0}, True),
        ({"reward": 0.5}, {"reward": 0.5}, True),
        ({"reward": 0.5}, {"reward": 0.49}, False),
        ({"reward": -1.0}, {"style": 1.0}, False),
        ({"reward": 0.5}, None, False),
        ({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": -0.1}, False),
    ],
)
def test_below_or_missing_the_rest_is_not_run(
    min_reward: Mapping[str, float], rewards: Mapping[str, float] | None, permitted: bool
) -> None:
    assert plan(min_reward).permits(rewards) is permitted


def test_what_a_step_is_run_with(tmp_path: Path) -> None:
    for folder in ("tests", "solution", "steps/one/tests", "steps/one/workdir", "steps/two/solution"):
        (tmp_path / folder).mkdir(parents=True)
    given = task("one", "two")
    own = replace(given.steps[0], verifier=replace(VERIFIER, env={"B": "step"}), artifacts=(Artifact(source="/b"),))
    one, two = plan_steps(replace(given, steps=(own, given.steps[1])), tmp_path, CONFIGURATION)
    assert one.tests == (tmp_path / "tests", tmp_path / "steps/one/tests")
    assert (one.solution, one.workdir) == (tmp_path / "solution", tmp_path / "steps/one/workdir")
    assert one.verifier_env == {"A": "task", "B": "step"}
    assert [artifact.source for artifact in one.artifacts] == ["/a", "/b"]
    assert (one.state_name, one.last) == ("state.one.tar", False)
    assert (two.tests, two.solution) == ((tmp_path / "tests",), tmp_path / "steps/two/solution")
    assert (two.state_name, two.last, two.workdir) == ("state.tar", True, None)


def test_in_live_all_steps_but_the_last_are_graded_on_a_copy() -> None:
    live = replace(task("one", "two"), verifier=replace(VERIFIER, mode=VerificationMode.LIVE))
    steps = tuple(replace(step, verifier=live.verifier) for step in live.steps)
    plans = plan_steps(replace(live, steps=steps), Path("/nowhere"), CONFIGURATION)
    assert [one.on_copy for one in plans] == [True, False]


def test_the_usage_of_all_steps_is_a_sum_and_unknown_where_one_is() -> None:
    one, other = Usage(input_tokens=1, cost_nano=5), Usage(input_tokens=2, output_tokens=3)
    assert Usage.total([one, other]) == Usage(input_tokens=3)
    assert Usage.total([]) == Usage.none()
