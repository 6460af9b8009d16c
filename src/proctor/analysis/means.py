"""Means with the standard error of that very mean, and an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from proctor.analysis.arrays import npt
from proctor.analysis.errors import StatisticUndefined
from proctor.analysis.intervals import LEVEL, Interval
from proctor.analysis.proportions import effective_size, is_rounding, wilson
from proctor.analysis.samples import Sample, sample

__all__ = ["Mean", "mean", "mean_of", "standard_error"]


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean of scores. ``error``: its standard error, ``None`` where one cluster alone can't tell it."""

    value: float
    error: float | None
    interval: Interval | None
    """At 95 %: Wilson's where each score is 0 or 1, else Student's t; ``None`` where t has no error to stand on."""
    items: int
    clusters: int


def mean(scores: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, weights: npt.ArrayLike | None = None) -> Mean:
    """The mean of scores, clustered by the unit of randomisation, weighted by inverse inclusion probabilities.

    ``clusters``: a label for each score (its task, its repository); ``weights``: a number above 0 for each. Passes and
    fails (0 and 1) get Wilson's interval at their effective size; other scores t with clusters - 1 degrees of freedom.
    Raises ``ScoresInvalid``, and ``StatisticUndefined`` where there are no scores.
    """
    return mean_of(sample(scores, clusters=clusters, weights=weights))


def mean_of(drawn: Sample) -> Mean:
    """The same, of a sample that is at hand."""
    error, interval = _of_shares(drawn) if drawn.binary else _of_scores(drawn)
    return Mean(value=drawn.mean, error=error, interval=interval, items=len(drawn.scores), clusters=drawn.clusters)


def _of_shares(drawn: Sample) -> tuple[float | None, Interval]:
    """Clusters that are all alike don't make a rate between 0 and 1 certain: there it is as if each were one trial."""
    size, rate = len(drawn.scores), drawn.mean
    if drawn.independent:
        return (math.sqrt(rate * (1 - rate) / size) if size > 1 else None), wilson(rate, size)
    variance = drawn.variance_of_mean()
    spread = variance * size**2
    effective = effective_size(rate, size, clusters=drawn.cluster_weight, spread=spread)
    interval = wilson(rate, effective)
    if drawn.clusters == 1:
        return None, interval
    return math.sqrt(rate * (1 - rate) / effective if is_rounding(spread, rate, size) else variance), interval


def _of_scores(drawn: Sample) -> tuple[float | None, Interval | None]:
    from scipy.special import stdtrit

    if drawn.clusters == 1:
        return None, None
    error = standard_error(drawn)
    half = float(stdtrit(drawn.clusters - 1, 0.5 + LEVEL / 2)) * error
    return error, Interval(drawn.mean - half, drawn.mean + half)


def standard_error(drawn: Sample) -> float:
    """sqrt(sum (s - mean)^2 / (n - 1) / n); of clustered scores sqrt(sum over clusters of (sum (s - mean))^2) / n.

    Miller 2024, arXiv 2411.00640, sections 2.1 and 2.2; with weights the linearised form of each. Raises
    ``StatisticUndefined`` for one cluster.
    """
    if drawn.clusters == 1:
        raise StatisticUndefined("One cluster says nothing about how clusters differ.", where="clusters")
    small = drawn.clusters / (drawn.clusters - 1) if drawn.places is None else 1.0
    return math.sqrt(drawn.variance_of_mean() * small)
