"""What a judge's scores say about the true ones, when a few items carry a person's label as well."""

from __future__ import annotations

import math
from dataclasses import dataclass

from proctor.analysis.arrays import Vector, column, column_with_gaps, np, npt, same_length
from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.intervals import Interval, Z, normal

__all__ = [
    "Calibration",
    "CorrectedMean",
    "CorrectedRate",
    "allocate",
    "corrected_mean",
    "corrected_rate",
    "sampled_mean",
]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A binary judge beside people's labels. Raises ``ScoresInvalid`` for shares of nothing, or that are none."""

    specificity: float
    """q0: the share of truly failing items that the judge fails."""
    sensitivity: float
    """q1: the share of truly passing items that the judge passes."""
    failing: int
    """m0: labelled items that truly fail; ``passing``, m1: that truly pass."""
    passing: int

    def __post_init__(self) -> None:
        if not (0 <= self.specificity <= 1 and 0 <= self.sensitivity <= 1):
            raise ScoresInvalid("A share lies between 0 and 1.", where="calibration", remedy="Correct the shares.")
        if min(self.failing, self.passing) < 1:
            raise ScoresInvalid("The judge was seen on no item of one kind.", where="calibration", remedy=_BOTH)


_BOTH: str = "Label items that truly pass and items that truly fail."


@dataclass(frozen=True, kw_only=True)
class CorrectedRate:
    """The true rate of passes, as far as a judge of known errors tells it; both are cut to lie between 0 and 1."""

    rate: float
    interval: Interval


def corrected_rate(rate: float, items: int, calibration: Calibration) -> CorrectedRate:
    """theta = (p + q0 - 1) / (q0 + q1 - 1), p the share of ``items`` that the judge passes (Rogan and Gladen 1978).

    The interval is that of Lee et al. (ICML 2026, arXiv 2511.21140): p with z^2 / 2 added to its passes and z^2 to its
    items, q0 and q1 with 1 added and 2, a second-order shift, and the error of all three. The labelled items must be of
    the same kind as the others. Raises ``StatisticUndefined`` for a judge no better than chance (q0 + q1 at most 1).
    """
    if not 0 <= rate <= 1 or items < 1:
        raise ScoresInvalid("A share lies between 0 and 1, over one item or more.", where="rate")
    _refuse_chance(calibration.specificity, calibration.sensitivity)
    theta = _inverted(rate, calibration.specificity, calibration.sensitivity)
    n, m0, m1 = items + Z**2, calibration.failing + 2, calibration.passing + 2
    p = (items * rate + Z**2 / 2) / n
    q0 = (calibration.failing * calibration.specificity + 1) / m0
    q1 = (calibration.passing * calibration.sensitivity + 1) / m1
    _refuse_chance(q0, q1)
    centre = _inverted(p, q0, q1)
    noise0, noise1 = q0 * (1 - q0) / m0, q1 * (1 - q1) / m1
    centre_shift = 2 * Z**2 * (centre * noise1 - (1 - centre) * noise0)
    error = math.sqrt(p * (1 - p) / n + (1 - centre) ** 2 * noise0 + centre**2 * noise1) / (q0 + q1 - 1)
    seen = normal(centre + centre_shift, error)
    return CorrectedRate(rate=_share(theta), interval=Interval(_share(seen.low), _share(seen.high)))


def _inverted(p: float, q0: float, q1: float) -> float:
    return (p + q0 - 1) / (q0 + q1 - 1)


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def _refuse_chance(q0: float, q1: float) -> None:
    if q0 + q1 <= 1:
        raise StatisticUndefined(
            "The judge passes failing items as often as passing ones.",
            where="calibration",
            remedy="Use another judge, or label more items.",
        )


def allocate(labels: int, rate: float, pilot: Calibration) -> tuple[int, int]:
    """How many of ``labels`` to spend on items that truly fail and on those that truly pass, for the shortest interval.

    m0 : m1 = (1/p - 1) sqrt((1 - q0) / (1 - q1)), q from a pilot with 1 added to its counts and 2 to its items (Lee et
    al., arXiv 2511.21140). ``rate``: the judge's. At least one is spent on each. Raises ``ScoresInvalid``.
    """
    if labels < 2 or not 0 < rate < 1:
        raise ScoresInvalid("Two labels or more are spent, at a rate between 0 and 1.", where="labels")
    wrong0 = (pilot.failing * (1 - pilot.specificity) + 1) / (pilot.failing + 2)
    wrong1 = (pilot.passing * (1 - pilot.sensitivity) + 1) / (pilot.passing + 2)
    ratio = (1 / rate - 1) * math.sqrt(wrong0 / wrong1)
    failing = min(labels - 1, max(1, round(labels * ratio / (1 + ratio))))
    return failing, labels - failing


