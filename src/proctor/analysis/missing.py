"""What missing scores leave open: bounds of the mean, and whether one arm loses more than another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proctor.analysis.arrays import np, npt
from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.intervals import Interval
from proctor.analysis.means import Mean, mean_of
from proctor.analysis.samples import sample

__all__ = ["Arm", "Incomplete", "LossTest", "bounds", "loss_by_arm"]

ROUGH_BELOW: float = 5.0
"""An expected count below which chi-square is too rough, and Fisher's exact test is taken where there are two arms."""


@dataclass(frozen=True, kw_only=True)
class Incomplete:
    """A mean of which scores are missing. ``bounds``: it, if every missing score were the lowest, or the highest."""

    scored: int
    expected: int
    coverage: float
    mean: Mean | None
    """Over what is scored; ``None`` where nothing is."""
    bounds: Interval


def bounds(scores: npt.ArrayLike, *, missing: int, low: float = 0.0, high: float = 1.0) -> Incomplete:
    """Manski's bounds: [(sum + missing low) / N, (sum + missing high) / N] (Manski 1989), for scores from low to high.

    ``scores``: those there are. Raises ``ScoresInvalid`` for one outside of the range, and ``StatisticUndefined`` where
    nothing was expected.
    """
    if missing < 0 or not -np.inf < low < high < np.inf:
        raise ScoresInvalid("Some or none are missing, from a range.", where="missing", remedy="Give low below high.")
    try:
        drawn = sample(scores)
    except StatisticUndefined:  # nothing is scored
        drawn = None
    if drawn is None and not missing:
        raise StatisticUndefined("Nothing was expected.", where="scores")
    if drawn is not None and (drawn.scores.min() < low or drawn.scores.max() > high):
        raise ScoresInvalid(f"A score is not from {low:g} to {high:g}.", where="scores", remedy="Give the range.")
    scored = len(drawn.scores) if drawn else 0
    total, expected = float(drawn.scores.sum()) if drawn else 0.0, scored + missing
    return Incomplete(
        scored=scored,
        expected=expected,
        coverage=scored / expected,
        mean=mean_of(drawn) if drawn else None,
        bounds=Interval((total + missing * low) / expected, (total + missing * high) / expected),
    )


@dataclass(frozen=True, kw_only=True)
class Arm:
    """How many items of one arm have a score, and how many lack it."""

    scored: int
    missing: int


@dataclass(frozen=True, kw_only=True)
class LossTest:
    """Whether arms lose scores at the same rate. A small p: what is scored is not the same kind of item in each."""

    name: str
    p: float
    statistic: float | None
    freedom: int


def loss_by_arm(arms: Mapping[str, Arm]) -> LossTest:
    """Chi-square of scored and missing by arm, no continuity correction; Fisher's exact test for two arms of few.

    p is 1 where nothing is missing, or everything. Raises ``ScoresInvalid``, and ``StatisticUndefined`` for fewer than
    two arms, an empty one, or counts too small for chi-square over more than two arms.
    """
    from scipy.stats import chi2_contingency, fisher_exact

    table = np.array([[arm.scored, arm.missing] for arm in arms.values()], dtype=np.float64).reshape(-1, 2)
    if (table < 0).any():
        raise ScoresInvalid("A count is below 0.", where="arms", remedy="Give how many items are scored and missing.")
    if len(table) < 2 or not table.sum(axis=1).all():
        raise StatisticUndefined("Loss is compared between two arms or more, each of which has items.", where="arms")
    freedom = len(table) - 1
    if not table.sum(axis=0).all():
        return LossTest(name="chi-square", p=1.0, statistic=0.0, freedom=freedom)
    seen = chi2_contingency(table, correction=False)
    if seen.expected_freq.min() >= ROUGH_BELOW:
        return LossTest(name="chi-square", p=float(seen.pvalue), statistic=float(seen.statistic), freedom=freedom)
    if len(table) == 2:
        return LossTest(name="Fisher, exact", p=float(fisher_exact(table).pvalue), statistic=None, freedom=freedom)
    raise StatisticUndefined(
        "A count expected in some arm is below 5.", where="arms", remedy="Compare two arms at a time."
    )
