"""How many items a difference takes, and which difference so many items can show. Nothing but Python.

Miller 2024, arXiv 2411.00640, section 5: the variance of a paired difference of one item is w^2 + sA^2/KA + sB^2/KB,
where w^2 is the variance between items of the true difference, s^2 that of one trial about its item's mean, and K the
trials of each item.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined

__all__ = ["Design", "items_needed", "minimum_detectable_effect", "power"]

SMALLEST: float = 1e-12
"""Of a probability, and of what is left to 1: nearer, its quantile is lost in rounding."""
_NORMAL = NormalDist()


@dataclass(frozen=True, kw_only=True)
class Design:
    """How a comparison of two arms is made. Raises ``ScoresInvalid`` for what can't be."""

    between: float
    """w^2: the variance between items of the true difference."""
    within_a: float = 0.0
    """s^2 of arm a: the variance of one trial about the mean of its item; 0 where trials always agree."""
    within_b: float = 0.0
    trials_a: int = 1
    trials_b: int = 1
    alpha: float = 0.05
    """Of the two-sided test."""

    def __post_init__(self) -> None:
        if min(self.between, self.within_a, self.within_b) < 0 or not math.isfinite(self.variance):
            raise ScoresInvalid("A variance is a number from 0 up, and trials are 1 or more.", where="design")
        if not self.variance:
            raise StatisticUndefined("Nothing varies: one item shows any difference.", where="between")
        _probability(self.alpha, "alpha")

    @property
    def variance(self) -> float:
        """Of the difference on one item."""
        if min(self.trials_a, self.trials_b) < 1:
            return math.nan
        return self.between + self.within_a / self.trials_a + self.within_b / self.trials_b


def items_needed(difference: float, design: Design, *, power: float = 0.8) -> int:
    """Items at which a true difference is found with that probability: (z_{1-a/2} + z_{power})^2 var / d^2.

    Raises ``StatisticUndefined`` for a difference of 0, which no number of items shows.
    """
    if not difference or not math.isfinite(difference):
        raise StatisticUndefined("No number of items shows a difference of 0.", where="difference")
    return math.ceil(_quantiles(design, power) ** 2 * design.variance / difference**2)


def minimum_detectable_effect(items: int, design: Design, *, power: float = 0.8) -> float:
    """The smallest true difference that is found over ``items`` with that probability: (z + z) sqrt(var / n).

    Raises ``ScoresInvalid`` for fewer than one item.
    """
    return _quantiles(design, power) * math.sqrt(design.variance / _counted(items))


def power(difference: float, items: int, design: Design) -> float:
    """The probability that a true difference is found over ``items``: both tails of the two-sided z test.

    Raises ``ScoresInvalid`` for fewer than one item.
    """
    shift = abs(difference) / math.sqrt(design.variance / _counted(items))
    critical = _NORMAL.inv_cdf(1 - design.alpha / 2)
    return _NORMAL.cdf(shift - critical) + _NORMAL.cdf(-shift - critical)


def _quantiles(design: Design, power: float) -> float:
    _probability(power, "power")
    return _NORMAL.inv_cdf(1 - design.alpha / 2) + _NORMAL.inv_cdf(power)


def _probability(value: float, where: str) -> None:
    if not SMALLEST <= value <= 1 - SMALLEST:
        raise ScoresInvalid(
            "A probability lies between 0 and 1, and not next to them.", where=where, remedy="Write, say, 0.05 or 0.8."
        )


def _counted(items: int) -> int:
    if items < 1:
        raise ScoresInvalid("There is one item or more.", where="items", remedy="Say how many items are compared.")
    return items
