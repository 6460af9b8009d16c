"""What Harbor has no field for: classes and owners, both readings of steps, and the denominator with its rates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from proctor.analysis.intervals import Interval
from proctor.engine.evidence import Evidence
from proctor.engine.exporting import GradingRow
from proctor.engine.leaderboards import LeaderboardRow
from proctor.engine.numbers import Rates, TaskTally, rates
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow
from proctor.kernel.canonical import Json
from proctor.reports.harbor.inputs import ExportedProfile, ExportedTask
from proctor.reports.harbor.trials import Trial, harbor_rewards, outcome_document

__all__ = [
    "FORMAT",
    "READINGS",
    "Gap",
    "Tallies",
    "cell_line",
    "profile_document",
    "run_set_document",
    "trial_document",
]

FORMAT: str = "proctor-harbor-export-1"
"""Stands in every file of ours; docs/reference/harbor-export.md has the fields."""
READINGS: Mapping[str, Json] = {
    "proctor": "a step that was not reached counts 0; this decides whether a cell passed",
    "harbor": "of the steps that were run, and of no others; what Harbor's own fields hold",
}
NOT_STARTED: str = "not_started"


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Cells of one profile that have no verdict, by the class of their last attempt."""

    profile: str
    outcome: str
    owner: str
    cells: int


class _Kind(NamedTuple):
    profile: int
    outcome: str
    owner: str
    decided: bool


class Tallies:
    """The cells that were exported, counted: what the rates beside them are made of."""

    def __init__(self) -> None:
        self._tasks: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
        self._withdrawn: Counter[int] = Counter()
        self._classes: Counter[_Kind] = Counter()
        self.expected = 0

    def add(self, cell: CellRow) -> None:
        """One more cell."""
        if cell.withdrawn is not None:
            self._withdrawn[cell.profile] += 1
            return
        self.expected += 1
        task = self._tasks[cell.profile][cell.content_digest]
        for place, counts in enumerate((True, cell.verdict is not None, bool(cell.verdict))):
            task[place] += counts
        outcome, owner = cell.outcome or NOT_STARTED, cell.owner or "nobody"
        self._classes[_Kind(cell.profile, outcome, owner, cell.verdict is not None)] += 1

    def rates(self, profile: int) -> Rates:
        """A profile's rates."""
        tasks = [TaskTally(expected=e, decided=d, passed=p) for e, d, p in self._tasks[profile].values()]
        return rates(tasks, withdrawn=self._withdrawn[profile])

    def classes(self, profile: int) -> list[dict[str, Json]]:
        """A profile's cells by class, the most frequent first."""
        return [
            {"class": kind.outcome, "owner": kind.owner, "verdict": kind.decided, "cells": cells}
            for kind, cells in self._ordered()
            if kind.profile == profile
        ]

    def gaps(self, profiles: Mapping[int, ExportedProfile]) -> tuple[Gap, ...]:
        """What is owed, and by whom."""
        return tuple(
            Gap(profile=profiles[kind.profile].name, outcome=kind.outcome, owner=kind.owner, cells=cells)
            for kind, cells in self._ordered()
            if not kind.decided
        )

    def _ordered(self) -> list[tuple[_Kind, int]]:
        return sorted(self._classes.items(), key=lambda one: (one[0].profile, -one[1], one[0]))


def run_set_document(row: RunSetRow) -> dict[str, Json]:
    """The run set."""
    return {
        "id": str(row.id),
        "name": row.name,
        "suite_id": row.suite_id,
        "policy_version": row.policy_version,
        "state": row.state,
        "reason": row.reason or None,
        "created_at": row.created_at.isoformat(),
        "ended_at": None if row.ended_at is None else row.ended_at.isoformat(),
    }


def profile_document(
    profile: ExportedProfile, rate: Rates, classes: list[dict[str, Json]], board: LeaderboardRow | None
) -> dict[str, Json]:
    """One profile's row of the leaderboard. ``board`` adds what is known of more than the exported attempts."""
    counts = rate.counts
    return {
        "profile": profile.name,
        "agent_in_harbor": profile.agent,
        "series": profile.series,
        "configuration": profile.configuration,
        "configuration_document": _without_values(profile.document),
        "expected": counts.expected,
        "decided": counts.decided,
        "passed": counts.passed,
        "withdrawn": counts.withdrawn,
        "strict": rate.strict,
        "graded": rate.graded,
        "coverage": rate.coverage,
        "bounds": _interval(rate.bounds),
        "strict_interval_95": _interval(rate.interval),
        "classes": list(classes),
        **({} if board is None else _board(board)),
    }


