"""Wilson's interval against published tables, and the size that clustered trials are worth."""

from __future__ import annotations

import pytest

from proctor.analysis.errors import StatisticUndefined
from proctor.analysis.proportions import effective_size, wilson


@pytest.mark.parametrize(
    ("passed", "size", "low", "high"),
    [(9, 9, 0.7009, 1.0), (30, 50, 0.4618, 0.7239), (84, 200, 0.3537, 0.4893)],
)
def test_wilson_agrees_with_the_tables(passed: int, size: int, low: float, high: float) -> None:
    seen = wilson(passed / size, size)
    assert (seen.low, seen.high) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("rate", "size"), [(0.5, 0), (0.5, -1), (1.5, 3), (float("nan"), 3)])
def test_what_is_no_proportion_has_no_interval(rate: float, size: float) -> None:
    with pytest.raises(StatisticUndefined):
        wilson(rate, size)


def test_the_effective_size_is_that_of_the_clustered_error() -> None:
    assert effective_size(0.42, 200, clusters=50, spread=(0.051691 * 200) ** 2) == pytest.approx(91.2, abs=0.05)
    assert effective_size(0.5, 4, clusters=2, spread=0.5) == 4.0  # never more than there are
    assert effective_size(1.0, 200, clusters=50, spread=0.0) == 50.0
    assert effective_size(1 / 49, 196, clusters=4, spread=5e-32) == 4.0
