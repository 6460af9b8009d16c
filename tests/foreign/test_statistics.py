"""Intervals and clustered errors, computed again by statsmodels."""

from __future__ import annotations

import math

import pytest

from proctor.analysis.proportions import wilson
from proctor.engine.numbers import TaskTally, rates
from tests.foreign.conftest import Ask
from tests.foreign.environments import STATSMODELS
from tests.unit.test_numbers import TAU_BENCH_AIRLINE

PAIRS = [(0, 5), (1, 3), (9, 9), (30, 50), (84, 200), (1, 1000), (999, 1000)]
TRIALS: int = 4


def test_wilson_is_statsmodels_wilson(ask: Ask) -> None:
    theirs = ask(STATSMODELS, "clustered_error", {"wilson": PAIRS, "tasks": [[1, 2], [0, 2]]})["wilson"]
    ours = [wilson(count / size, size) for count, size in PAIRS]
    for our, their in zip(ours, theirs, strict=True):
        assert (our.low, our.high) == pytest.approx(their, abs=1e-9)


def test_the_clustered_interval_is_of_the_error_that_ols_gives(ask: Ask) -> None:
    tasks = [[passed, TRIALS] for passed in TAU_BENCH_AIRLINE]
    theirs = ask(STATSMODELS, "clustered_error", {"wilson": [], "tasks": tasks})
    ours = rates([TaskTally(expected=TRIALS, decided=TRIALS, passed=passed) for passed in TAU_BENCH_AIRLINE])
    error = theirs["clustered_error"]
    assert ours.strict == pytest.approx(theirs["mean"], abs=1e-12)
    assert error == pytest.approx(0.051691, abs=5e-7)
    mean = theirs["mean"]
    expected = wilson(mean, mean * (1 - mean) / error**2)
    assert ours.interval is not None
    assert (ours.interval.low, ours.interval.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_tasks_of_unequal_size_too(ask: Ask) -> None:
    tasks = [[1, 2], [4, 4], [0, 3], [2, 5], [3, 3], [1, 1], [0, 4], [2, 2]]
    theirs = ask(STATSMODELS, "clustered_error", {"wilson": [], "tasks": tasks})
    ours = rates([TaskTally(expected=size, decided=size, passed=passed) for passed, size in tasks])
    mean, error = theirs["mean"], theirs["clustered_error"]
    expected = wilson(mean, min(sum(size for _, size in tasks), mean * (1 - mean) / error**2))
    assert ours.interval is not None
    assert math.isclose(ours.interval.low, expected.low, abs_tol=1e-9)
    assert math.isclose(ours.interval.high, expected.high, abs_tol=1e-9)
