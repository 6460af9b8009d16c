"""The numbers we publish, against the published known answers."""

from __future__ import annotations

import math
import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.analysis.intervals import Interval
from proctor.analysis.proportions import wilson
from proctor.engine.numbers import TaskTally, compare, mean_of_amounts, rank_intervals, rates, share_interval

TAU_BENCH_AIRLINE = [
    *(0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 4, 2, 0, 2, 1, 1, 4, 0, 4, 3, 0, 0, 4),
    *(0, 2, 2, 0, 1, 2, 2, 0, 0, 3, 4, 4, 3, 4, 1, 3, 2, 4, 1, 2, 2, 2, 1, 4, 4),
]
"""Successes of 4 trials on each of 50 tasks: tau-bench's historical trajectories of gpt-4o, airline."""


def one_each(passed: int, failed: int, missing: int) -> list[TaskTally]:
    return [
        *[TaskTally(expected=1, decided=1, passed=1)] * passed,
        *[TaskTally(expected=1, decided=1, passed=0)] * failed,
        *[TaskTally(expected=1, decided=0, passed=0)] * missing,
    ]


def test_rate_limits_and_pulls_are_no_failures() -> None:
    """10 cells: 5 pass, 2 rate-limited, 1 auth, 2 image pull 429."""
    seen = rates(one_each(5, 0, 5))
    assert (seen.strict, seen.graded, seen.coverage) == (0.5, 1.0, 0.5)
    assert seen.bounds == Interval(0.5, 1.0)


def test_a_published_case_with_missing_verdicts() -> None:
    """172 cells: 108 pass, 40 fail, 24 without a verdict."""
    seen = rates(one_each(108, 40, 24))
    assert seen.strict == pytest.approx(0.6279, abs=5e-5)
    assert seen.graded == pytest.approx(0.7297, abs=5e-5)
    assert seen.bounds is not None
    assert (seen.bounds.low, seen.bounds.high) == pytest.approx((0.6279, 0.7674), abs=5e-5)


def test_trials_of_one_task_are_not_independent() -> None:
    """The interval's width follows the clustered standard error, .051691 where the naive one is .034987."""
    tasks = [TaskTally(expected=4, decided=4, passed=passed) for passed in TAU_BENCH_AIRLINE]
    seen = rates(tasks)
    assert seen.strict == pytest.approx(0.42)
    size = 0.42 * 0.58 / 0.051691**2
    expected = wilson(0.42, size)
    assert seen.interval is not None
    assert (seen.interval.low, seen.interval.high) == pytest.approx((expected.low, expected.high), abs=1e-4)
    naive = wilson(0.42, 200)
    assert seen.interval.high - seen.interval.low > 1.4 * (naive.high - naive.low)


def test_tasks_that_are_all_alike_are_one_trial_each_however_their_rate_is_rounded() -> None:
    """49 times 1/49 is not 1 in binary; what was left over once passed for a spread of almost nothing."""
    seen = rates([TaskTally(expected=49, decided=49, passed=1)] * 4)
    assert seen.interval == wilson(1 / 49, 4)


def test_nothing_expected_is_no_rate_at_all() -> None:
    seen = rates([])
    assert (seen.strict, seen.graded, seen.coverage, seen.bounds, seen.interval) == (None,) * 5


def test_nothing_decided_has_no_graded_rate() -> None:
    seen = rates(one_each(0, 0, 3))
    assert seen.graded is None
    assert seen.bounds == Interval(0.0, 1.0)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_the_rates_hold_together(raw: list[tuple[int, int, int]]) -> None:
    tasks = [TaskTally(expected=n, decided=min(n, d), passed=min(n, d, p)) for n, d, p in raw]
    seen = rates(tasks)
    assert seen.strict is not None
    assert seen.coverage is not None
    assert seen.bounds is not None
    assert seen.interval is not None
    assert 0 <= seen.bounds.low == seen.strict <= seen.bounds.high <= 1
    assert 0 <= seen.interval.low <= seen.strict <= seen.interval.high <= 1
    if seen.graded is not None:
        assert seen.strict <= seen.graded
        assert seen.strict == pytest.approx(seen.graded * seen.coverage)


def test_few_tasks_are_not_distinguishable_however_they_agree() -> None:
    a, b = {f"t{i}": 1.0 for i in range(4)}, {f"t{i}": 0.0 for i in range(4)}
    seen = compare(a, b)
    assert seen is not None
    assert seen.interval == Interval(1.0, 1.0)
    assert not seen.distinguishable
    assert rank_intervals({"a": a, "b": b}) == {"a": (1, 2), "b": (1, 2)}


def test_clear_differences_give_narrow_ranks() -> None:
    tasks = [f"t{i}" for i in range(20)]
    best, worst = dict.fromkeys(tasks, 1.0), dict.fromkeys(tasks, 0.0)
    middle = {task: float(i < 10) for i, task in enumerate(tasks)}
    assert rank_intervals({"worst": worst, "best": best, "middle": middle}) == {
        "best": (1, 1),
        "middle": (2, 2),
        "worst": (3, 3),
    }


def test_only_tasks_in_both_are_compared() -> None:
    seen = compare({"a": 1.0, "b": 0.0, "c": 1.0}, {"b": 0.0, "c": 0.0, "d": 1.0})
    assert seen is not None
    assert (seen.tasks, seen.mean) == (2, 0.5)
    assert compare({"a": 1.0}, {"a": 0.0}) is None


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=30))
def test_amounts_that_were_added_up_say_what_they_say_one_by_one(amounts: list[int]) -> None:
    mean, interval = mean_of_amounts(len(amounts), sum(amounts), sum(amount**2 for amount in amounts))
    half = 1.959963984540054 * statistics.stdev(amounts) / math.sqrt(len(amounts))
    assert mean == pytest.approx(statistics.fmean(amounts))
    assert interval is not None
    assert interval.high == pytest.approx(statistics.fmean(amounts) + half)
    assert interval.low == pytest.approx(max(0.0, statistics.fmean(amounts) - half), abs=1e-3)


def test_few_amounts_have_no_interval() -> None:
    assert mean_of_amounts(0, 0, 0) == (None, None)
    assert mean_of_amounts(1, 7, 49) == (7.0, None)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)).filter(lambda one: one[1] <= one[0]), min_size=1))
def test_a_share_has_the_interval_of_the_rate_that_it_is(tasks: list[tuple[int, int]]) -> None:
    whole = rates([TaskTally(expected=trials, decided=trials, passed=passed) for trials, passed in tasks])
    assert share_interval(Counter(tasks)) == whole.interval
    assert share_interval({}) is None
