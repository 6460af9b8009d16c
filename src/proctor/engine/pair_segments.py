"""A pair of profiles by what the authors of its tasks say of them: how difficult they are, and of which category."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args
from uuid import UUID

from sqlalchemy import Connection

from proctor.analysis.multiple import holm
from proctor.engine.comparing import compare_pair, finding_of, title_of
from proctor.engine.pairing import FieldGroup, groups_by_field
from proctor.engine.pairs import CellCounts, Pair, PairedTasks, PairSegments, Segment, SegmentField, Side

__all__ = ["MOST_SEGMENTS", "compare_segments", "segments_of_pair"]

MOST_SEGMENTS: int = 50
"""Of a field: authors write what they like, more than these nobody reads, and each costs the others their power."""

FIELDS: tuple[SegmentField, ...] = get_args(SegmentField)

_Groups = Mapping[tuple[CellCounts | None, CellCounts | None], int]
_Labels = Mapping[str | None, _Groups]
"""``None``: the tasks of which the field says nothing."""


def segments_of_pair(connection: Connection, tenant: UUID, sides: tuple[Side, Side], *, alpha: float) -> PairSegments:
    """The segments of two sides whose tasks were not read."""
    return compare_segments(sides, groups_by_field(connection, tenant, sides), alpha=alpha)


def compare_segments(sides: tuple[Side, Side], groups: Sequence[FieldGroup], *, alpha: float) -> PairSegments:
    """Two sides' segments, each compared as a pair is, their p values adjusted together (Holm)."""
    labels = _by_label(groups)
    ranked = {field: _largest_first(labels[field]) for field in FIELDS}
    a, b = sides
    found = [
        _segment(field, label, compare_pair(a, b, _together(labels[field][label])))
        for field in FIELDS
        for label in ranked[field][:MOST_SEGMENTS]
    ]
    return PairSegments(
        a=title_of(a),
        b=title_of(b),
        alpha=alpha,
        segments=_judged(found, alpha),
        unlabelled={field: sum(labels[field].get(None, {}).values()) for field in FIELDS},
        left_out={field: max(0, len(ranked[field]) - MOST_SEGMENTS) for field in FIELDS},
    )


def _by_label(groups: Sequence[FieldGroup]) -> Mapping[SegmentField, _Labels]:
    found: dict[SegmentField, dict[str | None, Counter[tuple[CellCounts | None, CellCounts | None]]]] = {
        field: defaultdict(Counter) for field in FIELDS
    }
    for one in groups:
        found[one.field][one.label][one.counts] += one.tasks
    return found


def _largest_first(labels: _Labels) -> list[str]:
    named = [label for label in labels if label is not None]
    return sorted(named, key=lambda label: (-sum(labels[label].values()), label))


def _together(groups: _Groups) -> PairedTasks:
    """The tasks of a segment, as far as a difference and its test need them: their order is that of their counts."""

    def ordered() -> list[tuple[CellCounts, CellCounts]]:
        both = [(one, other, n) for (one, other), n in groups.items() if one and other and one.expected]
        return [(one, other) for one, other, n in sorted(both, key=_counted) if other.expected for _ in range(n)]

    unknown = (None, None)
    return PairedTasks(
        groups=groups,
        ordered=ordered,
        only_a=(),
        only_b=(),
        cost=unknown,
        by_task=unknown,
        unpaired=(),
        unpaired_cells=0,
    )


def _counted(group: tuple[CellCounts, CellCounts, int]) -> tuple[int, ...]:
    one, other, _ = group
    return one.expected, one.decided, one.passed, other.expected, other.decided, other.passed


def _segment(field: SegmentField, label: str, pair: Pair) -> tuple[Segment, Pair]:
    made = Segment(
        field=field,
        label=label,
        tasks=pair.tasks,
        a=pair.a.mean,
        b=pair.b.mean,
        difference=pair.difference,
        interval=pair.interval,
        test=pair.test,
        p_adjusted=None,
        finding=pair.finding,
        kinds=pair.kinds,
    )
    return made, pair


def _judged(found: Sequence[tuple[Segment, Pair]], alpha: float) -> tuple[Segment, ...]:
    tested = [segment.test.p for segment, _ in found if segment.test is not None]
    adjusted = iter(holm(tested))
    judged = []
    for segment, pair in found:
        p = None if segment.test is None else next(adjusted)
        judged.append(replace(segment, p_adjusted=p, finding=finding_of(pair, p, alpha)))
    return tuple(judged)
