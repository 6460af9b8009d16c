"""Steps: what each is run under, and how the verdicts on them become one. Pure functions.

A task without steps is run as one step without a name. Of a task with steps, a step that was not reached counts 0;
the field averages over executed steps only, and that reading is kept beside ours as ``executed_mean``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import mean

from proctor.engine.evidence import GradingFacts, VerifierProblem
from proctor.engine.terms import Terms, terms_of
from proctor.kernel.canonical import Json
from proctor.suites.tasks import Artifact, CollectHook, Healthcheck, RewardStrategy, Step, Task, VerificationMode

__all__ = ["StepPlan", "grade_whole", "mean_rewards", "plan_steps", "step_of"]


@dataclass(frozen=True, kw_only=True)
class StepPlan:
    """One step as it is run; ``name`` is empty where the task has no steps."""

    name: str
    instruction: str
    terms: Terms
    tests: tuple[Path, ...]
    """Folders laid over one another at /tests, the step's own last."""
    solution: Path
    user: str | None = None
    """Whom the agent works as; ``None``: the sandbox's own default."""
    verifier_user: str | None = None
    verifier_env: Mapping[str, str]
    artifacts: tuple[Artifact, ...] = ()
    hooks: tuple[CollectHook, ...] = ()
    """Run in the agent's sandbox when the agent is done with the step."""
    min_reward: Mapping[str, float] = field(default_factory=dict)
    healthcheck: Healthcheck | None = None
    workdir: Path | None = None
    """Files that are laid over the work directory when the step begins."""
    last: bool = True

    @property
    def on_copy(self) -> bool:
        """Whether it is verified outside the agent's sandbox: in ``live`` all steps but the last are, too."""
        return not (self.last and self.terms.mode is VerificationMode.LIVE)

    @property
    def state_name(self) -> str:
        """The name of the artifact that keeps what the step left."""
        return "state.tar" if self.last else f"state.{self.name}.tar"

    @property
    def artifacts_name(self) -> str:
        """The name of the artifact that keeps the paths which task and step declare."""
        return "artifacts.tar" if self.last else f"artifacts.{self.name}.tar"

    def permits(self, rewards: Mapping[str, float] | None) -> bool:
        """Whether the next step is run after these rewards; one that is missing is below any threshold."""
        found = rewards or {}
        return all(name in found and found[name] >= least for name, least in self.min_reward.items())


def plan_steps(task: Task, folder: Path, configuration: Mapping[str, Json]) -> tuple[StepPlan, ...]:
    """The task's steps in order, each with its own terms and files; ``folder`` holds the task's files."""
    if not task.steps:
        return (_whole_task(task, folder, configuration),)
    return tuple(_plan(task, step, folder, configuration) for step in task.steps)


def _whole_task(task: Task, folder: Path, configuration: Mapping[str, Json]) -> StepPlan:
    return StepPlan(
        name="",
        instruction=task.instruction,
        terms=terms_of(task, configuration),
        tests=(folder / "tests",),
        solution=folder / "solution",
        user=task.agent.user,
        verifier_user=task.verifier.user,
        verifier_env=task.verifier.env,
        artifacts=task.artifacts,
        hooks=task.verifier.collect,
    )


def _plan(task: Task, step: Step, folder: Path, configuration: Mapping[str, Json]) -> StepPlan:
    own = folder / "steps" / step.name
    return StepPlan(
        name=step.name,
        instruction=step.instruction,
        terms=terms_of(task, configuration, step),
        tests=tuple(tests for tests in (folder / "tests", own / "tests") if tests.is_dir()),
        solution=own / "solution" if (own / "solution").is_dir() else folder / "solution",
        user=step.agent.user or task.agent.user,
        verifier_user=step.verifier.user or task.verifier.user,
        verifier_env={**task.verifier.env, **step.verifier.env},
        artifacts=(*task.artifacts, *step.artifacts),
        hooks=(*task.verifier.collect, *step.verifier.collect),
        min_reward=step.min_reward,
        healthcheck=step.healthcheck,
        workdir=own / "workdir" if (own / "workdir").is_dir() else None,
        last=step is task.steps[-1],
    )


def grade_whole(
    task: Task, plans: Sequence[StepPlan], results: Sequence[GradingFacts], *, number: int, graded_at: datetime
) -> GradingFacts:
    """One grading from those of the steps that were reached, in order; at least one was.

    Where a step that counts has no rewards there is no verdict, only its problem: unknown is not 0.
    """
    rewards, problem = _rewards(task, len(plans), results)
    primary = None if rewards is None else rewards.get(task.primary_reward)
    if problem is None and primary is None:
        problem = VerifierProblem.MISSING
    told: list[Json] = [step_of(plan, facts) for plan, facts in _beside(plans, results)]
    executed = mean_rewards([facts.rewards for facts in results if facts.rewards is not None])
    return GradingFacts(
        number=number,
        verifier_digest=results[0].verifier_digest,
        mode=results[-1].mode,
        backend=results[0].backend,
        forgeable=any(facts.forgeable for facts in results),
        rewards=rewards,
        passed=None if problem or primary is None else primary >= task.pass_threshold,
        problem=problem,
        primary=primary,
        graded_at=graded_at,
        detail={
            "problem": problem.value if problem else None,
            "strategy": task.reward_strategy.value,
            "steps": told,
            "executed_mean": dict(executed) if executed else None,
        },
    )


def _rewards(
    task: Task, declared: int, results: Sequence[GradingFacts]
) -> tuple[Mapping[str, float] | None, VerifierProblem | None]:
    counted = [facts for facts in results if facts.rewards is not None]
    if task.reward_strategy is RewardStrategy.FINAL:
        if len(results) == declared:
            return results[-1].rewards, results[-1].problem
        names = {task.primary_reward, *(name for facts in counted for name in facts.rewards or {})}
        return dict.fromkeys(sorted(names), 0.0), None
    broken = [facts.problem for facts in results if facts.rewards is None]
    if broken:
        return None, broken[0]
    return mean_rewards([facts.rewards or {} for facts in counted], of=declared), None


def mean_rewards(rewards: Sequence[Mapping[str, float]], *, of: int | None = None) -> Mapping[str, float]:
    """The mean by name over ``of`` steps (those given, where unset); a name that a step lacks counts 0 there.

    It is exact before it is rounded once: three steps at 0.7 are at 0.7 together, and not below a threshold there.
    """
    missing = [0.0] * (0 if of is None else of - len(rewards))
    names = sorted({name for one in rewards for name in one})
    return {name: mean([*(one.get(name, 0.0) for one in rewards), *missing]) for name in names}


def step_of(plan: StepPlan, facts: GradingFacts | None) -> dict[str, Json]:
    """One step as a grading tells it; ``None`` stands for a step that was not reached."""
    if facts is None:
        return {"name": plan.name, "reached": False, "rewards": None, "passed": False, "problem": None}
    return {
        "name": plan.name,
        "reached": True,
        "rewards": None if facts.rewards is None else dict(facts.rewards),
        "passed": facts.passed,
        "problem": facts.problem.value if facts.problem else None,
        "mode": facts.mode,
        "exit_code": facts.detail.get("exit_code"),
    }


def _beside(
    plans: Sequence[StepPlan], results: Sequence[GradingFacts]
) -> Sequence[tuple[StepPlan, GradingFacts | None]]:
    return [(plan, results[number] if number < len(results) else None) for number, plan in enumerate(plans)]
