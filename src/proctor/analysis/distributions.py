"""How scores are spread, and whether two spreads are the same."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.analysis.arrays import Vector, column, np, npt

__all__ = ["Distribution", "Shift", "describe", "shift"]

BINS: int = 50
"""Of a histogram at most: a chart of the width of a screen shows no more."""
QUANTILES: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The middle, the quarters, and the ends without the outliers."""
EXACT: int = 10_000
"""Scores of a column up to which the distribution of the statistic is computed exactly."""


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Scores as they are spread. Bin i of the histogram goes from ``edges[i]`` to below ``edges[i + 1]``.

    The last bin has its end too. ``deviation``: the standard deviation (n - 1), ``None`` for one score.
    """

    count: int
    low: float
    high: float
    deviation: float | None
    quantiles: tuple[tuple[float, float], ...]
    """Share below, and score: at 5, 25, 50, 75 and 95 %."""
    edges: tuple[float, ...]
    counts: tuple[int, ...]


def describe(scores: npt.ArrayLike) -> Distribution:
    """Range, quantiles (linear between order statistics) and a histogram of bins 2 IQR n^(-1/3) wide.

    Freedman and Diaconis 1981; not fewer bins than log2 n + 1 (Sturges 1926), which the former falls below where
    scores are few or lie at the ends; at most 50, and no more than different scores. Raises ``ScoresInvalid``, and
    ``StatisticUndefined`` where there are none.
    """
    values = column(scores)
    edges = _edges(values)
    counts, _ = np.histogram(values, bins=edges)
    return Distribution(
        count=len(values),
        low=float(values.min()),
        high=float(values.max()),
        deviation=float(values.std(ddof=1)) if len(values) > 1 else None,
        quantiles=tuple(zip(QUANTILES, map(float, np.quantile(values, QUANTILES)), strict=True)),
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
    )


def _edges(values: Vector) -> Vector:
    low, high = values.min(), values.max()
    lower, upper = np.quantile(values, [0.25, 0.75])
    width = 2 * (upper - lower) / np.cbrt(len(values))
    fewest = int(np.ceil(np.log2(len(values)))) + 1
    bins = BINS if width * BINS <= high - low else max(fewest, int(np.ceil((high - low) / width)))
    edges = np.linspace(low, high, min(bins, len(np.unique(values))) + 1)
    # Scores a rounding error apart leave no room for bins between them.
    return edges if (np.diff(edges) > 0).all() else np.array([low, high])


@dataclass(frozen=True, kw_only=True)
class Shift:
    """How far two distributions are apart."""

    statistic: float
    """The largest distance between their cumulative shares (Kolmogorov and Smirnov), from 0 to 1."""
    p: float
    """Two-sided, of the same distribution; too large, if anything, where scores tie."""
    distance: float
    """How far scores would have to be moved on average, in their unit (Wasserstein 1)."""


def shift(a: npt.ArrayLike, b: npt.ArrayLike) -> Shift:
    """Two independent columns of scores compared as distributions. Raises ``ScoresInvalid``, ``StatisticUndefined``."""
    from scipy.stats import ks_2samp, wasserstein_distance

    ours, theirs = column(a, "a"), column(b, "b")
    seen = ks_2samp(ours, theirs, method="exact" if max(len(ours), len(theirs)) <= EXACT else "asymp")
    return Shift(
        statistic=float(seen.statistic), p=float(seen.pvalue), distance=float(wasserstein_distance(ours, theirs))
    )
