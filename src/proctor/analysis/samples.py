"""Scores with what says how they were drawn: clusters and weights. The estimator that every mean and error shares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from proctor.analysis.arrays import Mask, Places, Vector, column, labelled, np, npt, weighted

__all__ = ["Sample", "sample"]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Scores, each with the cluster it was drawn in and its weight.

    ``places``: the cluster of each score; ``None``: each is its own. ``weights``: the inverse of the probability with
    which a score came to be here; ``None``: all were equally likely.
    """

    scores: Vector
    places: Places | None
    weights: Vector | None
    clusters: int

    @cached_property
    def mean(self) -> float:
        """sum(w s) / sum(w): of the population that the weights stand for (Hájek 1971)."""
        average = float(np.average(self.scores, weights=self.weights))
        # Rounded, a mean of scores that are all the same may lie beside them.
        return min(max(average, float(self.scores.min())), float(self.scores.max()))

    @cached_property
    def shares(self) -> Vector:
        """What each score counts for in the mean; together 1."""
        if self.weights is None:
            return np.full(len(self.scores), 1 / len(self.scores))
        shares: Vector = self.weights / self.weights.sum()
        return shares

    @property
    def independent(self) -> bool:
        """Whether each score was drawn by itself, all equally likely."""
        return self.places is None and self.weights is None

    @property
    def binary(self) -> bool:
        """Whether every score is 0 or 1."""
        return bool(((self.scores == 0) | (self.scores == 1)).all())

    @cached_property
    def cluster_weight(self) -> float:
        """How many clusters of equal weight tell as much: (sum w)^2 / sum w^2 over clusters (Kish 1965)."""
        if self.weights is None:
            return float(self.clusters)
        return float(1 / np.sum(self.by_cluster(self.shares) ** 2))

    def by_cluster(self, parts: Vector) -> Vector:
        """The sum of ``parts`` in each cluster."""
        if self.places is None:
            return parts
        return np.bincount(self.places, weights=parts).astype(np.float64)

    def variance_of_mean(self) -> float:
        """Sum over clusters of (sum over its scores of w (s - mean) / sum w)^2, the linearised variance of ``mean``.

        Unweighted this is SE_cl^2 (Miller 2024, arXiv 2411.00640, section 2.2), with no small-sample factor.
        """
        return float(np.sum(self.by_cluster(self.shares * (self.scores - self.mean)) ** 2))

    def part(self, inside: Mask | Places) -> Sample:
        """Those scores that are inside (a mask, or their places), in their clusters, with their weights."""
        scores = self.scores[inside]
        places, clusters = None, len(scores)
        if self.places is not None:
            found, places = np.unique(self.places[inside], return_inverse=True)
            clusters = len(found)
        weights = None if self.weights is None else self.weights[inside]
        return Sample(scores=scores, places=places, weights=weights, clusters=clusters)


def sample(
    scores: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, weights: npt.ArrayLike | None = None
) -> Sample:
    """Scores with their clusters (a label each, the unit of randomisation) and weights (above 0).

    Raises ``ScoresInvalid``, and ``StatisticUndefined`` where there are none.
    """
    values = column(scores)
    names, places = (None, None) if clusters is None else labelled(clusters, len(values))
    return Sample(
        scores=values,
        places=places,
        weights=None if weights is None else weighted(weights, len(values)),
        clusters=len(values) if names is None else len(names),
    )
