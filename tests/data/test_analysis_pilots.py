"""A design from a pilot."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.analysis.errors import StatisticUndefined
from proctor.analysis.pilots import Trials, design_of
from proctor.analysis.power import items_needed


def test_a_pilot_by_hand() -> None:
    """Two items, two trials of each: within 2/4 and 0; differences .5 and -.5 less half the trials' variance."""
    a = Trials(items=["x", "x", "y", "y"], scores=[1, 0, 0, 1])
    b = Trials(items=["y", "x", "y", "x"], scores=[1, 0, 1, 0])
    design = design_of(a, b, trials_a=4, trials_b=1)
    assert (design.within_a, design.within_b) == (0.5, 0.0)
    assert design.between == pytest.approx(0.5 - 0.25)
    assert design.variance == pytest.approx(0.25 + 0.5 / 4)


def test_the_variances_of_a_simulation_are_recovered() -> None:
    """Also where trials of the pilot are few and of unequal number: w^2 .04, s^2 .09 and .01."""
    draw = np.random.default_rng(19)
    items = np.repeat(np.arange(20_000), draw.integers(1, 4, 20_000))
    truth = draw.normal(0, 0.2, 20_000)
    a = Trials(items=items, scores=truth[items] + draw.normal(0, 0.3, len(items)))
    b = Trials(items=items[::-1], scores=draw.normal(0, 0.1, len(items)))
    design = design_of(a, b, trials_a=1, trials_b=1)
    assert (design.between, design.within_a, design.within_b) == pytest.approx((0.04, 0.09, 0.01), rel=0.05)
    assert items_needed(0.05, design) == pytest.approx(440, rel=0.05)


def test_trials_that_explain_every_difference_leave_none_between_items() -> None:
    a = Trials(items=[1, 1, 2, 2], scores=[1, 0, 1, 0])
    assert design_of(a, a, trials_a=1, trials_b=1).between == 0.0


def test_pilots_that_can_tell_nothing_are_refused() -> None:
    twice, once = Trials(items=[1, 1, 2], scores=[1, 0, 1]), Trials(items=[1, 2, 3], scores=[1, 0, 1])
    other, flat = Trials(items=[2, 2, 3], scores=[1, 0, 1]), Trials(items=[1, 1, 2, 2], scores=[1, 1, 1, 1])
    for a, b in ((twice, once), (once, twice), (twice, other), (flat, flat)):
        with pytest.raises(StatisticUndefined):
            design_of(a, b, trials_a=1, trials_b=1)
