"""When a judge's verdict may stand, and when the item goes on to a better judge or to a person."""

from __future__ import annotations

import math
from dataclasses import dataclass

from proctor.analysis.arrays import Places, Vector, column, mask, matrix, np, npt, same_length
from proctor.analysis.errors import ScoresInvalid

__all__ = ["Threshold", "confidence_threshold", "decided_by"]

STEPS: int = 100
"""Thresholds go from 1 to 0 in hundredths: fixed before the data are seen, as the guarantee asks for."""


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Verdicts of at least this confidence may stand."""

    confidence: float
    accepted: int
    """Of the calibration items, how many are at least as confident; ``wrong``: on how many of them people disagree."""
    wrong: int
    coverage: float
    """The share of accepted calibration items."""
    risk_at_most: float
    """The upper bound of the share of disagreement among accepted items, at 1 - delta."""


def confidence_threshold(
    confidences: npt.ArrayLike, agreed: npt.ArrayLike, *, alpha: float, delta: float = 0.1
) -> Threshold | None:
    """The lowest threshold above which people disagree with at most ``alpha`` of verdicts, with probability 1 - delta.

    Fixed-sequence testing (Jung et al., Trust or Escalate, ICLR 2025, arXiv 2407.18370): thresholds are tried from 1
    down, each by the upper bound of Clopper and Pearson (1934) at 1 - delta; the first that fails ends it. Thresholds
    with too few items to pass even without an error are not tried. ``confidences``: from 0 to 1, one for each
    calibration item; ``agreed``: whether a person's label is the judge's. The items must be drawn from those the judge
    will see. ``None``: no threshold holds, and every item goes on. Raises ``ScoresInvalid`` and ``StatisticUndefined``.
    """
    sure = column(confidences, "confidences")
    right = mask(agreed, len(sure), "agreed")
    if sure.min() < 0 or sure.max() > 1:
        raise ScoresInvalid("A confidence lies between 0 and 1.", where="confidences", remedy="Scale them.")
    if not (0 < alpha < 1 and 0 < delta < 1):
        raise ScoresInvalid("alpha and delta lie between 0 and 1.", where="alpha", remedy="Give, say, 0.2 and 0.1.")
    order = np.argsort(-sure, kind="stable")
    errors = np.concatenate([[0], np.cumsum(~right[order])])
    thresholds = np.arange(STEPS, -1, -1) / STEPS
    accepted = np.searchsorted(-sure[order], -thresholds, side="right")
    wrong = errors[accepted]
    risks = _upper(wrong, accepted, delta)
    tried = np.flatnonzero(accepted >= math.log(delta) / math.log1p(-alpha))
    failed = np.flatnonzero(risks[tried] > alpha)
    held = tried[: failed[0]] if len(failed) else tried
    if not len(held):
        return None
    last = held[-1]
    return Threshold(
        confidence=float(thresholds[last]),
        accepted=int(accepted[last]),
        wrong=int(wrong[last]),
        coverage=float(accepted[last] / len(sure)),
        risk_at_most=float(risks[last]),
    )


def _upper(wrong: Places, accepted: Places, delta: float) -> Vector:
    """Clopper and Pearson's upper bound of a proportion; 1 where all are wrong."""
    from scipy.special import betaincinv

    some = wrong < accepted
    bounds = np.ones(len(wrong))
    bounds[some] = betaincinv(wrong[some] + 1, accepted[some] - wrong[some], 1 - delta)
    return bounds


def decided_by(confidences: npt.ArrayLike, thresholds: npt.ArrayLike) -> Places:
    """For each item the first judge whose confidence reaches its threshold; -1 where none does, and a person decides.

    ``confidences``: items by judges, the cheapest first, NaN where a judge was not asked; ``thresholds``: one a judge.
    A judge without one never decides: give it more than 1. Raises ``ScoresInvalid``, ``StatisticUndefined``.
    """
    table, needed = matrix(confidences, "confidences"), column(thresholds, "thresholds")
    same_length(len(needed), table.shape[1], "thresholds")
    sure = table >= needed
    return np.where(sure.any(axis=1), np.argmax(sure, axis=1), -1)
