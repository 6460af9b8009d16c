"""Distances of JSON values, and JSON that is read out of outputs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from proctor.evaluators.metrics.json_distance import TooLarge, distance
from proctor.evaluators.samples import MISSING
from proctor.evaluators.statuses import Status
from proctor.kernel.canonical import Json
from tests.judging import judge, one

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(1 - 2**53, 2**53 - 1), st.text(max_size=5), st.floats(-9, 9))
VALUES = st.recursive(
    SCALARS, lambda of: st.one_of(st.lists(of, max_size=4), st.dictionaries(st.text(max_size=3), of, max_size=4))
)


@given(VALUES, VALUES)
@settings(deadline=None)
def test_the_distance_of_values_is_one_of_both_ways_and_zero_for_equal_ones(left: Json, right: Json) -> None:
    found = distance(left, right)
    assert 0 <= found <= 1
    assert found == distance(right, left)
    assert distance(left, left) == 0
    assert (found == 0) == (one("exact-match", {"v": left}, {"v": right}) == 1)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.lists(st.integers(0, 3), min_size=1, max_size=8))
@settings(deadline=None)
def test_the_distance_of_arrays_of_numbers_is_the_indel_distance(left: list[int], right: list[int]) -> None:
    assert distance(left, right) == pytest.approx(Indel.normalized_distance(left, right))


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, 2 / 4),
        ({"a": 1}, {"b": 1}, 1),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, 1 / 5),
        ([], {}, 1),
        ([[1, 2], [3]], [[3]], 2 / 4),
        (True, 1, 1),
        ("x", "x", 0),
    ],
)
def test_distances_by_hand(left: Json, right: Json, found: float) -> None:
    assert distance(left, right) == pytest.approx(found)


def test_a_distance_that_would_take_for_ever_is_given_up() -> None:
    with pytest.raises(TooLarge):
        distance(list(range(1000)), list(range(1000)))
    (row,) = judge("json-distance", (list(range(1000)), list(range(1000))))
    assert row.status is Status.PARSE_ERROR


def test_json_is_read_out_of_a_fence_and_nothing_else_is() -> None:
    schema: Json = {"type": "object", "required": ["a"]}
    assert one("json-schema", MISSING, '```json\n{"a": 1}\n```', schema=schema) == 1
    assert one("json-schema", MISSING, '{"b": 1}', schema=schema) == 0
    for output in ('```json\n{"a": 1}\n```', "no JSON", '{"a": NaN}', "[" * 100 + "]" * 100):
        (row,) = judge("json-schema", (MISSING, output), schema=schema, fences=False)
        assert row.status is Status.PARSE_ERROR, output
