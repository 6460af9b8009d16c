"""JSON Schemas of hostile people: nothing is fetched, nothing hangs, and what is refused is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from proctor.evaluators.metrics.schemas import Guarded, TooMuchWork, schema_problem
from proctor.kernel.canonical import Json

EXPONENTIAL: Json = {
    "$ref": "#/$defs/0",
    "$defs": {
        **{str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}, {"$ref": f"#/$defs/{n + 1}"}]} for n in range(40)},
        "40": {"type": "integer"},
    },
}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"$ref": "https://example.org/schema.json"}, "nothing is fetched"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "nothing is fetched"),
        ({"$defs": {"x": [{"$dynamicRef": "other.json#a"}]}}, "nothing is fetched"),
        ({"$defs": {"x": {"$schema": "http://json-schema.org/draft-07/schema#"}}}, "at the top alone"),
        ({"pattern": "(?=a)"}, "RE2"),
        ({"patternProperties": {"(a": {}}}, "RE2"),
        ({"allOf": [{"patternProperties": {"a": {}}}], "unevaluatedProperties": False}, "in one schema"),
        ({"type": "whole number"}, "$.type"),
        ({"minimum": "1"}, "$.minimum"),
    ],
)
def test_what_is_refused_is_named(schema: dict[str, Json], told: str) -> None:
    assert told in (schema_problem(schema) or "")


def test_a_schema_may_refer_to_itself() -> None:
    tree: dict[str, Json] = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    assert schema_problem(tree) is None
    assert Guarded(tree).allows({"next": {"next": {}}})
    assert not Guarded(tree).allows({"next": {"other": {}}})


@pytest.mark.parametrize("schema", [EXPONENTIAL, {"$ref": "#"}, {"$ref": "#/$defs/absent"}])
def test_work_without_end_is_given_up(schema: dict[str, Json]) -> None:
    assert schema_problem(schema) is None
    with pytest.raises(TooMuchWork):
        Guarded(schema).allows(1)


def test_many_equal_and_unequal_items_are_told_apart_in_one_pass() -> None:
    unique = Guarded({"uniqueItems": True})
    items: list[Json] = [{"n": number, "x": [number]} for number in range(50_000)]
    assert unique.allows(items)
    assert not unique.allows([*items, {"x": [0.0], "n": 0}])
    assert unique.allows([1, True, "1", 2**60])
    assert not unique.allows([2**60, 2**60])


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["a", "ab", "b", ""])),
    lambda of: st.one_of(st.lists(of, max_size=3), st.dictionaries(st.sampled_from(["a", "ab", "b"]), of, max_size=3)),
    max_leaves=8,
)
PARTS: list[dict[str, Json]] = [
    {"type": ["object", "array"]},
    {"pattern": "^a"},
    {"patternProperties": {"^a": {"type": "integer"}}},
    {"additionalProperties": False, "properties": {"b": True}},
    {"additionalProperties": {"type": "string"}, "patternProperties": {"b$": True}},
    {"uniqueItems": True},
    {"items": {"minimum": 0}, "contains": {"const": 1}},
    {"required": ["a"], "maxProperties": 2},
    {"enum": [1, "a", [], {"a": 1}]},
    {"not": {"type": "null"}},
    {"propertyNames": {"pattern": "^a"}},
]


@given(st.sampled_from(["allOf", "anyOf", "oneOf"]), st.lists(st.sampled_from(PARTS), min_size=1, max_size=3), VALUES)
@settings(max_examples=300, deadline=None)
def test_what_the_guards_replace_judges_as_the_library_does(word: str, parts: list[Json], value: Json) -> None:
    schema: dict[str, Json] = {word: parts, "properties": {"ab": {"anyOf": PARTS[:4]}}}
    assert schema_problem(schema) is None
    library = Draft202012Validator(schema)
    assert Guarded(schema).allows(value) == library.is_valid(value), json.dumps([schema, value])
