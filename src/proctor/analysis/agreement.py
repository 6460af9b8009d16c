"""How far raters agree beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha, each with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proctor.analysis.alpha import Level, disagreement
from proctor.analysis.arrays import Vector, labelled, listed, matrix, np, npt, same_length
from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.intervals import Interval
from proctor.analysis.resampling import bootstrap

__all__ = ["Agreement", "Weighting", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha"]

CATEGORIES: int = 200
"""Different ratings: a hundred-point scale with halves. A table of them squared is made a thousand times."""

_Matrix = npt.NDArray[np.float64]


class Weighting(StrEnum):
    """How much it counts that two raters are several categories apart."""

    NONE = "none"
    LINEAR = "linear"
    QUADRATIC = "quadratic"


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """1 is perfect, 0 is chance, below is worse than chance.

    ``interval``: 95 %, by resampling items; ``None`` where most resamples have no spread.
    """

    value: float
    interval: Interval | None
    items: int


def cohen_kappa(a: npt.ArrayLike, b: npt.ArrayLike, *, weighting: Weighting = Weighting.NONE) -> Agreement:
    """Two raters over the same items: 1 - sum(w o) / sum(w e), o observed, e expected by their margins (Cohen 1968).

    Ratings are text or whole numbers; weights (distances of categories in sorted order) are for ordered ones. Raises
    ``ScoresInvalid``, and ``StatisticUndefined`` where both raters give all items the one same rating.
    """
    first, second = listed(a, "a"), listed(b, "b")
    same_length(len(second), len(first), "b")
    names, places = labelled([*first, *second], 2 * len(first), "ratings")
    size = _bounded(len(names))
    cells = np.bincount(places[: len(first)] * size + places[len(first) :], minlength=size**2)
    distance = _distance(size, weighting)
    value = _required(_kappa(cells.astype(np.float64), distance), "Both raters give every item the one same rating.")
    interval = bootstrap(cells, lambda counts: _kappa(counts, distance))
    return Agreement(value=value, interval=interval, items=len(first))


def _kappa(cells: Vector, distance: _Matrix) -> float | None:
    table = cells.reshape(distance.shape) / cells.sum()
    expected = float(np.sum(distance * np.outer(table.sum(axis=1), table.sum(axis=0))))
    return 1 - float(np.sum(distance * table)) / expected if expected else None


def _distance(size: int, weighting: Weighting) -> _Matrix:
    steps = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    if weighting is Weighting.LINEAR:
        return steps
    return steps**2 if weighting is Weighting.QUADRATIC else (steps > 0).astype(np.float64)


def fleiss_kappa(counts: npt.ArrayLike) -> Agreement:
    """Items by categories: how many raters chose each, the same number of raters for every item (Fleiss 1971).

    kappa = (P - Pe) / (1 - Pe), P the mean share of agreeing pairs, Pe the sum of squared shares of the categories.
    Raises ``ScoresInvalid``, and ``StatisticUndefined`` for one rater, or where all chose one category.
    """
    table = matrix(counts, "counts")
    raters = table.sum(axis=1)
    if np.isnan(table).any() or (table < 0).any() or (table % 1).any() or np.ptp(raters):
        remedy = "Give whole numbers; for missing ratings use Krippendorff's alpha."
        raise ScoresInvalid("Not every item has the same number of raters.", where="counts", remedy=remedy)
    if raters[0] < 2:
        raise StatisticUndefined("One rater agrees with nobody.", where="counts")
    _bounded(table.shape[1])
    patterns, seen = np.unique(table, axis=0, return_counts=True)
    value = _required(_fleiss(patterns, seen.astype(np.float64)), "All raters chose the one same category.")
    return Agreement(value=value, interval=bootstrap(seen, lambda one: _fleiss(patterns, one)), items=len(table))


def _fleiss(patterns: _Matrix, seen: Vector) -> float | None:
    raters = patterns[0].sum()
    agreeing = (np.sum(patterns**2, axis=1) - raters) / (raters * (raters - 1))
    shares = seen @ patterns / (seen.sum() * raters)
    chance = float(np.sum(shares**2))
    return (float(np.average(agreeing, weights=seen)) - chance) / (1 - chance) if chance < 1 else None


def krippendorff_alpha(ratings: npt.ArrayLike, level: Level) -> Agreement:
    """Items by raters, NaN where a rater did not rate: alpha = 1 - Do / De over pairs of ratings of one item.

    ``level``: how far two ratings are apart; see ``Level``. Krippendorff, Computing Krippendorff's Alpha-Reliability
    (2011). Items with one rating pair with nothing and do not count. Raises ``ScoresInvalid``, and
    ``StatisticUndefined`` where no item has two ratings, or all ratings are the same.
    """
    table = matrix(ratings, "ratings")
    known = ~np.isnan(table)
    paired = known.sum(axis=1) >= 2
    if not paired.any():
        raise StatisticUndefined("No item has two ratings.", where="ratings")
    values = np.unique(table[paired][known[paired]])
    _bounded(len(values))
    if level is Level.RATIO and values[0] < 0:
        raise ScoresInvalid("On a ratio scale nothing is below 0.", where="ratings", remedy="Use the interval level.")
    patterns, seen = np.unique(_counted(table[paired], values), axis=0, return_counts=True)
    value = _required(_alpha(patterns, values, seen.astype(np.float64), level), "All ratings are the same.")
    interval = bootstrap(seen, lambda counts: _alpha(patterns, values, counts, level))
    return Agreement(value=value, interval=interval, items=int(paired.sum()))


def _counted(table: _Matrix, values: Vector) -> _Matrix:
    """Of each item, how many raters gave each value."""
    rows, columns = np.nonzero(~np.isnan(table))
    cells = rows * len(values) + np.searchsorted(values, table[rows, columns])
    return np.bincount(cells, minlength=len(table) * len(values)).reshape(len(table), -1).astype(np.float64)


def _alpha(patterns: _Matrix, values: Vector, seen: Vector, level: Level) -> float | None:
    raters = patterns.sum(axis=1)
    weights = seen / (raters - 1)
    coincidences = (patterns * weights[:, None]).T @ patterns - np.diag(weights @ patterns)
    return disagreement(coincidences, values, level)


def _bounded(categories: int) -> int:
    if categories > CATEGORIES:
        told = f"{categories:,} different ratings are more than {CATEGORIES}."
        raise ScoresInvalid(told, where="ratings", remedy="Round them to fewer steps.")
    return categories


def _required(value: float | None, why: str) -> float:
    if value is None:
        raise StatisticUndefined(why, where="ratings", remedy="Agreement beyond chance needs ratings that differ.")
    return value
