"""How far raters agree beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha, each with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proctor.analysis.alpha import Level, disagreement
from proctor.analysis.arrays import Places, Vector, labelled, listed, matrix, np, npt, same_length
from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.intervals import Interval
from proctor.analysis.resampling import bootstrap, dealt

__all__ = ["Agreement", "Weighting", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha"]

CATEGORIES: int = 101
"""Different ratings: a scale from 0 to 100. A table of them squared is kept for each of 500 groups of items."""
RATERS: int = 100
"""Of one table, in which each two are set beside each other: 5,000 pairs an item, and no jury is larger."""

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
    cells = _summed(places[: len(first)] * size + places[len(first) :], size**2)
    distance = _distance(size, weighting)
    value = _required(_kappa(cells.sum(axis=0), distance), "Both raters give every item the one same rating.")
    return Agreement(value=value, interval=bootstrap(cells, lambda one: _kappa(one, distance)), items=len(first))


def _summed(cells: Places, size: int) -> _Matrix:
    """For each group of items how often each cell was seen; ``cells``: one for each item."""
    group, groups = dealt(len(cells))
    return np.bincount(group * size + cells, minlength=groups * size).reshape(groups, size).astype(np.float64)


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
        raise ScoresInvalid("Every item has the same whole number of raters.", where="counts", remedy=remedy)
    if raters[0] < 2:
        raise StatisticUndefined("One rater agrees with nobody.", where="counts")
    _bounded(table.shape[1])
    group, groups = dealt(len(table))
    agreeing = (np.sum(table**2, axis=1) - raters) / (raters * (raters - 1))
    parts = np.column_stack([agreeing, np.ones(len(table)), table])
    sums = np.stack([np.bincount(group, weights=one, minlength=groups) for one in parts.T], axis=1).astype(np.float64)
    value = _required(_fleiss(sums.sum(axis=0)), "All raters chose the one same category.")
    return Agreement(value=value, interval=bootstrap(sums, _fleiss), items=len(table))


def _fleiss(sums: Vector) -> float | None:
    """``sums``: of shares of agreeing pairs, of items, and of the ratings in each category."""
    shares = sums[2:] / sums[2:].sum()
    chance = float(np.sum(shares**2))
    return (float(sums[0] / sums[1]) - chance) / (1 - chance) if chance < 1 else None


def krippendorff_alpha(ratings: npt.ArrayLike, level: Level) -> Agreement:
    """Items by raters, NaN where a rater did not rate: alpha = 1 - Do / De over pairs of ratings of one item.

    ``level``: how far two ratings are apart; see ``Level``. Krippendorff, Computing Krippendorff's Alpha-Reliability
    (2011). Items with one rating pair with nothing and do not count. Raises ``ScoresInvalid``, and
    ``StatisticUndefined`` where no item has two ratings, or all ratings are the same.
    """
    table = matrix(ratings, "ratings")
    known = ~np.isnan(table)
    if table.shape[1] > RATERS:
        raise ScoresInvalid(f"{table.shape[1]:,} raters are more than {RATERS}.", where="ratings")
    paired = known.sum(axis=1) >= 2
    if not paired.any():
        raise StatisticUndefined("No item has two ratings.", where="ratings")
    values = np.unique(table[paired][known[paired]])
    _bounded(len(values))
    if level is Level.RATIO and values[0] < 0:
        raise ScoresInvalid("On a ratio scale nothing is below 0.", where="ratings", remedy="Use the interval level.")
    sums = _coincidences(table[paired], values)
    value = _required(_alpha(sums.sum(axis=0), values, level), "All ratings are the same.")
    interval = bootstrap(sums, lambda one: _alpha(one, values, level))
    return Agreement(value=value, interval=interval, items=int(paired.sum()))


def _coincidences(table: _Matrix, values: Vector) -> _Matrix:
    """For each group of items its ordered pairs of ratings of one item, each pair over that item's ratings less 1."""
    group, groups = dealt(len(table))
    known = ~np.isnan(table)
    places = np.searchsorted(values, np.where(known, table, values[0]))
    size = len(values)
    sums = np.zeros(groups * size**2)
    each = np.broadcast_to((1 / (known.sum(axis=1) - 1))[:, None], table.shape)
    for rater in range(table.shape[1]):
        both = known & known[:, [rater]]
        both[:, rater] = False
        cells = ((group * size + places[:, rater]) * size)[:, None] + places
        sums += np.bincount(cells[both], weights=each[both], minlength=len(sums))
    return sums.reshape(groups, size**2)


def _alpha(sums: Vector, values: Vector, level: Level) -> float | None:
    return disagreement(sums.reshape(len(values), len(values)), values, level)


def _bounded(categories: int) -> int:
    if categories > CATEGORIES:
        told = f"{categories:,} different ratings are more than {CATEGORIES}."
        raise ScoresInvalid(told, where="ratings", remedy="Round them to fewer steps.")
    return categories


def _required(value: float | None, why: str) -> float:
    if value is None:
        raise StatisticUndefined(why, where="ratings", remedy="Agreement beyond chance needs ratings that differ.")
    return value
