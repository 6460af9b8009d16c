"""Bounds for missing scores, and arms that lose more than others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.missing import Arm, bounds, loss_by_arm


def test_frontier_cs_counts() -> None:
    """108 pass, 40 score zero, 24 failed to be scored."""
    seen = bounds([1] * 108 + [0] * 40, missing=24)
    assert seen.mean is not None
    assert seen.mean.value == pytest.approx(0.7297, abs=5e-5)
    assert (seen.bounds.low, seen.bounds.high) == pytest.approx((0.6279, 0.7674), abs=5e-5)
    assert (seen.scored, seen.expected) == (148, 172)


@settings(deadline=None)
@given(st.lists(st.floats(-2, 3), max_size=20), st.lists(st.floats(-2, 3), min_size=1, max_size=20))
def test_whatever_was_missing_lies_within_the_bounds(scored: list[float], missing: list[float]) -> None:
    seen = bounds(scored, missing=len(missing), low=-2, high=3)
    whole = (sum(scored) + sum(missing)) / (len(scored) + len(missing))
    assert seen.bounds.low - 1e-9 <= whole <= seen.bounds.high + 1e-9


def test_nothing_scored_is_known_to_be_anything() -> None:
    seen = bounds([], missing=3, low=1, high=5)
    assert (seen.mean, seen.coverage, seen.bounds.low, seen.bounds.high) == (None, 0.0, 1.0, 5.0)
    with pytest.raises(StatisticUndefined):
        bounds([], missing=0)


@pytest.mark.parametrize("given_", [{"missing": -1}, {"missing": 1, "low": 2, "high": 1}, {"missing": 1, "high": 0.5}])
def test_scores_outside_of_their_range_are_refused(given_: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(ScoresInvalid):
        bounds([1.0], **given_)


def test_an_arm_that_loses_more_is_told() -> None:
    """[[90, 10], [70, 30]]: chi-square 12.5 by hand."""
    seen = loss_by_arm({"a": Arm(scored=90, missing=10), "b": Arm(scored=70, missing=30)})
    assert seen.statistic == pytest.approx(12.5)
    assert seen.p == pytest.approx(0.000407, abs=5e-7)


def test_few_losses_are_tested_exactly() -> None:
    seen = loss_by_arm({"a": Arm(scored=10, missing=0), "b": Arm(scored=6, missing=4)})
    assert seen.name == "Fisher, exact"
    assert seen.p == pytest.approx(fisher_exact([[10, 0], [6, 4]]).pvalue)
    three = {name: Arm(scored=3, missing=place) for place, name in enumerate("abc")}
    with pytest.raises(StatisticUndefined):
        loss_by_arm(three)


def test_where_nothing_is_missing_no_arm_loses_more() -> None:
    assert loss_by_arm({"a": Arm(scored=3, missing=0), "b": Arm(scored=4, missing=0)}).p == 1.0
    with pytest.raises(StatisticUndefined):
        loss_by_arm({"a": Arm(scored=3, missing=0)})
    with pytest.raises(StatisticUndefined):
        loss_by_arm({"a": Arm(scored=3, missing=0), "b": Arm(scored=0, missing=0)})
    with pytest.raises(ScoresInvalid):
        loss_by_arm({"a": Arm(scored=-3, missing=0), "b": Arm(scored=1, missing=0)})
