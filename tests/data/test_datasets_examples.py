"""An example's stored form: what is the same has one digest, what can't be kept is told by its field."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.datasets.examples import Example, derived_example_id, unstored, value_of
from proctor.datasets.fields import ROW_BYTES, FieldInvalid, Fields, read_example
from proctor.datasets.schema import COLUMNS, table_of
from proctor.kernel.canonical import canonical_json

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
WORD = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=10)
EXACT = 2**53 - 1
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-EXACT, EXACT) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
RAWS = st.fixed_dictionaries(
    {"id": WORD, "input": VALUES.filter(lambda value: value is not None)},
    optional={
        "expected": VALUES,
        "difficulty": WORD,
        "source": WORD,
        "tags": st.lists(WORD, max_size=4),
        "embedding": st.lists(NUMBERS, min_size=1, max_size=6),
        "metadata": st.dictionaries(TEXT, VALUES, max_size=3),
    },
)


@settings(deadline=None)  # the first asks for libraries
@given(RAWS)
def test_a_digest_is_over_the_canonical_json_of_all_other_fields(raw: dict[str, Any]) -> None:
    example = read_example(raw, Fields())
    others = {name: getattr(example, name) for name in COLUMNS if name != "digest"}
    numbers = others["embedding"]
    fields = {**others, "tags": list(example.tags), "embedding": None if numbers is None else list(numbers)}
    assert example.digest() == hashlib.sha256(canonical_json(fields)).digest()[:16]


@settings(deadline=None)  # the first asks for libraries
@given(RAWS)
def test_what_is_written_out_reads_back_as_the_same_example(raw: dict[str, Any]) -> None:
    example = read_example(raw, Fields())
    (row,) = table_of([example]).to_pylist()
    again = read_example(unstored(row), Fields())
    assert again.digest() == example.digest() == row["digest"]
    assert value_of(example.input, example.input_is_json) == raw["input"]


def test_a_text_and_the_json_of_it_are_two_examples() -> None:
    text, number = (read_example({"id": "x", "input": value}, Fields()) for value in ("1", 1))
    assert (text.input, number.input) == ("1", "1")
    assert text.digest() != number.digest()


def test_an_example_without_an_id_has_one_of_its_input() -> None:
    one, other, changed = (
        read_example(raw, Fields())
        for raw in ({"input": "a"}, {"input": "b"}, {"input": "a", "expected": "new", "tags": ["t"]})
    )
    assert one.id == changed.id != other.id
    assert one.digest() != changed.digest()
    with pytest.raises(FieldInvalid, match="key: it is missing"):
        read_example({"input": "a"}, Fields(id="key"))


def test_fields_are_called_as_the_file_calls_them_and_others_are_metadata() -> None:
    raw = {"question": "Q", "answer": ["A"], "nr": 7, "topic": "x", "none": None, "metadata": {"kept": True}}
    example = read_example(raw, Fields(id="nr", input="question", expected="answer"))
    assert (example.id, example.input, example.expected, example.expected_is_json) == ("7", "Q", '["A"]', True)
    assert example.metadata == '{"kept":true,"topic":"x"}'
    with pytest.raises(FieldInvalid, match="metadata has a field of this name too"):
        read_example({"input": "x", "a": 1, "metadata": {"a": 2}}, Fields())


def test_an_empty_name_means_that_no_field_is_that() -> None:
    raw = {"id": "7", "input": "x", "expected": "y", "": "z"}
    example = read_example(raw, Fields(id="", expected=""))
    assert (example.id, example.expected) == (derived_example_id("x", is_json=False), None)
    assert json.loads(example.metadata or "") == {"id": "7", "expected": "y", "": "z"}
    named = read_example(raw, Fields(id="", expected="id"))
    assert (named.expected, json.loads(named.metadata or "")) == ("7", {"expected": "y", "": "z"})


def test_tags_are_a_set() -> None:
    one, other = (
        read_example({"id": "x", "input": "y", "tags": tags}, Fields()) for tags in (["b", "a", "b"], ["a", "b"])
    )
    assert one == other
    assert one.tags == ("a", "b")


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({}, "input"),
        ({"input": None}, "input"),
        ({"input": float("nan")}, "input"),
        ({"input": 2**53}, "input"),
        ({"input": "\ud800"}, "input"),
        ({"input": nested(100_000)}, "input"),
        ({"input": nested(101)}, "input"),
        ({"input": "x", "expected": nested(101)}, "expected"),
        ({"input": "x", "metadata": {"n": nested(100)}}, "metadata"),
        ({"input": {1, 2}}, "input"),
        ({"input": "x", "id": ""}, "id"),
        ({"input": "x", "id": "y" * 513}, "id"),
        ({"input": "x", "id": True}, "id"),
        ({"input": "x", "id": "a\nb"}, "id"),
        ({"input": "x", "expected": [float("inf")]}, "expected"),
        ({"input": "x", "difficulty": ""}, "difficulty"),
        ({"input": "x", "difficulty": 1.5}, "difficulty"),
        ({"input": "x", "source": "y" * 2001}, "source"),
        ({"input": "x", "tags": "a,b"}, "tags"),
        ({"input": "x", "tags": [1, None]}, "tags"),
        ({"input": "x", "tags": ["t"] * 101}, "tags"),
        ({"input": "x", "embedding": []}, "embedding"),
        ({"input": "x", "embedding": [1e40]}, "embedding"),
        ({"input": "x", "embedding": ["1"]}, "embedding"),
        ({"input": "x", "metadata": [1]}, "metadata"),
        ({"input": "x", "metadata": {"other": 2**60}, "fits": 1}, "metadata"),
        ({"input": "x", "metadata": {"n": 1}, "fits": 1, "big": 2**60}, "big"),
        ({"input": "x", "big": float("nan")}, "big"),
        ({"input": "x", "half": ["\ud800"]}, "half"),
        ({"input": "x", "deep": nested(100)}, "deep"),
        ({"input": "x", "name of \ud800": 1}, "metadata"),
        ({"input": "x" * (ROW_BYTES + 1)}, ""),
    ],
)
def test_what_is_no_example_is_told_by_its_field(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldInvalid) as refused:
        read_example(raw, Fields())
    assert refused.value.field == field
    assert refused.value.reason


def test_an_embedding_is_what_32_bits_hold() -> None:
    example = read_example({"input": "x", "embedding": [0.1, 1, -0.0]}, Fields())
    assert example.embedding == [struct.unpack("f", struct.pack("f", 0.1))[0], 1.0, 0.0]
    assert example == Example(id=example.id, input="x", embedding=example.embedding)
