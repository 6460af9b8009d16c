"""Agreement: published tables, and statsmodels and krippendorff as judges."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats import inter_rater

from proctor.analysis.agreement import Agreement, Weighting, cohen_kappa, fleiss_kappa, krippendorff_alpha
from proctor.analysis.alpha import Level
from proctor.analysis.errors import ScoresInvalid, StatisticUndefined

NAN = float("nan")
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
"""His own example: four observers of twelve units."""
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
"""Fourteen raters, ten items, five categories: the worked example of Wikipedia's article."""


def pairs(table: list[list[int]]) -> tuple[list[int], list[int]]:
    both = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in both], [j for _, j in both]


def test_cohens_table() -> None:
    seen = cohen_kappa(*pairs([[20, 5], [10, 15]]))
    assert seen.value == pytest.approx(0.4)
    assert seen.items == 50
    assert seen.interval is not None
    assert seen.interval.low < 0.4 < seen.interval.high


def test_fleiss_table() -> None:
    assert fleiss_kappa(FLEISS).value == pytest.approx(0.20993, abs=5e-6)


@pytest.mark.parametrize(
    ("level", "alpha"),
    [(Level.NOMINAL, 0.743), (Level.ORDINAL, 0.815), (Level.INTERVAL, 0.849), (Level.RATIO, 0.797)],
)
def test_krippendorffs_own_example(level: Level, alpha: float) -> None:
    seen = krippendorff_alpha(np.array(KRIPPENDORFF).T, level)
    assert seen.value == pytest.approx(alpha, abs=5e-4)
    assert seen.items == 11


@settings(max_examples=10, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3))
def test_cohens_kappas_are_those_of_statsmodels(table: list[list[int]]) -> None:
    counts = np.array(table) + 1  # each category is used by both, so that both programs see the same ones
    for weighting, theirs in ((Weighting.NONE, None), (Weighting.LINEAR, "linear"), (Weighting.QUADRATIC, "quadratic")):
        seen = cohen_kappa(*pairs(counts.tolist()), weighting=weighting).value
        assert seen == pytest.approx(inter_rater.cohens_kappa(counts, wt=theirs).kappa, abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_fleiss_kappa_is_that_of_statsmodels(seed: int) -> None:
    table = np.random.default_rng(seed).multinomial(5, [0.5, 0.3, 0.2], size=12)
    assert fleiss_kappa(table).value == pytest.approx(inter_rater.fleiss_kappa(table), abs=1e-12)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(Level))
def test_alpha_is_that_of_krippendorff(seed: int, level: Level) -> None:
    draw = np.random.default_rng(seed)
    ratings = draw.integers(0, 5, (15, 3)).astype(float)
    ratings[draw.random(ratings.shape) < 0.2] = NAN
    theirs = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=level.value)
    assert krippendorff_alpha(ratings, level).value == pytest.approx(theirs, abs=1e-9)


def test_the_interval_is_that_of_resampled_items() -> None:
    draw = np.random.default_rng(2)
    truth = draw.integers(0, 3, 200)
    a, b = (np.where(draw.random(200) < 0.75, truth, draw.integers(0, 3, 200)) for _ in range(2))
    seen = cohen_kappa(a, b)
    drawn = [draw.integers(0, 200, 200) for _ in range(1_000)]
    ends = np.quantile([inter_rater.cohens_kappa(_table(a[one], b[one])).kappa for one in drawn], [0.025, 0.975])
    assert seen.interval is not None
    assert (seen.interval.low, seen.interval.high) == pytest.approx(tuple(ends), abs=0.02)


def _table(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.bincount(a * 3 + b, minlength=9).reshape(3, 3)


def test_perfect_agreement_is_1_whoever_measures_it() -> None:
    ratings = [[1, 1], [2, 2], [3, 3], [2, 2]]
    assert krippendorff_alpha(ratings, Level.ORDINAL).value == 1.0
    assert cohen_kappa(["a", "b", "b"], ["a", "b", "b"]).value == 1.0
    assert fleiss_kappa([[3, 0], [0, 3]]).value == 1.0


def test_ratings_without_spread_define_no_agreement() -> None:
    for refused in (
        lambda: cohen_kappa([1, 1], [1, 1]),
        lambda: fleiss_kappa([[2, 0], [2, 0]]),
        lambda: fleiss_kappa([[1, 0], [0, 1]]),
        lambda: krippendorff_alpha([[1, 1], [1, 1]], Level.NOMINAL),
        lambda: krippendorff_alpha([[1, NAN], [NAN, 2]], Level.NOMINAL),
        lambda: cohen_kappa([], []),
    ):
        with pytest.raises(StatisticUndefined):
            refused()


def test_tables_that_are_none_are_refused() -> None:
    for refused in (
        lambda: cohen_kappa([1, 2], [1]),
        lambda: cohen_kappa([1.5, 2], [1, 2]),
        lambda: cohen_kappa(range(300), range(300)),
        lambda: fleiss_kappa([[2, 0], [1, 0]]),
        lambda: fleiss_kappa([[2.5, 0], [0, 2.5]]),
        lambda: fleiss_kappa([[2, None], [1, 1]]),
        lambda: krippendorff_alpha([[1] * 101], Level.NOMINAL),
        lambda: krippendorff_alpha([[1, "2"]], Level.NOMINAL),
        lambda: krippendorff_alpha([[-1, 1], [2, 1]], Level.RATIO),
        lambda: krippendorff_alpha([1, 2], Level.NOMINAL),
    ):
        with pytest.raises(ScoresInvalid):
            refused()


def test_few_items_may_have_no_interval() -> None:
    seen = fleiss_kappa([[2, 0], [0, 2]])
    assert isinstance(seen, Agreement)
    assert seen.interval is None
