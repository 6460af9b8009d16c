"""Bootstrap intervals of statistics that need only know how often each pattern of an item was seen."""

from __future__ import annotations

from collections.abc import Callable

from proctor.analysis.arrays import Places, Vector, np
from proctor.analysis.intervals import LEVEL, Interval

__all__ = ["bootstrap"]

RESAMPLES: int = 1_000
"""Enough for a 95 % interval: its ends are then right to about a tenth of its width."""
SEED: int = 20260701
"""The same data gives the same interval on every machine."""


def bootstrap(counts: Places, statistic: Callable[[Vector], float | None]) -> Interval | None:
    """The 95 % percentile interval over resampled items (Efron 1979).

    ``counts``: how many items show each pattern. Drawing items with replacement is drawing these counts from a
    multinomial, so that a million items cost no more than their patterns. ``statistic`` of the counts is ``None`` where
    a resample does not define it; ``None`` is returned where half of them don't.
    """
    draw = np.random.default_rng(SEED)
    items = int(counts.sum())
    seen = [statistic(draw.multinomial(items, counts / items).astype(np.float64)) for _ in range(RESAMPLES)]
    known = [one for one in seen if one is not None]
    if len(known) * 2 <= RESAMPLES:
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))
