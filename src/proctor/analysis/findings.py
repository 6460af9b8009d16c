"""What follows from a difference, by its p, its interval and a margin. Nothing but Python."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proctor.analysis.errors import ScoresInvalid
from proctor.analysis.intervals import Interval

__all__ = ["Finding", "Rule"]


class Finding(StrEnum):
    """What follows from a difference."""

    WORSE = "worse"
    BETTER = "better"
    NO_WORSE = "no worse by the margin"
    """Not better for sure, and surely not worse by more than the margin."""
    OPEN = "not distinguishable"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """From how small a p a difference is one, and how much worse is still no regression, in the scores' unit.

    Raises ``ScoresInvalid`` for a margin below 0, or an alpha that is not between 0 and 1.
    """

    margin: float = 0.0
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not self.margin >= 0 or not 0 < self.alpha < 1:
            raise ScoresInvalid(
                "A margin is 0 or above, alpha between 0 and 1.", where="margin", remedy="Correct them."
            )

    def finding(self, difference: float, interval: Interval, p: float) -> Finding:
        """``difference``: new less base, with its interval and the p of no difference."""
        if p < self.alpha and difference > 0:
            return Finding.BETTER
        if self.margin and interval.low > -self.margin:
            return Finding.NO_WORSE
        return Finding.WORSE if p < self.alpha and difference < 0 else Finding.OPEN
