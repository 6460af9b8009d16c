"""A range, and the level of every interval that is published."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["LEVEL", "Interval", "Z", "normal"]

LEVEL: float = 0.95
"""Of every interval: what the field prints, so that ours can be set beside theirs."""
Z: float = NormalDist().inv_cdf(0.5 + LEVEL / 2)
"""So many standard errors to each side, where the estimate is as good as normal."""


@dataclass(frozen=True)
class Interval:
    """A range, both ends included."""

    low: float
    high: float


def normal(value: float, error: float) -> Interval:
    """The 95 % interval of an estimate that is normal about its mean: ``value`` and 1.96 ``error`` to each side."""
    return Interval(value - Z * error, value + Z * error)
