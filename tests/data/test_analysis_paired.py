"""Paired comparisons: published tests, clusters, many arms, and the leaderboard's own difference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.multiple import holm
from proctor.analysis.paired import compare, compare_all, in_common
from proctor.engine import numbers


def agrestis() -> tuple[list[int], list[int]]:
    """[[794, 86], [150, 570]] as pairs."""
    a = [1] * 794 + [1] * 86 + [0] * 150 + [0] * 570
    b = [1] * 794 + [0] * 86 + [1] * 150 + [0] * 570
    return a, b


def test_passes_of_independent_items_are_tested_by_mcnemar() -> None:
    seen = compare(*agrestis())
    assert seen.test.statistic == pytest.approx(17.3559, abs=5e-5)
    assert seen.test.p == pytest.approx(3.10e-5, abs=5e-8)
    assert (seen.better, seen.worse, seen.items) == (86, 150, 1600)
    assert seen.mean == pytest.approx(-0.04)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=40))
def test_pairing_takes_twice_the_covariance_off(pairs: list[tuple[float, float]]) -> None:
    """Var(A - B) = Var A + Var B - 2 Cov, and the leaderboard's difference is the same number."""
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    seen = compare(a, b)
    variance = a.var(ddof=1) + b.var(ddof=1) - 2 * np.cov(a, b)[0, 1]
    assert seen.error == pytest.approx(math.sqrt(max(0.0, variance) / len(a)), abs=1e-7)
    shown = numbers.compare({f"{i:03}": x for i, x in enumerate(a)}, {f"{i:03}": x for i, x in enumerate(b)})
    assert shown is not None
    assert seen.mean == pytest.approx(shown.mean, abs=1e-12)
    assert (max(-1.0, seen.interval.low), min(1.0, seen.interval.high)) == pytest.approx(
        (shown.interval.low, shown.interval.high), abs=1e-12
    )


def test_graded_scores_are_tested_by_sign_flips_as_scipy_does() -> None:
    a, b = [0.9, 0.7, 0.8, 0.4, 0.6, 0.9, 0.3], [0.6, 0.4, 0.9, 0.1, 0.5, 0.5, 0.2]
    theirs = permutation_test((a, b), lambda x, y: np.mean(np.round(x - y, 9)), permutation_type="samples")
    assert compare(a, b).test.p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_decimals_tie_as_they_do_on_paper() -> None:
    """0.9 - 0.6 is not 0.3 in binary; with it the two of four assignments that are as far from 0 would be one."""
    assert compare([0.9, 0.3], [0.6, 0.6]).test.p == 1.0


def test_a_cluster_flips_as_a_whole() -> None:
    a, b = [1.0] * 12, [0.0] * 12
    clusters = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    assert compare(a, b).test.p == pytest.approx(2 / 2**12)
    assert compare(a, b, clusters=clusters).test.p == 2 / 2**3
    with pytest.raises(StatisticUndefined):
        compare(a, b, clusters=["one"] * 12)


def test_beyond_300_clusters_the_flips_are_as_good_as_normal() -> None:
    draw = np.random.default_rng(7)
    a, b = draw.random(300) + 0.04, draw.random(300)
    few = compare(a, b).test
    many = compare(np.append(a, 0.5), np.append(b, 0.5)).test
    assert few.name != many.name
    assert many.p == pytest.approx(few.p, abs=0.01)


def test_weights_stand_for_the_items_that_were_not_drawn() -> None:
    a, b, weights = [0.5, 0.25, 0.75], [0.25, 0.5, 0.25], [2, 1, 3]
    seen = compare(a, b, weights=weights)
    assert seen.mean == pytest.approx((2 * 0.25 - 0.25 + 3 * 0.5) / 6)


def test_the_correlation_of_differences_however_small() -> None:
    assert compare([0.0, 1e-300, 0.0], [0.0, 0.5, 0.25]).correlation == pytest.approx(
        np.corrcoef([0, 1, 0], [0, 2, 1])[0, 1]
    )


def test_no_difference_at_all() -> None:
    seen = compare([0.5, 0.25, 0.5], [0.5, 0.25, 0.5])
    assert (seen.mean, seen.error, seen.test.p, seen.better, seen.worse) == (0.0, 0.0, 1.0, 0, 0)
    assert compare([0.5, 0.5], [0.25, 0.5]).correlation is None


def test_every_pair_of_arms_is_corrected_for_all() -> None:
    draw = np.random.default_rng(3)
    arms = {name: draw.random(40) + lift for name, lift in (("x", 0.0), ("y", 0.1), ("z", 0.4))}
    seen = compare_all(arms)
    assert [(one.a, one.b) for one in seen] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert [one.p_adjusted for one in seen] == holm([one.difference.test.p for one in seen])
    with pytest.raises(StatisticUndefined):
        compare_all({"x": arms["x"]})
    with pytest.raises(ScoresInvalid):
        compare_all({str(place): [0.0, 1.0] for place in range(51)})


def test_only_common_items_are_compared() -> None:
    first, second = in_common(["c", "a", "b"], ["b", "d", "c"])
    assert (first.tolist(), second.tolist()) == ([0, 2], [2, 0])
    with pytest.raises(StatisticUndefined):
        in_common(["a"], ["b"])
    with pytest.raises(ScoresInvalid) as refused:
        in_common(["a", "b"], ["b", "b"])
    assert refused.value.where == "b"


def test_arms_of_different_length_are_refused() -> None:
    with pytest.raises(ScoresInvalid) as refused:
        compare([1, 0], [1, 0, 1])
    assert refused.value.where == "b"
