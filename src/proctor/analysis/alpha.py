"""Krippendorff's alpha from coincidences of values, at four levels of measurement."""

from __future__ import annotations

from enum import StrEnum

from proctor.analysis.arrays import Vector, np, npt

__all__ = ["Level", "disagreement"]

_Matrix = npt.NDArray[np.float64]


class Level(StrEnum):
    """What the distance of two ratings means."""

    NOMINAL = "nominal"
    """The same or not."""
    ORDINAL = "ordinal"
    """How many ratings lie between them."""
    INTERVAL = "interval"
    """Their difference."""
    RATIO = "ratio"
    """Their difference beside their sum."""


def disagreement(coincidences: _Matrix, values: Vector, level: Level) -> float | None:
    """1 - Do / De. ``coincidences[c, k]``: pairs of ratings c and k of one item, each item's over its ratings - 1.

    ``None`` where De is 0: all ratings are the same.
    """
    totals = coincidences.sum(axis=1)
    distance = _distances(values, totals, level)
    expected = float(np.sum(np.outer(totals, totals) * distance)) / (float(totals.sum()) - 1)
    return 1 - float(np.sum(coincidences * distance)) / expected if expected > 0 else None


def _distances(values: Vector, totals: Vector, level: Level) -> _Matrix:
    """Squared distances of each two values; ordinal ones depend on how often the values between are seen."""
    apart = np.abs(values[:, None] - values[None, :])
    if level is Level.NOMINAL:
        return (apart > 0).astype(np.float64)
    if level is Level.INTERVAL:
        return apart**2
    if level is Level.RATIO:
        sums = values[:, None] + values[None, :]
        return np.divide(apart, sums, out=np.zeros_like(apart), where=sums != 0) ** 2
    ranks = np.cumsum(totals) - totals / 2
    return (ranks[:, None] - ranks[None, :]) ** 2