def cell_line(cell: CellRow, profile: ExportedProfile, task: ExportedTask, trial: str | None) -> dict[str, Json]:
    """One expected cell; ``trial`` is its folder, where it has one."""
    return {
        "cell": str(cell.cell),
        "profile": profile.name,
        "task": task.name,
        "content_digest": task.content_digest,
        "trial": cell.trial,
        "withdrawn": cell.withdrawn,
        "class": cell.outcome or NOT_STARTED,
        "owner": cell.owner or "nobody",
        "verdict": cell.verdict,
        "reward": cell.reward,
        "limit": cell.limit or None,
        "attempts": cell.attempts,
        "reused": cell.reused,
        "trial_name": trial,
    }


def trial_document(trial: Trial) -> dict[str, Json]:
    """Everything that we know of a trial, with the raw evidence that its class was derived from."""
    facts = trial.facts
    return {
        "format": FORMAT,
        "run_set": str(trial.run_set),
        "profile": trial.profile.name,
        "configuration": trial.profile.configuration,
        "task": trial.task.name,
        "content_digest": trial.task.content_digest,
        "cell": str(trial.cell.cell),
        "trial": trial.cell.trial,
        "attempt": str(facts.id),
        "attempt_number": facts.number,
        "reused": trial.cell.reused,
        "outcome": outcome_document(trial),
        "rewards": {"proctor": _ours(facts.grading), "harbor": _theirs(facts.grading)},
        "grading": None if facts.grading is None else _grading(facts.grading),
        "backend": facts.backend,
        "limits": facts.limits,
        "usage": facts.usage,
        "artifacts": [
            {"name": name, "sha256": stored.sha256, "size": stored.size} for name, stored in facts.artifacts.items()
        ],
        "attempts": [
            {"attempt": str(t.attempt), "number": t.number, "class": t.outcome, "owner": t.owner, "rule": t.rule}
            for t in facts.tries
        ],
        "evidence": [_evidence(item) for item in facts.evidence],
    }


def _ours(grading: GradingRow | None) -> Json:
    return None if grading is None or grading.rewards is None else dict(grading.rewards)


def _theirs(grading: GradingRow | None) -> Json:
    read = None if grading is None else harbor_rewards(grading)
    return None if read is None else dict(read)


def _grading(grading: GradingRow) -> dict[str, Json]:
    return {
        "number": grading.number,
        "mode": grading.mode,
        "forgeable": grading.forgeable,
        "graded_at": grading.graded_at.isoformat(),
        "detail": dict(grading.detail),
    }


def _evidence(item: Evidence) -> dict[str, Json]:
    return {
        "phase": item.phase.value,
        "seq": item.seq,
        "started_at": item.started_at.isoformat(),
        "ended_at": item.ended_at.isoformat(),
        "detail": dict(item.detail),
    }


def _board(row: LeaderboardRow) -> dict[str, Json]:
    """Usage is of all attempts behind the profile's cells, of which trials show one each."""
    usage = row.usage
    return {
        "mean_reward": row.mean_reward,
        "rank": list(row.rank),
        "comparable": row.comparable,
        "reasons": list(row.reasons),
        "usage": {
            "attempts": usage.attempts,
            "reported": usage.reported,
            "priced": usage.priced,
            "cost_nano": usage.cost_nano,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        },
    }


def _without_values(document: Mapping[str, Any]) -> dict[str, Json]:
    """A configuration as it was hashed, but for values of the agent's environment that are no ``${NAME}``."""
    options = dict(document["options"])
    if isinstance(options.get("env"), Mapping):
        given = options["env"].items()
        options["env"] = {name: value if str(value).startswith("${") else None for name, value in given}
    return {**document, "options": options}


def _interval(interval: Interval | None) -> Json:
    return None if interval is None else [interval.low, interval.high]
