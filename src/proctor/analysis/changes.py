"""Scores over time: the mean of each period, and when the level changed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from proctor.analysis.arrays import Vector, column, labelled, np, npt
from proctor.analysis.errors import ScoresInvalid
from proctor.analysis.means import Mean, mean_of
from proctor.analysis.samples import sample

__all__ = ["LevelChange", "Period", "level_changes", "over_time"]

PERIODS: int = 10_000
"""Of one series: 27 years of days, or 14 months of hours."""
SHUFFLES: int = 999
"""Orders drawn for each test: the smallest p is 0.001."""
SEED: int = 20260701
"""Of the orders: the same series gives the same changes on every machine."""
SHORTEST: int = 5
"""Periods on each side of a change: from fewer no level is known."""
_AT_ONCE: int = 100
"""Orders that are looked at together: 8 MB for the longest series."""


@dataclass(frozen=True, kw_only=True)
class Period:
    """The scores of one period."""

    label: str
    mean: Mean


def over_time(
    periods: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> tuple[Period, ...]:
    """The mean of each period, in order. ``periods``: for each score a label that sorts by time (``2026-07-01``).

    A period without scores has no entry. Raises ``ScoresInvalid``, and ``StatisticUndefined`` without any scores.
    """
    drawn = sample(scores, clusters=clusters, weights=weights)
    names, places = labelled(periods, len(drawn.scores), "periods")
    if len(names) > PERIODS:
        raise ScoresInvalid(f"{len(names):,} periods are more than {PERIODS:,}.", where="periods", remedy=_LONGER)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places))[:-1]
    return tuple(
        Period(label=str(name), mean=mean_of(drawn.part(inside)))
        for name, inside in zip(names, np.split(order, ends), strict=True)
    )


_LONGER: str = "Take longer periods."


@dataclass(frozen=True, kw_only=True)
class LevelChange:
    """From ``place`` on the level is another. ``before`` and ``after``: means up to the next change on each side."""

    place: int
    before: float
    after: float
    p: float


def level_changes(values: npt.ArrayLike, *, alpha: float = 0.01) -> tuple[LevelChange, ...]:
    """When the level of a series changed, in order of time; ``values``: one for each period, in order.

    Binary segmentation (Scott and Knott 1974): the series is cut where the two sides' means are farthest apart beside
    their error, and each side again. A cut is made where at most ``alpha`` of random orders of the same values have one
    as deep (a permutation test, so no shape of the values is assumed). Values of neighbouring periods must not depend
    on each other: where they drift, cuts are found that are none. A series of fewer than 10 periods has no change.
    Raises ``ScoresInvalid``, and ``StatisticUndefined`` where there are no values.
    """
    series = column(values, "values")
    if len(series) > PERIODS:
        raise ScoresInvalid(f"{len(series):,} periods are more than {PERIODS:,}.", where="values", remedy=_LONGER)
    if not 1 / (SHUFFLES + 1) <= alpha < 1:
        raise ScoresInvalid("alpha is from 0.001 to below 1.", where="alpha", remedy="Give, say, 0.01.")
    cuts = sorted(_cuts(series, alpha))
    bounds = [0, *(place for place, _ in cuts), len(series)]
    levels = [float(series[start:end].mean()) for start, end in pairwise(bounds)]
    return tuple(
        LevelChange(place=place, before=levels[number], after=levels[number + 1], p=p)
        for number, (place, p) in enumerate(cuts)
    )


def _cuts(series: Vector, alpha: float) -> list[tuple[int, float]]:
    found: list[tuple[int, float]] = []
    open_parts = [(0, len(series))]
    while open_parts:
        start, end = open_parts.pop()
        part = series[start:end]
        if len(part) < 2 * SHORTEST or np.ptp(part) == 0:
            continue
        place = SHORTEST + int(np.argmax(_depths(part[None, :])))
        p = _chance(part)
        if p <= alpha:
            found.append((start + place, p))
            open_parts += [(start, start + place), (start + place, end)]
    return found


def _depths(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """For each row and cut after k values: |mean left - mean right| sqrt(k (n - k) / n)."""
    length = rows.shape[1]
    k = np.arange(SHORTEST, length - SHORTEST + 1)
    centred = rows - rows.mean(axis=1, keepdims=True)
    sums = np.cumsum(centred, axis=1)[:, k - 1]
    # The right side's sum is the left's with its sign turned, so the two means are apart by sum n / (k (n - k)).
    depths: npt.NDArray[np.float64] = np.abs(sums) * np.sqrt(length / (k * (length - k)))
    return depths


def _chance(part: Vector) -> float:
    draw = np.random.default_rng(SEED)
    deepest = float(_depths(part[None, :]).max()) * (1 - _ROUNDING)
    hits = 0
    for start in range(0, SHUFFLES, _AT_ONCE):
        rows = draw.permuted(np.tile(part, (min(_AT_ONCE, SHUFFLES - start), 1)), axis=1)
        hits += int(np.count_nonzero(_depths(rows).max(axis=1) >= deepest))
    return (hits + 1) / (SHUFFLES + 1)


_ROUNDING: float = 1e-9
"""Sums of the same values in another order differ by less than this share: they tie."""
