"""The numbers we publish. One function computes each, whoever asks.

expected = rows of ``expected_cell`` not withdrawn, and nothing else may define it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from proctor.analysis.intervals import LEVEL, Interval, normal
from proctor.analysis.proportions import effective_size, wilson
from proctor.analysis.significance import sign_test

__all__ = [
    "Counts",
    "Difference",
    "Rates",
    "TaskTally",
    "compare",
    "mean_of_amounts",
    "paired_interval",
    "rank_intervals",
    "rates",
    "share_interval",
]


@dataclass(frozen=True, kw_only=True)
class TaskTally:
    """One task's cells of one profile: expected, with a verdict, passed."""

    expected: int
    decided: int
    passed: int


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What rates are made of."""

    expected: int
    decided: int
    passed: int
    withdrawn: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(
            expected=self.expected + other.expected,
            decided=self.decided + other.decided,
            passed=self.passed + other.passed,
            withdrawn=self.withdrawn + other.withdrawn,
        )


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Strict, graded, coverage and bounds: always shown together, with their counts. ``None``: nothing to divide by."""

    counts: Counts
    strict: float | None
    graded: float | None
    coverage: float | None
    bounds: Interval | None
    interval: Interval | None
    """95 % interval of the strict rate, clustered by task where there are trials."""


def rates(tasks: Sequence[TaskTally], *, withdrawn: int = 0) -> Rates:
    """All the rates of one profile from its tasks' tallies."""
    expected = sum(task.expected for task in tasks)
    decided = sum(task.decided for task in tasks)
    passed = sum(task.passed for task in tasks)
    counts = Counts(expected=expected, decided=decided, passed=passed, withdrawn=withdrawn)
    if not expected:
        return Rates(counts=counts, strict=None, graded=None, coverage=None, bounds=None, interval=None)
    missing = expected - decided
    return Rates(
        counts=counts,
        strict=passed / expected,
        graded=passed / decided if decided else None,
        coverage=decided / expected,
        bounds=Interval(passed / expected, (passed + missing) / expected),
        interval=share_interval(Counter((task.expected, task.passed) for task in tasks)),
    )


def share_interval(tallies: Mapping[tuple[int, int], int]) -> Interval | None:
    """The 95 % interval of passed trials among all, clustered by task; ``None`` where there are none.

    ``tallies``: how many tasks have so many trials of which so many passed.
    """
    expected = sum(trials * tasks for (trials, _), tasks in tallies.items())
    passed = sum(some * tasks for (_, some), tasks in tallies.items())
    return wilson(passed / expected, _effective_size(tallies, expected, passed)) if expected else None


def _effective_size(tallies: Mapping[tuple[int, int], int], expected: int, passed: int) -> float:
    """Trials of one task are not independent: the size at which the plain error equals the one clustered by task."""
    if all(trials <= 1 for trials, _ in tallies):
        return float(expected)
    rate = passed / expected
    spread = sum(tasks * (some - trials * rate) ** 2 for (trials, some), tasks in tallies.items())
    clusters = sum(tasks for (trials, _), tasks in tallies.items() if trials)
    return effective_size(rate, expected, clusters=clusters, spread=spread)


def mean_of_amounts(count: int, total: int, squares: int) -> tuple[float | None, Interval | None]:
    """The mean of amounts that were added up, none below 0, with its 95 % interval by the normal approximation.

    ``squares``: the sum of their squares. The interval is ``None`` for under two amounts.
    """
    if not count:
        return None, None
    mean = Fraction(total, count)
    if count < 2:
        return float(mean), None
    variance = (squares - mean * total) / (count - 1)
    seen = normal(float(mean), math.sqrt(variance / count))
    return float(mean), Interval(max(0.0, seen.low), seen.high)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The paired difference of two profiles' strict rates over the tasks both have, with its 95 % interval."""

    mean: float
    interval: Interval
    tasks: int
    sign_p: float
    """Two-sided exact sign test over the tasks that differ: few tasks with no spread would make an interval of 0."""

    @property
    def distinguishable(self) -> bool:
        """Whether the interval excludes 0 and the sign test agrees at 5 %."""
        return (self.interval.low > 0 or self.interval.high < 0) and self.sign_p < 1 - LEVEL


def compare(a: Mapping[str, float], b: Mapping[str, float]) -> Difference | None:
    """Mean of a - b over the tasks in both, by task (each task's mean over trials); ``None`` for under two tasks.

    SE = sd(d)/sqrt(n) of the paired differences (Miller 2024, section 4). With no spread at all the tasks agree, and
    the interval is the one point.
    """
    differences = [mine - b[task] for task, mine in a.items() if task in b]
    found = paired_interval(Counter(differences))
    if found is None:
        return None
    return Difference(
        mean=math.fsum(differences) / len(differences),
        interval=found,
        tasks=len(differences),
        sign_p=sign_test(sum(d > 0 for d in differences), sum(d < 0 for d in differences)),
    )


def paired_interval(differences: Mapping[float, int]) -> Interval | None:
    """The 95 % interval of the mean of paired differences, given how often each occurs; ``None`` for under two."""
    count = sum(differences.values())
    if count < 2:
        return None
    mean = math.fsum(d * n for d, n in differences.items()) / count
    variance = math.fsum(n * (d - mean) ** 2 for d, n in differences.items()) / (count - 1)
    seen = normal(mean, math.sqrt(variance / count))
    return Interval(max(-1.0, seen.low), min(1.0, seen.high))


def rank_intervals(profiles: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[int, int]]:
    """Best and worst rank of each profile: only those it can be told apart from stand surely above or below it."""
    better, worse = dict.fromkeys(profiles, 0), dict.fromkeys(profiles, 0)
    for one, other in combinations(profiles, 2):
        difference = compare(profiles[one], profiles[other])
        if difference is None or not difference.distinguishable:
            continue
        upper, lower = (one, other) if difference.mean > 0 else (other, one)
        better[lower] += 1
        worse[upper] += 1
    return {name: (1 + better[name], len(profiles) - worse[name]) for name in profiles}
