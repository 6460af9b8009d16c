"""Means: published errors, clusters, weights, and that an error is that of its very mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.regression.linear_model import OLS

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.means import mean, standard_error
from proctor.analysis.proportions import wilson
from proctor.analysis.samples import sample
from proctor.engine.numbers import TaskTally, rates
from tests.unit.test_numbers import TAU_BENCH_AIRLINE

TRIALS = [float(trial < passed) for passed in TAU_BENCH_AIRLINE for trial in range(4)]
TASKS = [task for task in range(50) for _ in range(4)]


@pytest.mark.parametrize(
    ("items", "percent", "points"),
    [
        (5000, 65.5, 0.67),
        (5000, 63.0, 0.68),
        (164, 83.6, 2.89),
        (164, 86.7, 2.65),
        (2500, 75.3, 0.86),
        (2500, 78.0, 0.83),
    ],
)
def test_errors_of_the_models_in_millers_paper(items: int, percent: float, points: float) -> None:
    """MATH, HumanEval and MGSM in arXiv 2411.00640. Its models are fictional: no count of 164 is their share."""
    passed = round(items * percent / 100)
    seen = mean([1] * passed + [0] * (items - passed))
    assert seen.error is not None
    assert 100 * seen.error == pytest.approx(points, abs=0.0115)
    assert seen.interval == wilson(passed / items, items)


@pytest.mark.parametrize(
    ("items", "passed", "error"),
    [
        (307, 14, 0.011926),
        (123, 2, 0.011450),
        (132, 2, 0.010673),
        (280, 5, 0.007929),
        (154, 8, 0.017941),
        (193, 8, 0.014385),
    ],
)
def test_the_sample_error_is_that_of_the_evaluation_harness(items: int, passed: int, error: float) -> None:
    """lm-evaluation-harness, issue 3966: with n - 1."""
    assert standard_error(sample([1] * passed + [0] * (items - passed))) == pytest.approx(error, abs=5e-7)


def test_groups_are_weighted_by_their_size() -> None:
    """MMLU of GPT-2, lm-evaluation-harness, issue 1521."""
    scores, sizes = [24.21, 23.82, 21.71, 21.31], [4705, 3077, 3107, 3153]
    assert mean(scores, weights=sizes).value == pytest.approx(22.92, abs=0.005)
    assert mean(scores).value == pytest.approx(22.7625)


def test_four_trials_of_each_task_are_clustered() -> None:
    """tau-bench, gpt-4o, airline: the clustered error is 1.477 times the naive one."""
    naive, clustered = mean(TRIALS), mean(TRIALS, clusters=TASKS)
    assert naive.value == clustered.value == pytest.approx(0.42)
    assert naive.error == pytest.approx(0.034900, abs=5e-7)
    assert standard_error(sample(TRIALS)) == pytest.approx(0.034987, abs=5e-7)
    assert clustered.error == pytest.approx(0.051691, abs=5e-7)
    assert (clustered.items, clustered.clusters) == (200, 50)
    expected = wilson(0.42, 0.42 * 0.58 / 0.051691**2)
    assert clustered.interval is not None
    assert (clustered.interval.low, clustered.interval.high) == pytest.approx((expected.low, expected.high), abs=1e-5)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 30), st.booleans())
def test_the_clustered_error_is_that_of_statsmodels(seed: int, clusters: int, graded: bool) -> None:
    draw = np.random.default_rng(seed)
    places = np.concatenate([np.arange(clusters), draw.integers(0, clusters, 60)])
    scores = draw.random(len(places)) if graded else np.arange(len(places)) * 2.5
    fit = OLS(scores, np.ones(len(scores))).fit(
        cov_type="cluster", cov_kwds={"groups": places, "use_correction": False}
    )
    seen = mean(scores, clusters=places)
    assert seen.error == pytest.approx(float(fit.bse[0]), rel=1e-9, abs=1e-12)
    assert standard_error(sample(scores)) == pytest.approx(scores.std(ddof=1) / math.sqrt(len(scores)))


@settings(deadline=None)
@given(st.lists(st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=2, max_size=30))
def test_an_interval_of_passes_is_that_of_the_leaderboard(tasks: list[tuple[int, int]]) -> None:
    trials = [float(trial < passed) for n, passed in tasks for trial in range(n)]
    places = [task for task, (n, _) in enumerate(tasks) for _ in range(n)]
    shown = rates([TaskTally(expected=n, decided=n, passed=passed) for n, passed in tasks])
    seen = mean(trials, clusters=places).interval
    assert seen is not None
    assert shown.interval is not None
    assert (seen.low, seen.high) == pytest.approx((shown.interval.low, shown.interval.high), abs=1e-9)


def bootstrapped(scores: np.ndarray, places: np.ndarray, weights: np.ndarray, draw: np.random.Generator) -> float:
    """The spread of the weighted mean over resampled clusters."""
    clusters = int(places.max()) + 1
    tops, bottoms = np.bincount(places, weights=weights * scores), np.bincount(places, weights=weights)
    drawn = draw.multinomial(clusters, np.full(clusters, 1 / clusters), size=4_000)
    return float(((drawn @ tops) / (drawn @ bottoms)).std())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.booleans(), st.booleans())
def test_an_error_describes_the_same_estimator_as_its_mean(
    seed: int, binary: bool, trials: bool, weighted: bool
) -> None:
    draw = np.random.default_rng(seed)
    places = np.repeat(np.arange(80), 3 if trials else 1)
    level = np.clip(draw.normal(0.5, 0.25, 80), 0.05, 0.95)[places]
    scores = (draw.random(len(places)) < level).astype(float) if binary else level + draw.normal(0, 0.2, len(places))
    weights = draw.uniform(1, 5, len(places)) if weighted else np.ones(len(places))
    seen = mean(scores, clusters=places if trials else None, weights=weights if weighted else None)
    assert seen.value == pytest.approx(float(np.average(scores, weights=weights)))
    assert seen.error == pytest.approx(bootstrapped(scores, places, weights, draw), rel=0.1)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(1, 9)), min_size=2, max_size=30), st.booleans()
)
def test_a_rate_between_0_and_1_is_never_certain(rows: list[tuple[int, int, int]], weighted: bool) -> None:
    scores, clusters, weights = (list(column) for column in zip(*rows, strict=True))
    seen = mean(scores, clusters=clusters, weights=weights if weighted else None)
    assert seen.interval is not None
    assert seen.interval.low <= seen.value <= seen.interval.high
    assert seen.interval.low < seen.interval.high
    if 0 < sum(scores) < len(scores):
        assert (seen.error is None) if seen.clusters == 1 else seen.error > 0


def test_tasks_that_are_all_alike_leave_an_error() -> None:
    """Each task passes one of two: no spread between tasks, and yet the rate is not known for certain."""
    seen = mean([0, 1] * 10, clusters=[task for task in range(10) for _ in range(2)])
    assert seen.error == pytest.approx(math.sqrt(0.25 / 10))
    assert seen.interval == wilson(0.5, 10)


def test_equal_weights_are_no_weights() -> None:
    for scores in (TRIALS, [trial + 0.5 for trial in TRIALS]):
        plain, weighted = mean(scores, clusters=TASKS), mean(scores, clusters=TASKS, weights=[3.0] * 200)
        assert (weighted.value, weighted.error) == pytest.approx((plain.value, plain.error))


def test_one_cluster_can_tell_no_error() -> None:
    graded = mean([0.2, 0.4], clusters=["a", "a"])
    assert (graded.error, graded.interval) == (None, None)
    assert mean([0.5]).error is None
    passes = mean([1, 0], clusters=["a", "a"])
    assert passes.error is None
    assert passes.interval == wilson(0.5, 1)
    with pytest.raises(StatisticUndefined):
        standard_error(sample([0.2, 0.4], clusters=["a", "a"]))


def test_graded_scores_get_students_interval() -> None:
    seen = mean([0.1, 0.4, 0.4, 0.7])
    error = math.sqrt(0.18 / 3 / 4)
    assert seen.error == pytest.approx(error)
    assert seen.interval is not None
    assert seen.interval.high == pytest.approx(0.4 + 3.182446 * error)


@pytest.mark.parametrize(
    ("scores", "columns", "where"),
    [
        ([0.1, float("nan")], {}, "scores[1]"),
        ([0.1, float("inf")], {}, "scores[1]"),
        ([0.1, None], {}, "scores"),
        (["1", "0"], {}, "scores"),
        ([[0.1], [0.2, 0.3]], {}, "scores"),
        ([[0.1, 0.2]], {}, "scores"),
        ([1.0, 1e200], {}, "scores[1]"),
        ([0.1, 0.2], {"clusters": ["a"]}, "clusters"),
        ([0.1, 0.2], {"clusters": ["a", None]}, "clusters"),
        ([0.1, 0.2], {"clusters": [0.5, 1.5]}, "clusters"),
        ([0.1, 0.2], {"weights": [1.0]}, "weights"),
        ([0.1, 0.2], {"weights": [1.0, 0.0]}, "weights[1]"),
        ([0.1, 0.2], {"weights": [1.0, -1.0]}, "weights[1]"),
        ([0.1, 0.2], {"weights": [1.0, 5e-324]}, "weights[1]"),
    ],
)
def test_what_is_no_column_of_scores_is_refused_by_name(scores: list, columns: dict, where: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ScoresInvalid) as refused:
        mean(scores, **columns)
    assert refused.value.where == where


def test_columns_come_in_many_shapes() -> None:
    expected = mean([0.5, 0.25, 1.0], clusters=["a", "b", "a"])
    columns = (0.5, 0.25, 1), np.array([0.5, 0.25, 1.0], dtype=object), np.array([0.5, 0.25, 1.0], dtype=np.float32)
    names = ("a", "b", "a"), np.array(["a", "b", "a"]), np.array(["a", "b", "a"], dtype=object), [7, 9, 7]
    for scores in columns:
        for clusters in names:
            assert mean(scores, clusters=clusters) == expected
    assert mean([True, False]) == mean([1, 0])


def test_no_scores_have_no_mean() -> None:
    with pytest.raises(StatisticUndefined):
        mean([])
