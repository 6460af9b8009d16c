"""Parts of the items (by tag, difficulty, source): the mean of each, and whether it differs from the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from proctor.analysis.arrays import Mask, Vector, labelled, listed, mask, np, npt
from proctor.analysis.errors import ScoresInvalid
from proctor.analysis.intervals import Interval, Z
from proctor.analysis.means import Mean, mean_of
from proctor.analysis.multiple import holm
from proctor.analysis.samples import Sample, sample

__all__ = ["Segment", "by_label", "segments"]

SEGMENTS: int = 1_000
"""Looked at together: more of them leave the correction nothing to find."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Items of one label. ``difference``: their mean less that of all other items, ``None`` where there are none.

    ``interval``: the differences that the test does not refuse at 5 %, so that it holds 0 just where ``p`` is 0.05 or
    more; ``None`` where there is no ``p``, no score differs from another, or so few clusters that no difference is
    refused.
    """

    label: str
    mean: Mean
    difference: float | None
    interval: Interval | None
    p: float | None
    """Two-sided, of no difference; ``None`` where the segment or the rest is fewer than two clusters."""
    p_adjusted: float | None
    """By Holm over all segments that have a p."""


def segments(
    scores: npt.ArrayLike,
    members: Mapping[str, npt.ArrayLike],
    *,
    clusters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> tuple[Segment, ...]:
    """Each segment's mean, and its difference from the rest, p values adjusted together (Holm).

    ``members``: for each label, true or false for each item; an item may be of several. A segment without items is left
    out. The test is the robust score test (Boos 1992): distances are taken from the mean of all items, clustered as
    they are, so that a small segment which is all passes is not certain. Raises ``ScoresInvalid``, and
    ``StatisticUndefined`` where there are no scores.
    """
    drawn = sample(scores, clusters=clusters, weights=weights)
    if len(members) > SEGMENTS:
        raise ScoresInvalid(f"{len(members):,} segments are more than {SEGMENTS:,}.", where="members")
    masks = {label: mask(inside, len(drawn.scores), f"members[{label}]") for label, inside in members.items()}
    found = [_segment(label, drawn, inside) for label, inside in masks.items() if inside.any()]
    adjusted = iter(holm([one.p for one in found if one.p is not None]))
    return tuple(one if one.p is None else replace(one, p_adjusted=next(adjusted)) for one in found)


def by_label(labels: npt.ArrayLike) -> dict[str, Mask]:
    """The members of each label, where each item has one. Raises ``ScoresInvalid``."""
    each = listed(labels, "labels")
    names, places = labelled(each, len(each), "labels")
    if len(names) > SEGMENTS:
        raise ScoresInvalid(f"{len(names):,} labels are more than {SEGMENTS:,}.", where="labels")
    return {str(name): places == place for place, name in enumerate(names)}


def _segment(label: str, drawn: Sample, inside: Mask) -> Segment:
    part = drawn.part(inside)
    if inside.all():
        return Segment(label=label, mean=mean_of(part), difference=None, interval=None, p=None, p_adjusted=None)
    outside = ~inside
    weights = None if drawn.weights is None else drawn.weights[outside]
    difference = part.mean - float(np.average(drawn.scores[outside], weights=weights))
    told = min(part.clusters, _clusters(drawn, outside)) >= 2
    p = _score_test(drawn, inside, difference) if told else None
    interval = _score_interval(drawn, inside) if told else None
    return Segment(label=label, mean=mean_of(part), difference=difference, interval=interval, p=p, p_adjusted=None)


def _clusters(drawn: Sample, inside: Mask) -> int:
    counted = inside if drawn.places is None else np.bincount(drawn.places[inside])
    return int(np.count_nonzero(counted))


def _score_test(drawn: Sample, inside: Mask, difference: float) -> float:
    if np.ptp(drawn.scores) == 0:
        return 1.0
    away = _contrast(drawn, inside, drawn.scores - drawn.mean)
    error = math.sqrt(float(np.sum(away**2)))
    return math.erfc(abs(difference) / error / math.sqrt(2)) if error else 1.0


def _score_interval(drawn: Sample, inside: Mask) -> Interval | None:
    """The test turned round (Boos 1992): d is kept where (D - d)^2 <= Z^2 sum of (a - d b)^2 over clusters.

    a: what a cluster adds to the difference D with distances from the mean of all; b: what a difference of 1 would
    have it add. Both sides are squares in d, so the ends are the roots of a quadratic.
    """
    if np.ptp(drawn.scores) == 0:
        return None
    a = _contrast(drawn, inside, drawn.scores - drawn.mean)
    b = _contrast(drawn, inside, inside.astype(np.float64) - float(drawn.shares[inside].sum()))
    square = 1 - Z**2 * float(b @ b)
    if square <= 0:
        return None
    middle = (float(a.sum()) - Z**2 * float(a @ b)) / square
    half = math.sqrt(max(0.0, middle**2 - (float(a.sum()) ** 2 - Z**2 * float(a @ a)) / square))
    return Interval(middle - half, middle + half)


def _contrast(drawn: Sample, inside: Mask, away: Vector) -> Vector:
    """What each cluster adds to the mean of the segment less that of the rest."""
    within, without = float(drawn.shares[inside].sum()), float(drawn.shares[~inside].sum())
    return drawn.by_cluster(drawn.shares * away * np.where(inside, 1 / within, -1 / without))
