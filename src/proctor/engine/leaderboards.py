"""A run set's leaderboard: rates, ranks, usage and classes of each profile, read from the tables. Reads only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.numbers import Rates, TaskTally, rank_intervals, rates
from proctor.engine.outcomes import Owner
from proctor.engine.planning import RunSetRow
from proctor.kernel.canonical import Json
from proctor.kernel.words import counted

__all__ = ["ClassCount", "LeaderboardRow", "Usage", "counts_document", "leaderboard", "together"]

REWARD_SCALE: float = 2.0**64
"""What the statement's sums of rewards are divided by, so that no sum of numbers leaves the range of one."""

_run = partial(run_query, "proctor.engine")


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Sums over all attempts behind a profile's cells; ``None`` is unknown. Coverage: attempts that reported / all.

    ``priced``: attempts whose cost is known; ``own``: of those that this run set pays.
    """

    attempts: int
    reported: int
    priced: int
    own_attempts: int
    own_priced: int
    cost_nano: int | None
    own_cost_nano: int | None
    input_tokens: int | None
    output_tokens: int | None
    mean_seconds: float | None

    @property
    def coverage(self) -> float | None:
        """The share of attempts that reported what they used."""
        return self.reported / self.attempts if self.attempts else None


@dataclass(frozen=True, kw_only=True)
class ClassCount:
    """Cells of one profile in one class."""

    outcome: str
    owner: str
    decided: bool
    cells: int


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow:
    """One profile's row, with everything it takes to believe it."""

    profile: str
    series: str
    configuration: str
    rates: Rates
    mean_reward: float | None
    """Over the cells with a verdict; one that a verifier gave no reward counts 0, as it counts against the rates."""
    rank: tuple[int, int]
    usage: Usage
    classes: tuple[ClassCount, ...]
    comparable: bool
    reasons: tuple[str, ...]
    other_trials: int
    other_trials_mean: float | None
    tasks: Mapping[str, TaskTally]


def leaderboard(connection: Connection, tenant: UUID, row: RunSetRow, reasons: Sequence[str]) -> list[LeaderboardRow]:
    """A run set's profiles, best strict rate first. ``reasons``: what makes the whole run set not comparable."""
    key = {"tenant": tenant, "run_set": row.id, "policy": row.policy_version}
    _run(connection, "read_widely")
    tallies = _run(connection, "tallies", **key).all()
    undecided = any(tally.decided < tally.expected for tally in tallies)
    classes = _decided_classes(tallies)
    if undecided:
        classes.extend((one.profile, _class_count(one)) for one in _run(connection, "undecided_classes", **key))
    usage = {one.profile: _usage(one) for one in _run(connection, "usage_sums", **key)}
    profiles = _run(connection, "run_set_context", tenant=tenant, run_set=row.id).all()
    of_profile: dict[int, list[Any]] = defaultdict(list)
    for tally in tallies:
        of_profile[tally.profile].append(tally)
    by_task = {p.position: _tasks(of_profile[p.position]) for p in profiles}
    ranks = rank_intervals({str(p.position): _means(by_task[p.position]) for p in profiles})
    others = _other_trials(connection, tenant, row, profiles, tallies)
    rows = [
        _row(p, of_profile[p.position], classes, usage, by_task[p.position], ranks[str(p.position)], reasons, others)
        for p in profiles
    ]
    return sorted(rows, key=lambda r: (-(r.rates.strict or 0.0), r.profile))


def together(rows: Sequence[LeaderboardRow]) -> Rates:
    """All profiles as one: their cells of a task are its trials, and the interval is clustered by task."""
    sums: dict[str, TaskTally] = {}
    for row in rows:
        for task, tally in row.tasks.items():
            known = sums.get(task, TaskTally(expected=0, decided=0, passed=0))
            sums[task] = TaskTally(
                expected=known.expected + tally.expected,
                decided=known.decided + tally.decided,
                passed=known.passed + tally.passed,
            )
    return rates([*sums.values()], withdrawn=sum(row.rates.counts.withdrawn for row in rows))


def _other_trials(
    connection: Connection, tenant: UUID, row: RunSetRow, profiles: Sequence[Any], tallies: Sequence[Any]
) -> Sequence[Any]:
    """Trials of the same configurations that the run set does not show; mostly there are none, which is quick."""
    configurations = [profile.configuration for profile in profiles]
    of = {"tenant": tenant, "configurations": configurations}
    shown = sum(one.expected + one.withdrawn for one in tallies)
    if _run(connection, "cells_of", **of).scalar_one() <= shown:
        return []
    of["suite_id"] = row.suite_id
    if _run(connection, "trials_of", **of).scalar_one() <= shown:
        return []
    return _run(connection, "other_trials", **of, run_set=row.id, policy=row.policy_version).all()


