"""One cell as a trial of Harbor's: ``TrialResult``, with its steps, and what we say of it beside.

A trial without a verdict has no rewards in Harbor's fields: there our class is the exception, and its policy says
that the reward does not count, because Harbor takes the reward beside an exception it does not know for valid
(``models/trial/error_policy.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from proctor.engine.evidence import Evidence, Phase, last_error
from proctor.engine.exporting import AttemptFacts, GradingRow
from proctor.engine.outcomes import OutcomeClass
from proctor.engine.reading import CellRow
from proctor.kernel.canonical import Json
from proctor.kernel.money import NANO
from proctor.reports.harbor.inputs import ExportedProfile, ExportedTask, environment_mode, trial_inputs
from proctor.reports.harbor.names import trial_name

__all__ = [
    "Trial",
    "exception_text",
    "executed_steps",
    "harbor_rewards",
    "step_rewards",
    "trial_config",
    "trial_result",
]

_SETTING_UP: frozenset[Phase] = frozenset({Phase.PREPARE, Phase.IMAGE, Phase.START, Phase.HEALTHCHECK})
_NOT_VALID: Mapping[str, Json] = {"has_valid_reward": False}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A cell that has an attempt which ended. ``folder``: the job's, as it will be."""

    run_set: UUID
    policy_version: str
    folder: Path
    profile: ExportedProfile
    task: ExportedTask
    cell: CellRow
    facts: AttemptFacts

    @property
    def name(self) -> str:
        """The trial's name, which its folder has too."""
        return trial_name(self.task.name, self.cell.cell)

    @property
    def decided(self) -> bool:
        """Whether there is a verdict."""
        return self.facts.outcome.verdict is not None


def trial_config(trial: Trial) -> dict[str, Json]:
    """``TrialConfig``."""
    return {
        "schema_version": 1,
        "task": trial.task.config(),
        "trial_name": trial.name,
        "trials_dir": str(trial.folder),
        "agent": trial.profile.agent_config(),
        **trial_inputs(trial.profile),
        "job_id": str(trial.run_set),
    }


def trial_result(trial: Trial) -> dict[str, Json]:
    """``TrialResult``."""
    facts = trial.facts
    return {
        "schema_version": 1,
        "id": str(facts.id),
        "task_name": trial.task.name,
        "trial_name": trial.name,
        "trial_uri": (trial.folder / trial.name).as_uri(),
        "task_id": trial.task.id(),
        "source": trial.task.dataset,
        "task_checksum": trial.task.content_digest,
        "config": trial_config(trial),
        "agent_info": trial.profile.info(),
        "agent_result": _agent_result(trial),
        "verifier_result": _verifier_result(trial),
        "verifier_environment_mode": _mode(trial),
        "exception_info": _exception(trial),
        "started_at": facts.started_at.isoformat(),
        "finished_at": facts.ended_at.isoformat(),
        "environment_setup": _span(_shared(facts, _SETTING_UP)),
        "agent_setup": _span(_shared(facts, {Phase.AGENT_SETUP})),
        "agent_execution": _span(_of(facts, Phase.AGENT)),
        "verifier": _span(_of(facts, Phase.VERIFY)),
        "step_results": [_step_result(trial, name) for name in executed_steps(trial)] if trial.task.steps else None,
    }


def harbor_rewards(grading: GradingRow) -> Mapping[str, float] | None:
    """Rewards as Harbor reads them (``Trial._select_multi_step_reward``): of the steps that were run, and no others.

    Their mean by name over those with rewards, or with the strategy ``final`` those of the last one that was run. Ours
    (``GradingRow.rewards``) count 0 for a step that was not reached.
    """
    steps = [step for step in grading.detail.get("steps", ()) if step["reached"]]
    if not steps:
        return grading.rewards
    if grading.detail.get("strategy") == "final":
        last: Mapping[str, float] | None = steps[-1]["rewards"]
        return last
    mean: Mapping[str, float] | None = grading.detail.get("executed_mean")
    return mean


def executed_steps(trial: Trial) -> list[str]:
    """The steps that an agent worked on, in order."""
    return list(dict.fromkeys(str(item.detail["step"]) for item in _of(trial.facts, Phase.AGENT) if _step(item)))


def step_rewards(trial: Trial, step: str) -> Mapping[str, float] | None:
    """What the verifier gave for a step; ``None`` where it gave nothing, or the trial has no verdict."""
    rewards: Mapping[str, float] | None = _graded(trial, step).get("rewards") if trial.decided else None
    return rewards


def exception_text(trial: Trial) -> str | None:
    """What Harbor keeps as ``exception.txt``; ``None`` where there is a verdict."""
    if trial.decided:
        return None
    tail = _stderr(trial.facts)
    return f"{trial.facts.outcome.outcome}: {_message(trial)}\n" + (f"\n{tail}\n" if tail else "")


def outcome_document(trial: Trial) -> dict[str, Json]:
    """The class, whose it is, and by which rule of which policy."""
    outcome = trial.facts.outcome
    return {
        "class": outcome.outcome,
        "owner": outcome.owner,
        "rule": outcome.rule,
        "verdict": outcome.verdict,
        "limit": outcome.limit or None,
        "policy_version": trial.policy_version,
    }


