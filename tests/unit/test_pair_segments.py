"""A pair by what its tasks' authors say of them: each segment as a pair is, and p adjusted over all of them."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from proctor.analysis.multiple import holm
from proctor.engine.pair_segments import MOST_SEGMENTS, compare_segments
from proctor.engine.pairing import FieldGroup
from proctor.engine.pairs import CellCounts, PairSegments, SegmentField
from tests.unit.test_comparing import of, side

PASS, FAIL, OWED = CellCounts(1, 1, 1), CellCounts(1, 1, 0), CellCounts(1, 0, 0)
SIDES = (side("a", {}), side("b", {}))


def group(
    label: str | None, a: CellCounts | None, b: CellCounts | None, tasks: int, field: SegmentField = "difficulty"
) -> FieldGroup:
    return FieldGroup(field=field, label=label, counts=(a, b), tasks=tasks)


def compared(*groups: FieldGroup, alpha: float = 0.05) -> PairSegments:
    return compare_segments(SIDES, groups, alpha=alpha)


def test_what_is_hidden_in_the_whole_shows_in_a_segment() -> None:
    """Nine easy tasks that only b solves and nine hard ones that only a does: the same over all, not in either."""
    found = compared(group("easy", FAIL, PASS, 9), group("hard", PASS, FAIL, 9))
    easy, hard = found.segments
    assert (easy.difference, hard.difference) == (-1.0, 1.0)
    assert (easy.a, easy.b, easy.tasks, easy.kinds.better, hard.kinds.worse) == (0.0, 1.0, 9, 9, 9)
    assert (easy.finding, hard.finding) == ("b:p is better", "a:p is better")


def test_a_difference_of_one_segment_among_many_is_adjusted_for_them_all() -> None:
    alone = compared(group("one", FAIL, PASS, 6))
    many = compared(group("one", FAIL, PASS, 6), *(group(f"same-{place}", PASS, PASS, 5) for place in range(9)))
    assert alone.segments[0].finding == "b:p is better"
    assert alone.segments[0].p_adjusted == 0.03125
    assert many.segments[0].p_adjusted == 0.3125
    assert many.segments[0].finding == "not distinguishable"


def test_owed_tasks_are_counted_and_compared_with_nothing() -> None:
    (only,) = compared(group("easy", PASS, OWED, 3), group("easy", PASS, None, 1)).segments
    assert (only.tasks, only.difference, only.test, only.kinds.owed) == (0, None, None, 4)
    assert only.finding == "no task has a verdict on both sides"


def test_the_largest_segments_are_compared_and_the_rest_is_counted() -> None:
    found = compared(
        *(group(f"label-{place:03}", PASS, FAIL, place + 1) for place in range(MOST_SEGMENTS + 7)),
        group(None, PASS, PASS, 4),
        group("shell", PASS, PASS, 1, field="category"),
    )
    labels = [one.label for one in found.segments if one.field == "difficulty"]
    assert labels[0] == f"label-{MOST_SEGMENTS + 6:03}"
    assert len(labels) == MOST_SEGMENTS
    assert found.left_out == {"difficulty": 7, "category": 0}
    assert found.unlabelled == {"difficulty": 4, "category": 0}


def test_the_very_same_cells_are_not_tested() -> None:
    sides = (of("a", "pp", cells="same"), of("b", "pp", cells="same"))
    (only,) = compare_segments(sides, [group("easy", PASS, PASS, 2)], alpha=0.05).segments
    assert (only.test, only.p_adjusted, only.finding) == (None, None, "not distinguishable")


counts = st.builds(
    lambda passed, more, owed: CellCounts(passed + more + owed, passed + more, passed), *[st.integers(0, 3)] * 3
)
groups = st.lists(
    st.builds(group, st.sampled_from(["easy", "hard", None]), st.none() | counts, st.none() | counts, st.integers(1, 9))
)


@given(groups)
def test_segments_hold_every_task_once_and_their_p_values_are_adjusted_together(said: list[FieldGroup]) -> None:
    found = compared(*said)
    tasks: Counter[str | None] = Counter()
    for one in said:
        tasks[one.label] += one.tasks
    assert {one.label: sum(vars(one.kinds).values()) for one in found.segments} == {
        label: n for label, n in tasks.items() if label is not None
    }
    assert found.unlabelled["difficulty"] == tasks[None]
    tested = [one for one in found.segments if one.test is not None]
    assert [one.p_adjusted for one in tested] == holm([one.test.p for one in tested if one.test])
    for segment in found.segments:
        if segment.interval is not None and segment.difference is not None:
            assert segment.interval.low - 1e-9 <= segment.difference <= segment.interval.high + 1e-9
