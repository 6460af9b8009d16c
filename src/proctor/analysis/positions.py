"""Pairwise judgements and what they lean on besides quality: the order of the answers, and their length."""

from __future__ import annotations

import math
from dataclasses import dataclass

from proctor.analysis.arrays import Vector, column, matrix, np, npt, same_length
from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.intervals import Interval, normal
from proctor.analysis.means import Mean, mean_of
from proctor.analysis.samples import sample

__all__ = ["BothOrders", "LengthControlled", "both_orders", "length_controlled", "repetition_stability"]


@dataclass(frozen=True, kw_only=True)
class BothOrders:
    """Pairs judged in both orders. An answer wins only if it wins in both; else the pair is a tie."""

    outcomes: Vector
    """For each pair 1 where a won, 0 where b did, 0.5 for a tie."""
    win_rate: Mean
    """Of a, a tie being half a win."""
    consistency: float
    """The share of pairs whose judgement does not change with the order."""
    primacy: float | None
    """Of the pairs in which the winner changes with the order, the share in which it is each time the first answer.

    0.5 is no lean to a place; ``None`` where the winner never changes.
    """


def both_orders(a_first: npt.ArrayLike, b_first: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None) -> BothOrders:
    """Judgements of the same pairs with a shown first, and with b shown first: 1 where a won, 0 where b did, 0.5 a tie.

    Zheng et al. 2023 (arXiv 2306.05685), Shi et al. 2024 (arXiv 2406.07791). Raises ``ScoresInvalid``, and
    ``StatisticUndefined`` where there are none.
    """
    ahead, behind = _judgements(a_first, "a_first"), _judgements(b_first, "b_first")
    same_length(len(behind), len(ahead), "b_first")
    outcomes = np.where(ahead == behind, ahead, 0.5)
    flipped = np.abs(ahead - behind) == 1
    flips = int(np.count_nonzero(flipped))
    return BothOrders(
        outcomes=outcomes,
        win_rate=mean_of(sample(outcomes, clusters=clusters)),
        consistency=float(np.mean(ahead == behind)),
        primacy=float(np.mean(ahead[flipped] == 1)) if flips else None,
    )


def _judgements(values: npt.ArrayLike, where: str) -> Vector:
    seen = column(values, where)
    if not np.isin(seen, (0.0, 0.5, 1.0)).all():
        raise ScoresInvalid("A judgement is 1, 0.5 or 0.", where=where, remedy="Say whether a won.")
    return seen


def repetition_stability(judgements: npt.ArrayLike) -> float:
    """Pairs by repeats of the same question: the mean share of repeats that say what most of that pair's say.

    Shi et al. 2024, arXiv 2406.07791. NaN where a repeat is missing. Raises ``ScoresInvalid``, and
    ``StatisticUndefined`` where no pair was judged twice.
    """
    table = matrix(judgements, "judgements")
    known = ~np.isnan(table)
    if not np.isin(table[known], (0.0, 0.5, 1.0)).all():
        raise ScoresInvalid("A judgement is 1, 0.5 or 0.", where="judgements", remedy="Say whether a won.")
    repeated = known.sum(axis=1) >= 2
    if not repeated.any():
        raise StatisticUndefined("No pair was judged twice.", where="judgements")
    most = np.max([(table[repeated] == value).sum(axis=1) for value in (0.0, 0.5, 1.0)], axis=0)
    return float(np.mean(most / known[repeated].sum(axis=1)))


@dataclass(frozen=True, kw_only=True)
class LengthControlled:
    """The rate at which a would win if its answers were as long as b's, and the rate as it is."""

    win_rate: float
    interval: Interval
    raw: float
    lean: float
    """The log odds of a win that the longest answers gain by their length; 0 is no lean, above 0 to the longer."""


def length_controlled(outcomes: npt.ArrayLike, extra_length: npt.ArrayLike) -> LengthControlled:
    """logit P(a wins) = theta + phi tanh(extra / sd(extra)), at extra = 0 (after Dubois et al. 2024, arXiv 2404.04475).

    ``outcomes``: 1, 0.5 or 0 for a; ``extra_length``: how much longer a's answer is than b's, in any unit. Fitted by
    statsmodels with a robust covariance. Raises ``ScoresInvalid``, and ``StatisticUndefined`` where lengths do not
    vary, or part wins from losses, so that what is length and what is quality can't be told.
    """
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    won, extra = _judgements(outcomes, "outcomes"), column(extra_length, "extra_length")
    same_length(len(extra), len(won), "extra_length")
    _refuse_parted(won, extra)
    lengths = np.tanh(extra / extra.std())
    seen = GLM(won, np.column_stack([np.ones(len(won)), lengths]), family=Binomial()).fit(cov_type="HC0")
    theta, phi = (float(one) for one in seen.params)
    ends = normal(theta, float(seen.bse[0]))
    return LengthControlled(
        win_rate=_logistic(theta),
        interval=Interval(_logistic(ends.low), _logistic(ends.high)),
        raw=float(won.mean()),
        lean=phi,
    )


def _refuse_parted(won: Vector, extra: Vector) -> None:
    """With one regressor a maximum exists just if wins and losses overlap in it (Albert and Anderson 1984)."""
    wins, losses = extra[won > 0], extra[won < 1]
    if len(wins) and len(losses) and wins.min() < losses.max() and losses.min() < wins.max():
        return
    raise StatisticUndefined(
        "Wins and losses do not overlap in length: what is length and what is quality can't be told.",
        where="extra_length",
        remedy="Judge more pairs, of which some win though shorter and some though longer.",
    )


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
