"""New scores against a base: over all items, over each segment, and item by item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from proctor.analysis.arrays import Places, Vector, column, labelled, mask, np, npt, same_length
from proctor.analysis.errors import ScoresInvalid
from proctor.analysis.multiple import holm
from proctor.analysis.paired import PairedDifference, compare, in_common

__all__ = ["Change", "Finding", "ItemChange", "Regression", "Scored", "against_base"]

NAMED: int = 100
"""Items that are named, the largest drops first: more than anybody looks through."""


class Finding(StrEnum):
    """What follows from a difference."""

    WORSE = "worse"
    BETTER = "better"
    NO_WORSE = "no worse by the margin"
    """Not better for sure, and surely not worse by more than the margin."""
    OPEN = "not distinguishable"


@dataclass(frozen=True, kw_only=True)
class Scored:
    """Scores of an arm by item. ``items``: names or numbers, each once, in the order of ``scores``."""

    items: npt.ArrayLike
    scores: npt.ArrayLike
    clusters: npt.ArrayLike | None = None
    """The cluster of each item; only the base's are looked at."""
    members: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    """For each segment, true or false for each item; only the base's are looked at."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """New less base over the items of a segment, or over all (``segment`` ``None``), and what follows from it."""

    segment: str | None
    difference: PairedDifference
    p_adjusted: float
    """By Holm over all segments; over all items it is the test's own."""
    finding: Finding


@dataclass(frozen=True, kw_only=True)
class ItemChange:
    """One item whose score moved."""

    item: str
    base: float
    new: float


@dataclass(frozen=True, kw_only=True)
class Regression:
    """What became of the base's scores. ``worse``: the largest drops first, at most 100; ``better`` likewise."""

    overall: Change
    segments: tuple[Change, ...]
    """Those with two common clusters or more."""
    worse: tuple[ItemChange, ...]
    better: tuple[ItemChange, ...]
    only_base: int
    """Items that the new arm did not score; ``only_new``: that the base did not. They are in no number here."""
    only_new: int


def against_base(base: Scored, new: Scored, *, margin: float = 0.0, alpha: float = 0.05) -> Regression:
    """The new arm's scores less the base's over their common items.

    ``margin``: in the scores' unit, how much worse is still no regression; 0 for none. Raises ``ScoresInvalid``, and
    ``StatisticUndefined`` where there is no common item or only one cluster of them.
    """
    if not margin >= 0 or not 0 < alpha < 1:
        raise ScoresInvalid("A margin is 0 or above, alpha between 0 and 1.", where="margin", remedy="Correct them.")
    ours, theirs = (column(one.scores, where) for one, where in ((base, "base.scores"), (new, "new.scores")))
    items = np.atleast_1d(np.asarray(base.items))
    same_length(len(items), len(ours), "base.items")
    others = np.atleast_1d(np.asarray(new.items))
    same_length(len(others), len(theirs), "new.items")
    first, second = in_common(items, others)
    before, after = ours[first], theirs[second]
    clusters = None if base.clusters is None else labelled(base.clusters, len(ours))[1][first]
    difference = compare(after, before, clusters=clusters)
    worse, better = _moved([str(one) for one in items[first]], before, after)
    return Regression(
        overall=Change(
            segment=None,
            difference=difference,
            p_adjusted=difference.test.p,
            finding=_finding(difference, difference.test.p, margin, alpha),
        ),
        segments=_segments(base, first, (before, after, clusters), margin, alpha),
        worse=worse,
        better=better,
        only_base=len(ours) - len(first),
        only_new=len(theirs) - len(second),
    )


def _segments(
    base: Scored, first: Places, columns: tuple[Vector, Vector, Places | None], margin: float, alpha: float
) -> tuple[Change, ...]:
    before, after, clusters = columns
    total = len(np.atleast_1d(np.asarray(base.items)))
    found: list[tuple[str, PairedDifference]] = []
    for label, members in base.members.items():
        inside = mask(members, total, f"members[{label}]")[first]
        units = int(np.count_nonzero(inside)) if clusters is None else len(np.unique(clusters[inside]))
        if units >= 2:
            of_these = None if clusters is None else clusters[inside]
            found.append((label, compare(after[inside], before[inside], clusters=of_these)))
    adjusted = holm([difference.test.p for _, difference in found])
    return tuple(
        Change(segment=label, difference=one, p_adjusted=p, finding=_finding(one, p, margin, alpha))
        for (label, one), p in zip(found, adjusted, strict=True)
    )


def _finding(difference: PairedDifference, p: float, margin: float, alpha: float) -> Finding:
    if p < alpha and difference.mean > 0:
        return Finding.BETTER
    if margin and difference.interval.low > -margin:
        return Finding.NO_WORSE
    return Finding.WORSE if p < alpha and difference.mean < 0 else Finding.OPEN


def _moved(items: list[str], before: Vector, after: Vector) -> tuple[tuple[ItemChange, ...], tuple[ItemChange, ...]]:
    change = after - before
    order = np.argsort(change, kind="stable")
    worse = [place for place in order[:NAMED] if change[place] < 0]
    better = [place for place in order[::-1][:NAMED] if change[place] > 0]
    return tuple(_item(items, before, after, one) for one in worse), tuple(
        _item(items, before, after, one) for one in better
    )


def _item(items: list[str], before: Vector, after: Vector, place: int) -> ItemChange:
    return ItemChange(item=items[place], base=float(before[place]), new=float(after[place]))
