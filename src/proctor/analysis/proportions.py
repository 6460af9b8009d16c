"""Intervals of a share of passes, and how much repeated trials tell about it. Nothing but Python."""

from __future__ import annotations

import math

from proctor.analysis.errors import StatisticUndefined
from proctor.analysis.intervals import Interval, Z

__all__ = ["effective_size", "is_rounding", "wilson"]

ROUNDING: float = 1e-12
"""Of a spread, beside that of independent trials: less than this is what is left of sums that cancel."""


def wilson(rate: float, size: float) -> Interval:
    """Wilson's 95 % interval of a proportion seen over ``size`` trials (Wilson 1927); ``size`` may be fractional.

    Raises ``StatisticUndefined`` where there was no trial, or ``rate`` is no proportion.
    """
    if not size > 0 or not 0 <= rate <= 1:
        raise StatisticUndefined("A proportion lies between 0 and 1 and is seen over one trial or more.")
    centre = (rate + Z**2 / (2 * size)) / (1 + Z**2 / size)
    half = Z / (1 + Z**2 / size) * math.sqrt(rate * (1 - rate) / size + Z**2 / (4 * size**2))
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return Interval(low, high)


def effective_size(rate: float, size: int, *, clusters: float, spread: float) -> float:
    """The number of independent trials that would have the standard error which ``size`` clustered ones have.

    ``spread``: the sum over clusters of (the sum over its trials of (s - rate)) squared, so that
    SE = sqrt(spread) / size (Miller 2024, arXiv 2411.00640, section 2.2). Where every trial agrees, or all clusters
    are alike, the spread says nothing, and the number of clusters is the size. It is never above ``size``.
    """
    if is_rounding(spread, rate, size):
        return float(clusters)
    return min(float(size), rate * (1 - rate) * size**2 / spread)


def is_rounding(spread: float, rate: float, size: int) -> bool:
    """Whether a spread between clusters is none: 1 - 49 (1 / 49) is not 0 in binary."""
    return spread <= ROUNDING * rate * (1 - rate) * size
