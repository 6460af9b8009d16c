"""Means with the standard error of that very mean, and an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from proctor.analysis.arrays import npt
from proctor.analysis.errors import StatisticUndefined
from proctor.analysis.intervals import LEVEL, Interval
from proctor.analysis.proportions import effective_size, is_rounding, wilson
from proctor.analysis.samples import Sample, sample

__all__ = ["Mean", "Sums", "mean", "mean_of", "mean_of_sums", "standard_error"]


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean of scores. ``error``: its standard error, ``None`` where one cluster alone can't tell it."""

    value: float
    error: float | None
    interval: Interval | None
    """At 95 %: Wilson's where each score is 0 or 1, else Student's t; ``None`` where t has no error to stand on."""
    items: int
    clusters: int


@dataclass(frozen=True, kw_only=True)
class Sums:
    """What a mean and its error follow from, so that whoever has too many scores for one column can add them up.

    ``mean``: sum(w s) / sum(w); ``spread``: the sum over clusters of (the sum over its scores of w (s - mean)) squared,
    over the mean weight squared; ``effective_clusters``: (sum w)^2 / sum w^2 over clusters, of unweighted ones their
    number; ``binary``: every score is 0 or 1. Where nothing is clustered each score is a cluster.
    """

    items: int
    clusters: int
    effective_clusters: float
    mean: float
    spread: float
    binary: bool
    clustered: bool
    weighted: bool


def mean(scores: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, weights: npt.ArrayLike | None = None) -> Mean:
    """The mean of scores, clustered by the unit of randomisation, weighted by inverse inclusion probabilities.

    ``clusters``: a label for each score (its task, its repository); ``weights``: a number above 0 for each. Passes and
    fails (0 and 1) get Wilson's interval at their effective size; other scores t with clusters - 1 degrees of freedom.
    Raises ``ScoresInvalid``, and ``StatisticUndefined`` where there are no scores.
    """
    return mean_of(sample(scores, clusters=clusters, weights=weights))


def mean_of(drawn: Sample) -> Mean:
    """The same, of a sample that is at hand."""
    return mean_of_sums(_sums(drawn))


def mean_of_sums(sums: Sums) -> Mean:
    """The same, of scores that were added up."""
    error, interval = _of_shares(sums) if sums.binary else _of_scores(sums)
    return Mean(value=sums.mean, error=error, interval=interval, items=sums.items, clusters=sums.clusters)


def _sums(drawn: Sample) -> Sums:
    items = len(drawn.scores)
    return Sums(
        items=items,
        clusters=drawn.clusters,
        effective_clusters=drawn.cluster_weight,
        mean=drawn.mean,
        spread=drawn.variance_of_mean() * items**2,
        binary=drawn.binary,
        clustered=drawn.places is not None,
        weighted=drawn.weights is not None,
    )


def _of_shares(sums: Sums) -> tuple[float | None, Interval]:
    """Clusters that are all alike don't make a rate between 0 and 1 certain: there it is as if each were one trial."""
    size, rate = sums.items, sums.mean
    if not sums.clustered and not sums.weighted:
        return (math.sqrt(rate * (1 - rate) / size) if size > 1 else None), wilson(rate, size)
    effective = effective_size(rate, size, clusters=sums.effective_clusters, spread=sums.spread)
    interval = wilson(rate, effective)
    if sums.clusters == 1:
        return None, interval
    rounding = is_rounding(sums.spread, rate, size)
    return math.sqrt(rate * (1 - rate) / effective if rounding else sums.spread / size**2), interval


def _of_scores(sums: Sums) -> tuple[float | None, Interval | None]:
    from scipy.special import stdtrit

    if sums.clusters == 1:
        return None, None
    error = _error(sums)
    half = float(stdtrit(sums.clusters - 1, 0.5 + LEVEL / 2)) * error
    return error, Interval(sums.mean - half, sums.mean + half)


def standard_error(drawn: Sample) -> float:
    """sqrt(sum (s - mean)^2 / (n - 1) / n); of clustered scores sqrt(sum over clusters of (sum (s - mean))^2) / n.

    Miller 2024, arXiv 2411.00640, sections 2.1 and 2.2; with weights the linearised form of each. Raises
    ``StatisticUndefined`` for one cluster.
    """
    if drawn.clusters == 1:
        raise StatisticUndefined("One cluster says nothing about how clusters differ.", where="clusters")
    return _error(_sums(drawn))


def _error(sums: Sums) -> float:
    small = 1.0 if sums.clustered else sums.clusters / (sums.clusters - 1)
    return math.sqrt(sums.spread / sums.items**2 * small)
