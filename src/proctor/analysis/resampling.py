"""Bootstrap intervals of statistics that are made from sums over items."""

from __future__ import annotations

from collections.abc import Callable

from proctor.analysis.arrays import Places, Vector, np, npt
from proctor.analysis.intervals import LEVEL, Interval

__all__ = ["bootstrap", "dealt"]

RESAMPLES: int = 1_000
"""Enough for a 95 % interval: its ends are then right to about a tenth of its width."""
GROUPS: int = 500
"""Up to so many items each is drawn by itself; the spread over 500 groups is known to 3 %."""
SEED: int = 20260701
"""The same data gives the same interval on every machine."""
_AT_ONCE: int = 100
"""Resamples that are summed together, so that memory stays within tens of megabytes."""


def dealt(items: int) -> tuple[Places, int]:
    """For each item the group it is dealt into at random, and how many groups there are: up to 500 items, one each."""
    groups = min(items, GROUPS)
    return np.random.default_rng(SEED).permutation(items) % groups, groups


def bootstrap(sums: npt.NDArray[np.float64], statistic: Callable[[Vector], float | None]) -> Interval | None:
    """The 95 % percentile interval over resampled groups of items (Efron 1979).

    ``sums``: for each group of ``dealt`` what the statistic is made from, summed over its items. Items are independent,
    so groups of them are, and resampling 500 groups shows the same spread as resampling a million items. ``statistic``
    of the sums is ``None`` where a resample does not define it; ``None`` is returned where half of them don't.
    """
    draw = np.random.default_rng(SEED)
    groups = len(sums)
    seen: list[float | None] = []
    for _ in range(0, RESAMPLES, _AT_ONCE):
        times = draw.multinomial(groups, np.full(groups, 1 / groups), size=_AT_ONCE)
        seen.extend(statistic(one) for one in times @ sums)
    known = [one for one in seen if one is not None]
    if len(known) * 2 <= RESAMPLES:
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))
