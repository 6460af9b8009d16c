"""Spreads of scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.analysis.distributions import describe, shift
from proctor.analysis.errors import StatisticUndefined


def test_a_small_column_by_hand() -> None:
    seen = describe([4, 1, 3, 2])
    assert (seen.count, seen.low, seen.high) == (4, 1.0, 4.0)
    assert seen.deviation == pytest.approx(math.sqrt(5 / 3))
    assert dict(seen.quantiles)[0.5] == 2.5
    assert dict(seen.quantiles)[0.25] == 1.75  # linear between order statistics
    assert sum(seen.counts) == 4


def test_one_score_has_no_deviation() -> None:
    seen = describe([7])
    assert (seen.deviation, seen.edges, seen.counts) == (None, (7.0, 7.0), (1,))
    with pytest.raises(StatisticUndefined):
        describe([])


def test_a_few_verdicts_are_two_bars_and_not_one() -> None:
    seen = describe([0, 1, 1, 0, 1])
    assert (seen.edges, seen.counts) == ((0.0, 0.5, 1.0), (2, 3))


@settings(deadline=None)
@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=200))
def test_every_score_is_in_one_bin_however_they_lie(scores: list[float]) -> None:
    seen = describe(scores)
    assert sum(seen.counts) == len(scores)
    assert (seen.edges[0], seen.edges[-1]) == (min(scores), max(scores))
    assert list(seen.edges) == sorted(seen.edges)
    assert len(seen.counts) <= 50


def test_bins_are_as_wide_as_freedman_and_diaconis_say() -> None:
    scores = np.random.default_rng(0).normal(size=1_000)
    assert len(describe(scores).counts) == len(np.histogram_bin_edges(scores, bins="fd")) - 1


def test_scores_a_rounding_error_apart_are_one_bin() -> None:
    assert describe([1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)]).counts in (
        (3,),
        (1, 2),
        (1, 1, 1),
    )


def test_a_shift_by_hand() -> None:
    """Half of b lies above all of a: the cumulative shares are 1/2 apart, and scores move by 1 on average."""
    seen = shift([0, 1, 2, 3], [1, 2, 3, 4])
    assert (seen.statistic, seen.distance) == (0.25, 1.0)
    apart = shift([0.0] * 6, [1.0] * 6)
    assert apart.statistic == 1.0
    assert apart.p == pytest.approx(2 / math.comb(12, 6))
    assert shift([1, 2], [1, 2]).p == 1.0
