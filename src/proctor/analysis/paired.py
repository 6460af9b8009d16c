"""Two arms that scored the same items: the mean difference, its error, and whether it could be chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, repeat

from proctor.analysis.arrays import Label, Places, Vector, column, listed, np, npt, same_length
from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.intervals import Interval, normal
from proctor.analysis.means import standard_error
from proctor.analysis.multiple import holm
from proctor.analysis.samples import Sample, sample
from proctor.analysis.significance import PairedTest, mcnemar, sign_flip

__all__ = ["Comparison", "PairedDifference", "compare", "compare_all", "in_common"]

FLIPPED: int = 300
"""Clusters whose signs are flipped; the sum of more is as good as normal, and drawing their signs takes long."""
FINENESS: int = 10**12
"""Differences are told apart to this share of the largest, so that 0.9 - 0.6 ties with 0.3 as on paper."""
ARMS: int = 50
"""Compared with one another: 1,225 pairs, of which a correction leaves little."""


@dataclass(frozen=True, kw_only=True)
class PairedDifference:
    """The mean of a - b over the same items, with its standard error and 95 % interval (normal)."""

    mean: float
    error: float
    interval: Interval
    items: int
    clusters: int
    better: int
    """Items on which a is better; ``worse``: on which b is."""
    worse: int
    correlation: float | None
    """Of the arms' scores: what pairing gains. ``None`` where an arm's scores are all the same."""
    test: PairedTest


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two arms of several. ``p_adjusted``: by Holm over all of them."""

    a: str
    b: str
    difference: PairedDifference
    p_adjusted: float


def compare(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> PairedDifference:
    """a - b item by item: SE = sd(d) / sqrt(n), clustered where items are (Miller 2024, section 4).

    ``a`` and ``b`` score the same items in the same order; see ``in_common``. The test: McNemar's for passes and fails
    of independent items, else sign flips of whole clusters, beyond 300 of them the normal approximation. Raises
    ``ScoresInvalid``, and ``StatisticUndefined`` for fewer than two clusters.
    """
    ours, theirs = column(a, "a"), column(b, "b")
    same_length(len(theirs), len(ours), "b")
    drawn = sample(ours - theirs, clusters=clusters, weights=weights)
    error = standard_error(drawn)
    return PairedDifference(
        mean=drawn.mean,
        error=error,
        interval=normal(drawn.mean, error),
        items=len(ours),
        clusters=drawn.clusters,
        better=int(np.count_nonzero(drawn.scores > 0)),
        worse=int(np.count_nonzero(drawn.scores < 0)),
        correlation=_correlation(ours, theirs),
        test=_tested(drawn, ours, theirs),
    )


def _correlation(a: Vector, b: Vector) -> float | None:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    # Centred and scaled first: the squares of very small differences would vanish.
    x, y = (centred / np.abs(centred).max() for centred in (a - a.mean(), b - b.mean()))
    return float(x @ y / math.sqrt((x @ x) * (y @ y)))


def _tested(drawn: Sample, a: Vector, b: Vector) -> PairedTest:
    passes = bool(np.isin(a, (0, 1)).all() and np.isin(b, (0, 1)).all())
    if passes and drawn.independent:
        return mcnemar(int(np.count_nonzero(a > b)), int(np.count_nonzero(a < b)))
    sums = drawn.by_cluster(drawn.shares * drawn.scores)
    if len(sums) <= FLIPPED:
        return sign_flip(_fractions(sums))
    return _normal(sums)


def _fractions(sums: Vector) -> list[Fraction]:
    largest = float(np.abs(sums).max())
    if largest == 0:
        return [Fraction(0)] * len(sums)
    return [Fraction(int(one)) for one in np.rint(sums / largest * FINENESS)]


def _normal(sums: Vector) -> PairedTest:
    """The normal approximation of the same permutation: under it the sum has mean 0 and variance sum(d^2)."""
    better, worse = int(np.count_nonzero(sums > 0)), int(np.count_nonzero(sums < 0))
    spread = math.sqrt(float(np.sum(sums**2)))
    z = float(np.sum(sums)) / spread if spread else 0.0
    p = math.erfc(abs(z) / math.sqrt(2))
    return PairedTest(name="sign-flip permutation, normal", p=p, better=better, worse=worse, statistic=z)


def compare_all(
    arms: Mapping[str, npt.ArrayLike],
    *,
    clusters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> tuple[Comparison, ...]:
    """Every pair of arms over the same items, p values adjusted together (Holm).

    Raises what ``compare`` does, and ``StatisticUndefined`` for fewer than two arms.
    """
    if len(arms) < 2:
        raise StatisticUndefined("There are no two arms to compare.", where="arms")
    if len(arms) > ARMS:
        raise ScoresInvalid(f"{len(arms)} arms are more than {ARMS}.", where="arms", remedy="Compare fewer at once.")
    pairs = [(a, b, compare(arms[a], arms[b], clusters=clusters, weights=weights)) for a, b in combinations(arms, 2)]
    adjusted = holm([difference.test.p for _, _, difference in pairs])
    return tuple(
        Comparison(a=a, b=b, difference=difference, p_adjusted=p)
        for (a, b, difference), p in zip(pairs, adjusted, strict=True)
    )


def in_common(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Places, Places]:
    """Where the items of both arms stand in each, in a's order: ``a[first]`` and ``b[second]`` are the same items.

    ``a`` and ``b`` are the items' names or numbers, each once. Raises ``ScoresInvalid`` for one that comes twice, and
    ``StatisticUndefined`` where no item is in both.
    """
    ours, theirs = _once(a, "a"), _once(b, "b")
    found = np.fromiter(map(ours.get, theirs, repeat(-1)), dtype=np.int64, count=len(theirs))
    second = np.flatnonzero(found >= 0)
    second = second[np.argsort(found[second])]
    if not len(second):
        raise StatisticUndefined("No item is in both.", where="b", remedy="Compare arms that scored the same items.")
    return found[second], second


def _once(items: npt.ArrayLike, where: str) -> dict[Label, int]:
    """Where each item stands."""
    each = listed(items, where)
    places = dict(zip(each, range(len(each)), strict=True))
    if len(places) != len(each):
        raise ScoresInvalid("An item comes twice.", where=where, remedy="Give each item once: its mean over repeats.")
    return places