def _decided_classes(tallies: Sequence[Any]) -> list[tuple[int, ClassCount]]:
    """Cells with a verdict by profile and class, the most frequent first."""
    sums: dict[tuple[int, str], int] = defaultdict(int)
    for tally in tallies:
        if tally.decided:
            sums[tally.profile, tally._mapping["class"]] += tally.decided
    ordered = sorted(sums.items(), key=lambda one: (one[0][0], -one[1], one[0][1]))
    return [
        (profile, ClassCount(outcome=name, owner=Owner.MODEL.value, decided=True, cells=cells))
        for (profile, name), cells in ordered
    ]


def _row(
    profile: Any,
    tallies: Sequence[Any],
    classes: Sequence[tuple[int, ClassCount]],
    usage: Mapping[int, Usage],
    tasks: Mapping[str, TaskTally],
    rank: tuple[int, int],
    reasons: Sequence[str],
    others: Sequence[Any],
) -> LeaderboardRow:
    rate = rates(list(tasks.values()), withdrawn=sum(tally.withdrawn for tally in tallies))
    rewarded, rewards = sum(tally.rewarded for tally in tallies), sum(tally.reward or 0.0 for tally in tallies)
    missing = rate.counts.expected - rate.counts.decided
    own = [*reasons, *([f"coverage: {missing} of {rate.counts.expected} cells have no verdict"] if missing else [])]
    if rate.counts.withdrawn:
        own.append(f"withdrawn: {counted(rate.counts.withdrawn, 'cell')}")
    complete = [o for o in others if o.configuration == profile.configuration and o.decided == len(tasks)]
    other_decided = sum(other.decided for other in complete)
    return LeaderboardRow(
        profile=profile.name,
        series=profile.series,
        configuration=profile.configuration,
        rates=rate,
        mean_reward=rewards / rate.counts.decided * REWARD_SCALE if rewarded else None,
        rank=rank,
        usage=usage.get(profile.position, _NO_USAGE),
        classes=tuple(count for position, count in classes if position == profile.position),
        comparable=not own,
        reasons=tuple(own),
        other_trials=len(complete),
        other_trials_mean=sum(other.passed for other in complete) / other_decided if other_decided else None,
        tasks=tasks,
    )


_NO_USAGE = Usage(
    attempts=0,
    reported=0,
    priced=0,
    own_attempts=0,
    own_priced=0,
    cost_nano=None,
    own_cost_nano=None,
    input_tokens=None,
    output_tokens=None,
    mean_seconds=None,
)


def _usage(row: Any) -> Usage:
    return Usage(
        attempts=row.attempts,
        reported=row.reported,
        priced=row.priced,
        own_attempts=row.own_attempts,
        own_priced=row.own_priced,
        cost_nano=int(row.cost) if row.cost is not None else None,
        own_cost_nano=int(row.own_cost) if row.own_cost is not None else None,
        input_tokens=int(row.input_tokens) if row.input_tokens is not None else None,
        output_tokens=int(row.output_tokens) if row.output_tokens is not None else None,
        mean_seconds=float(row.seconds) if row.seconds is not None else None,
    )


def _tasks(tallies: Sequence[Any]) -> dict[str, TaskTally]:
    sums: dict[str, tuple[int, int, int]] = {}
    for tally in tallies:
        if tally.expected:
            expected, decided, passed = sums.get(tally.content_digest, (0, 0, 0))
            added = (expected + tally.expected, decided + tally.decided, passed + tally.passed)
            sums[tally.content_digest] = added
    return {task: TaskTally(expected=e, decided=d, passed=p) for task, (e, d, p) in sums.items()}


def _means(tasks: Mapping[str, TaskTally]) -> dict[str, float]:
    return {task: tally.passed / tally.expected for task, tally in tasks.items()}


def _class_count(row: Any) -> ClassCount:
    names: Mapping[str, Any] = row._mapping
    return ClassCount(outcome=names["class"], owner=row.owner, decided=False, cells=row.cells)


def counts_document(row: LeaderboardRow) -> dict[str, Json]:
    """What a leaderboard revision keeps of a row."""
    r = row.rates
    return {
        "expected": r.counts.expected,
        "decided": r.counts.decided,
        "passed": r.counts.passed,
        "withdrawn": r.counts.withdrawn,
        "tasks": len(row.tasks),
        "mean_reward": row.mean_reward,
        "interval": [r.interval.low, r.interval.high] if r.interval else None,
        "cost_nano": row.usage.cost_nano,
        "classes": {one.outcome: one.cells for one in _merged(row.classes)},
    }


def _merged(classes: Sequence[ClassCount]) -> list[ClassCount]:
    sums: dict[str, int] = defaultdict(int)
    for one in classes:
        sums[one.outcome] += one.cells
    return [ClassCount(outcome=name, owner="", decided=False, cells=count) for name, count in sorted(sums.items())]
