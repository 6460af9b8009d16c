"""New scores against a base: over all items, over each segment, and item by item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from proctor.analysis.arrays import Label, Mask, Places, Vector, column, labelled, listed, mask, np, npt, same_length
from proctor.analysis.findings import Finding, Rule
from proctor.analysis.multiple import holm
from proctor.analysis.paired import PairedDifference, compare, in_common

__all__ = ["Change", "Finding", "ItemChange", "Regression", "Scored", "against_base"]

NAMED: int = 100
"""Items that are named, the largest drops first: more than anybody looks through."""


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


@dataclass(frozen=True, kw_only=True)
class _Common:
    """The items both arms scored, in the base's order. ``places``: where they stand among the base's ``items``."""

    items: list[Label]
    places: Places
    before: Vector
    after: Vector
    clusters: Places | None

    def difference(self, inside: Mask) -> PairedDifference | None:
        """New less base over some of them; ``None`` for fewer than two clusters."""
        clusters = None if self.clusters is None else self.clusters[inside]
        units = int(np.count_nonzero(inside)) if clusters is None else len(np.unique(clusters))
        return compare(self.after[inside], self.before[inside], clusters=clusters) if units >= 2 else None


def _change(rule: Rule, segment: str | None, difference: PairedDifference, p: float) -> Change:
    finding = rule.finding(difference.mean, difference.interval, p)
    return Change(segment=segment, difference=difference, p_adjusted=p, finding=finding)


def against_base(base: Scored, new: Scored, *, margin: float = 0.0, alpha: float = 0.05) -> Regression:
    """The new arm's scores less the base's over their common items.

    ``margin``: in the scores' unit, how much worse is still no regression; 0 for none. Raises ``ScoresInvalid``, and
    ``StatisticUndefined`` where there is no common item or only one cluster of them.
    """
    rule = Rule(margin=margin, alpha=alpha)
    ours, theirs = _columns(base, "base"), _columns(new, "new")
    first, second = in_common(ours[0], theirs[0])
    common = _Common(
        items=ours[0],
        places=first,
        before=ours[1][first],
        after=theirs[1][second],
        clusters=None if base.clusters is None else labelled(base.clusters, len(ours[1]))[1][first],
    )
    overall = compare(common.after, common.before, clusters=common.clusters)
    worse, better = _moved(common)
    return Regression(
        overall=_change(rule, None, overall, overall.test.p),
        segments=_segments(base.members, common, rule),
        worse=worse,
        better=better,
        only_base=len(ours[1]) - len(first),
        only_new=len(theirs[1]) - len(second),
    )


def _columns(arm: Scored, where: str) -> tuple[list[Label], Vector]:
    items, scores = listed(arm.items, f"{where}.items"), column(arm.scores, f"{where}.scores")
    same_length(len(items), len(scores), f"{where}.items")
    return items, scores


def _segments(members: Mapping[str, npt.ArrayLike], common: _Common, rule: Rule) -> tuple[Change, ...]:
    items = len(common.items)
    masks = {label: mask(inside, items, f"members[{label}]")[common.places] for label, inside in members.items()}
    differences = {label: common.difference(inside) for label, inside in masks.items()}
    found = {label: one for label, one in differences.items() if one is not None}
    adjusted = holm([one.test.p for one in found.values()])
    return tuple(_change(rule, label, one, p) for (label, one), p in zip(found.items(), adjusted, strict=True))


def _moved(common: _Common) -> tuple[tuple[ItemChange, ...], tuple[ItemChange, ...]]:
    change = common.after - common.before
    order = np.argsort(change, kind="stable")
    worse = [place for place in order[:NAMED] if change[place] < 0]
    better = [place for place in order[::-1][:NAMED] if change[place] > 0]
    return tuple(_item(common, one) for one in worse), tuple(_item(common, one) for one in better)


def _item(common: _Common, place: int) -> ItemChange:
    item = str(common.items[common.places[place]])
    return ItemChange(item=item, base=float(common.before[place]), new=float(common.after[place]))
