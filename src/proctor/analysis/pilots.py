"""What a pilot run says about the run to come: the variances that a comparison's power depends on."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.analysis.arrays import Vector, column, labelled, np, npt
from proctor.analysis.errors import StatisticUndefined
from proctor.analysis.paired import in_common
from proctor.analysis.power import Design

__all__ = ["Trials", "design_of"]


@dataclass(frozen=True, kw_only=True)
class Trials:
    """The trials of one arm: for each its item, and its score."""

    items: npt.ArrayLike
    scores: npt.ArrayLike


def design_of(a: Trials, b: Trials, *, trials_a: int, trials_b: int, alpha: float = 0.05) -> Design:
    """The design of a comparison of ``trials_a`` and ``trials_b`` trials an item, after a pilot over common items.

    s^2 of an arm is the variance of trials about their item's mean, pooled over items of two trials or more; w^2 is the
    variance of the items' differences less what trials of the pilot add to it, and 0 where that is more (Miller 2024,
    section 5). Raises ``ScoresInvalid``, and ``StatisticUndefined`` for fewer than two common items, an arm without an
    item of two trials, or where nothing varies.
    """
    ours, theirs = _summarised(a, "a"), _summarised(b, "b")
    first, second = in_common(np.array(ours.names, dtype=object), np.array(theirs.names, dtype=object))
    if len(first) < 2:
        raise StatisticUndefined("One common item says nothing about how items differ.", where="b.items")
    differences = ours.means[first] - theirs.means[second]
    noise = np.mean(ours.within / ours.counts[first] + theirs.within / theirs.counts[second])
    return Design(
        between=max(0.0, float(differences.var(ddof=1) - noise)),
        within_a=ours.within,
        within_b=theirs.within,
        trials_a=trials_a,
        trials_b=trials_b,
        alpha=alpha,
    )


@dataclass(frozen=True, kw_only=True)
class _Items:
    """An arm item by item; ``within``: the variance of one trial about its item's mean."""

    names: list[str | int]
    means: Vector
    counts: Vector
    within: float


def _summarised(arm: Trials, where: str) -> _Items:
    scores = column(arm.scores, f"{where}.scores")
    names, places = labelled(arm.items, len(scores), f"{where}.items")
    counts = np.bincount(places).astype(np.float64)
    means = np.bincount(places, weights=scores) / counts
    freedom = float(np.sum(counts - 1))
    if not freedom:
        raise StatisticUndefined("No item has two trials, so how trials differ can't be told.", where=f"{where}.items")
    within = float(np.sum((scores - means[places]) ** 2)) / freedom
    return _Items(names=names, means=means, counts=counts, within=within)