@dataclass(frozen=True, kw_only=True)
class CorrectedMean:
    """The mean of the true scores, of all items, from a judge of all and labels of some. ``interval``: 95 %, normal."""

    value: float
    error: float
    interval: Interval
    trust: float
    """lambda: how much the judge is leant on; 0 is the labels' own mean, 1 the judge's, corrected."""


def corrected_mean(
    judged: npt.ArrayLike, judged_labelled: npt.ArrayLike, labels: npt.ArrayLike, *, trust: float | None = None
) -> CorrectedMean:
    """Prediction-powered mean: lambda mean(judged) - mean(lambda judged_labelled - labels).

    SE^2 = lambda^2 Var(judged) / N + Var(labels - lambda judged_labelled) / n (Angelopoulos et al. 2023, arXiv
    2301.09633). ``trust`` ``None``: the lambda that makes it least, Cov(labels, judged) / ((1 + n / N) Var(judged)),
    kept between 0 and 1 (PPI++, arXiv 2311.01453). ``judged``: the judge's scores of the N items without a label; the n
    with one must have been drawn at random. Raises ``ScoresInvalid``, and ``StatisticUndefined`` for fewer than two
    labels or two items without.
    """
    rest, seen, truth = column(judged, "judged"), column(judged_labelled, "judged_labelled"), column(labels, "labels")
    same_length(len(seen), len(truth), "judged_labelled")
    if min(len(rest), len(truth)) < 2:
        raise StatisticUndefined("Two labels and two items without one are the least.", where="labels")
    leant = _tuned(rest, seen, truth) if trust is None else trust
    if not 0 <= leant <= 1:
        raise ScoresInvalid("Trust lies between 0 and 1.", where="trust", remedy="Leave it out to have it chosen.")
    value = leant * float(rest.mean()) - float((leant * seen - truth).mean())
    error = math.sqrt(leant**2 * float(rest.var()) / len(rest) + float((truth - leant * seen).var()) / len(truth))
    return CorrectedMean(value=value, error=error, interval=normal(value, error), trust=leant)


def _tuned(rest: Vector, seen: Vector, truth: Vector) -> float:
    variance = float(np.concatenate([seen, rest]).var(ddof=1))
    if not variance:
        return 0.0
    # Divided by n, as the authors' own program does: trust is a little less than the best, never more.
    covariance = float(np.mean((seen - seen.mean()) * (truth - truth.mean())))
    return _share(covariance / ((1 + len(truth) / len(rest)) * variance))


def sampled_mean(
    judged: npt.ArrayLike, labels: npt.ArrayLike, chances: npt.ArrayLike, *, trust: float = 1.0
) -> CorrectedMean:
    """The same where items were sent to people with different probabilities, such as by the judge's uncertainty.

    mean of lambda judged + (label - lambda judged) / pi over labelled items and lambda judged over others (active
    inference, Zrnic and Candes 2024, arXiv 2403.03208). ``labels``: NaN where an item has none; ``chances``: pi, each
    item's probability of being labelled, above 0 and at most 1, as it was when that was decided. Raises
    ``ScoresInvalid``, and ``StatisticUndefined`` for fewer than two items or no label.
    """
    scores, pi = column(judged, "judged"), column(chances, "chances")
    truth = column_with_gaps(labels, "labels")
    same_length(len(pi), len(scores), "chances")
    same_length(len(truth), len(scores), "labels")
    if pi.min() <= 0 or pi.max() > 1:
        raise ScoresInvalid("A chance is above 0 and at most 1.", where="chances", remedy="Every item can be drawn.")
    known = np.flatnonzero(~np.isnan(truth))
    if len(scores) < 2 or not len(known):
        raise StatisticUndefined("Two items are the least, and one label.", where="labels")
    parts = trust * scores
    parts[known] += (truth[known] - trust * scores[known]) / pi[known]
    value, error = float(parts.mean()), float(parts.std(ddof=1)) / math.sqrt(len(parts))
    return CorrectedMean(value=value, error=error, interval=normal(value, error), trust=trust)
