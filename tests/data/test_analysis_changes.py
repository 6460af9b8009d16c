"""Scores over time: periods, and the year in which the Nile fell."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.datasets import nile

from proctor.analysis.changes import level_changes, over_time
from proctor.analysis.errors import ScoresInvalid
from proctor.analysis.means import mean


def test_periods_have_the_means_of_their_scores() -> None:
    days = ["2026-07-02", "2026-07-01", "2026-07-02", "2026-07-04"]
    seen = over_time(days, [0.5, 1.0, 0.7, 0.2], clusters=["a", "b", "a", "c"], weights=[1, 2, 3, 4])
    assert [one.label for one in seen] == ["2026-07-01", "2026-07-02", "2026-07-04"]
    assert seen[1].mean == mean([0.5, 0.7], clusters=["a", "a"], weights=[1, 3])


def test_the_nile_fell_after_1898() -> None:
    """Yearly flow at Aswan from 1871 to 1970; Cobb (Biometrika 1978) dates the fall to 1898."""
    flow = nile.load().data
    (seen,) = level_changes(flow["volume"].to_numpy())
    assert int(flow["year"].iloc[seen.place]) == 1899
    assert (seen.before, seen.after) == pytest.approx((1097.75, 849.972), abs=5e-3)
    assert seen.p == 0.001


def test_several_changes_are_told_in_order() -> None:
    draw = np.random.default_rng(6)
    levels = np.repeat([0.5, 0.9, 0.2], [30, 40, 30])
    seen = level_changes(levels + draw.normal(0, 0.05, 100))
    assert [one.place for one in seen] == [30, 70]
    assert [one.after for one in seen] == pytest.approx([0.9, 0.2], abs=0.03)
    assert seen[0].after == seen[1].before


def test_quiet_series_have_no_change_as_often_as_said() -> None:
    draw = np.random.default_rng(8)
    found = sum(bool(level_changes(draw.normal(size=40), alpha=0.05)) for _ in range(100))
    assert found <= 12  # 5 are expected, and more than 12 in one of two thousand


def test_short_and_flat_series_have_none() -> None:
    assert level_changes([0, 0, 0, 0, 1, 1, 1, 1, 1]) == ()
    assert level_changes([0.3] * 50) == ()
    (seen,) = level_changes([0] * 5 + [1] * 5, alpha=0.02)
    assert seen.place == 5
    assert seen.p == pytest.approx(2 / 252, abs=0.006)


def test_what_is_no_series_is_refused() -> None:
    for refused in (
        lambda: level_changes([1.0] * 10_001),
        lambda: level_changes([1.0], alpha=0.0001),
        lambda: over_time(["a"], [1.0, 2.0]),
        lambda: over_time(np.arange(10_001), np.zeros(10_001)),
    ):
        with pytest.raises(ScoresInvalid):
            refused()