def _agent_result(trial: Trial) -> dict[str, Json]:
    """``AgentContext`` of all steps together; input tokens include cached ones there, and unknown is null."""
    usage = trial.facts.usage or {}
    cached = [usage.get(name) or 0 for name in ("cache_read_tokens", "cache_write_tokens")]
    given, cost = usage.get("input_tokens"), usage.get("cost_nano")
    ours = None if trial.facts.grading is None else trial.facts.grading.rewards
    return {
        "n_input_tokens": None if given is None else given + sum(cached),
        "n_cache_tokens": usage.get("cache_read_tokens"),
        "n_output_tokens": usage.get("output_tokens"),
        "cost_usd": None if cost is None else cost / NANO,
        "metadata": {"proctor": {**outcome_document(trial), "rewards": None if ours is None else dict(ours)}},
    }


def _verifier_result(trial: Trial) -> dict[str, Json] | None:
    grading = trial.facts.grading
    if grading is None or not trial.decided:
        return None
    return _rewards(harbor_rewards(grading))


def _rewards(rewards: Mapping[str, float] | None) -> dict[str, Json] | None:
    return None if rewards is None else {"rewards": dict(rewards)}


def _mode(trial: Trial) -> str | None:
    grading = trial.facts.grading
    return None if grading is None or trial.task.steps else environment_mode(grading.mode)


def _exception(trial: Trial) -> dict[str, Json] | None:
    if trial.decided:
        return None
    ended = last_error(trial.facts.evidence)
    return {
        "exception_type": trial.facts.outcome.outcome,
        "exception_message": _message(trial),
        "exception_traceback": _stderr(trial.facts),
        "occurred_at": (trial.facts.ended_at if ended is None else ended.ended_at).isoformat(),
        "policy_override": _NOT_VALID,
    }


def _message(trial: Trial) -> str:
    outcome = trial.facts.outcome
    return f"{_what_ended(trial.facts)} (owner: {outcome.owner}; rule: {outcome.rule})"


def _what_ended(facts: AttemptFacts) -> str:
    ended = last_error(facts.evidence)
    if ended is not None:
        return f"{ended.phase}: {ended.detail.get('message') or ended.detail.get('reason') or 'failed'}"
    problem = None if facts.grading is None else facts.grading.detail.get("problem")
    return f"{Phase.VERIFY}: {problem}" if problem else "no phase failed"


def _stderr(facts: AttemptFacts) -> str:
    told = [str(item.detail["stderr_tail"]) for item in facts.evidence if item.detail.get("stderr_tail")]
    return told[-1] if told else ""


# --- steps ------------------------------------------------------------------------------------------------------------


def _step_result(trial: Trial, step: str) -> dict[str, Json]:
    """``StepResult``; usage is known of all steps together only."""
    return {
        "step_name": step,
        "agent_result": None,
        "verifier_result": _rewards(step_rewards(trial, step)),
        "exception_info": _step_exception(trial, step),
        "agent_execution": _span(_of(trial.facts, Phase.AGENT, step)),
        "verifier": _span(_of(trial.facts, Phase.VERIFY, step)),
    }


def _step_exception(trial: Trial, step: str) -> dict[str, Json] | None:
    """A step whose verifier left no reward; where the whole has a verdict all the same, its reward stays valid."""
    problem = _graded(trial, step).get("problem")
    if problem is None:
        return None
    verified = _of(trial.facts, Phase.VERIFY, step)
    ended = verified[-1].ended_at if verified else trial.facts.ended_at
    return {
        "exception_type": OutcomeClass.VERIFIER_ERROR.value,
        "exception_message": str(problem),
        "exception_traceback": "",
        "occurred_at": ended.isoformat(),
        **({} if trial.decided else {"policy_override": _NOT_VALID}),
    }


def _graded(trial: Trial, step: str) -> Mapping[str, Any]:
    """What the grading of the whole tells of a step."""
    grading = trial.facts.grading
    told: Iterable[Mapping[str, Any]] = () if grading is None else grading.detail.get("steps", ())
    return next((one for one in told if one["name"] == step), {})


# --- times ------------------------------------------------------------------------------------------------------------


def _shared(facts: AttemptFacts, phases: Iterable[Phase]) -> list[Evidence]:
    """Phases of what all steps share."""
    return [item for item in facts.evidence if item.phase in phases and not _step(item)]


def _of(facts: AttemptFacts, phase: Phase, step: str | None = None) -> list[Evidence]:
    """One phase, of one step or of all; not the verifier's run over the reference solution."""
    found = [item for item in facts.evidence if item.phase is phase and "reference" not in item.detail]
    return found if step is None else [item for item in found if _step(item) == step]


def _step(item: Evidence) -> str:
    return str(item.detail.get("step") or "")


def _span(items: Sequence[Evidence]) -> dict[str, Json] | None:
    if not items:
        return None
    started, ended = min(item.started_at for item in items), max(item.ended_at for item in items)
    return {"started_at": started.isoformat(), "finished_at": ended.isoformat()}
