"""Power: Miller's numbers, and that the formulas are one another's inverses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.intervals import Z
from proctor.analysis.means import standard_error
from proctor.analysis.power import Design, items_needed, minimum_detectable_effect, power
from proctor.analysis.samples import sample

NINTH = 1 / 9


def test_a_thousand_items_for_three_points() -> None:
    assert items_needed(0.03, Design(between=NINTH)) == 969
    assert (
        minimum_detectable_effect(969, Design(between=NINTH))
        < 0.03
        < minimum_detectable_effect(968, Design(between=NINTH))
    )


@pytest.mark.parametrize(("trials", "items"), [(1, 3876), (10, 1260)])
def test_trials_take_the_chance_out_of_each_item(trials: int, items: int) -> None:
    design = Design(between=NINTH, within_a=1 / 6, within_b=1 / 6, trials_a=trials, trials_b=trials)
    assert items_needed(0.03, design) == items


def test_what_humaneval_can_show() -> None:
    assert minimum_detectable_effect(164, Design(between=NINTH)) == pytest.approx(0.0729, abs=5e-5)


@settings(deadline=None)
@given(st.floats(0.005, 0.5), st.floats(0.01, 1), st.floats(0.001, 0.2), st.floats(0.5, 0.99))
def test_so_many_items_have_that_power(difference: float, between: float, alpha: float, wanted: float) -> None:
    design = Design(between=between, alpha=alpha)
    items = items_needed(difference, design, power=wanted)
    assert power(difference, items, design) >= wanted - 1e-9
    assert minimum_detectable_effect(items, design, power=wanted) <= difference * (1 + 1e-9)


def test_the_power_is_how_often_a_simulated_difference_is_found() -> None:
    draw, design = np.random.default_rng(11), Design(between=0.25)
    found = 0
    for _ in range(1_000):
        seen = sample(draw.normal(0.1, 0.5, 200))
        found += abs(seen.mean) > Z * standard_error(seen)
    assert found / 1_000 == pytest.approx(power(0.1, 200, design), abs=0.05)
    assert power(0.0, 200, design) == pytest.approx(0.05)


def test_designs_that_can_show_nothing_are_refused() -> None:
    with pytest.raises(StatisticUndefined):
        Design(between=0)
    for design in (
        {"between": -1},
        {"between": 1, "trials_a": 0},
        {"between": float("inf")},
        {"between": 1, "alpha": 0},
    ):
        with pytest.raises(ScoresInvalid):
            Design(**design)
    with pytest.raises(StatisticUndefined):
        items_needed(0.0, Design(between=1))
    with pytest.raises(ScoresInvalid):
        items_needed(0.1, Design(between=1), power=1.0)
    with pytest.raises(ScoresInvalid):
        minimum_detectable_effect(0, Design(between=1))
