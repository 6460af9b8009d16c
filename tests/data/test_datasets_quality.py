"""A version with every flaw that is counted: the counts are right, and each query finds exactly what was counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.datasets.derivations import Filter, NewVersion
from proctor.datasets.errors import QueryInvalid, SplitInvalid
from proctor.datasets.quality import DatasetQuality, ExampleCount
from proctor.sdk.datasets import Datasets
from proctor.sdk.evaluators import Evaluators
from tests.data.desk import Desk

pytestmark = pytest.mark.database

FLAWED: list[dict[str, Any]] = [
    {"id": "a", "input": "Capital of France?", "expected": "Paris", "difficulty": "easy", "tags": ["geo", "eu"]},
    {"id": "b", "input": "Capital of France?", "expected": "Paris", "segment": "gift"},
    {"id": "c", "input": "Capital of France?", "expected": "Lyon", "segment": "gift", "tags": ["geo"]},
    {"id": "d", "input": "Capital of France?"},
    {"id": "e", "input": {"b": 1, "a": 2}, "expected": 7, "segment": "late"},
    {"id": "f", "input": {"a": 2, "b": 1.0}, "expected": 7, "segment": 3, "deep": {"segment": "gift"}},
    {"id": "g", "input": '{"a":2,"b":1}', "expected": {"k": []}, "segment": "3", "say": 'x","segment":"gift'},
    {"id": "h", "input": " \n\t", "expected": "a short answer", "segment": None, "source": "crm"},
    {"id": "i", "input": [], "expected": "x = 1;", "split": "mine", "tag": "own"},
    {"id": "j", "input": "", "expected": "1,204.5 %", 'a"segment': "gift"},
    {"id": "k", "input": "é" * 40, "expected": None, "segment": "x" * 300, "metadata": {"note": "a b", "n": 1e21}},
]


def found(datasets: Datasets, query: str, name: str = "flawed", **more: Any) -> str:
    page = datasets.examples(Filter(source=name, query=query, **more), limit=1000)
    assert datasets.count(Filter(source=name, query=query, **more)).fit == len(page.examples)
    return "".join(one.id for one in page.examples)


@pytest.fixture
def datasets(desk: Desk) -> Datasets:
    desk.dataset(FLAWED, "flawed")
    return Datasets(desk.platform)


def test_a_text_of_nothing_is_no_word(desk: Desk) -> None:
    desk.dataset([{"id": n, "input": "q", "expected": one} for n, one in zip("abc", ("", " \n", "x"), strict=True)])
    datasets = Datasets(desk.platform)
    assert {one.kind: one.examples for one in datasets.quality("capitals").kinds} == {"empty": 2, "one_word": 1}
    assert found(datasets, "expects:empty", "capitals") == "ab"
    assert found(datasets, "expects:one_word", "capitals") == "c"


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("CAPITAL paris", "ab"),
        ("capital -paris", "cd"),
        ('"l of f"', "abcd"),
        (".*", ""),
        ("%", "j"),
        ("tag=geo", "ac"),
        ("tag=geo -tag=eu", "c"),
        ("-tag=*", "bdefghijk"),
        ("difficulty=easy", "a"),
        ("source=*", "h"),
        ("id=c", "c"),
        ("expected=7", "ef"),
        ("-expected=*", "dk"),
        ("segment=gift", "bc"),
        ("field:segment=gift", "bc"),
        ("segment=3", "fg"),
        ("segment=3.0", "f"),
        ("segment=*", "bcefgk"),
        ("-segment=*", "adhij"),
        ("tag=own", ""),
        ("field:tag=own", "i"),
        ("field:split=mine", "i"),
        ('note="a b"', "k"),
        ("n=1e21", "k"),
        ("n=1e+21", "k"),
        ('deep="{\\"segment\\":\\"gift\\"}"', "f"),
        ("is:empty", "hij"),
        ("is:duplicate", "abcdef"),
        ("is:contradiction", "abc"),
        ("-is:duplicate -is:empty", "gk"),
        ("expects:number", "efj"),
        ("expects:json", "g"),
        ("expects:one_word", "abc"),
        ("expects:short_text", "h"),
        ("expects:code", "i"),
        ("-expects:number expected=*", "abcghi"),
    ],
)
def test_a_query_finds_examples(datasets: Datasets, query: str, ids: str) -> None:
    assert found(datasets, query) == ids


def test_a_query_stands_beside_the_other_filters(datasets: Datasets) -> None:
    assert found(datasets, "segment=*", tags=["geo"]) == "c"
    assert found(datasets, "-expected=*", words="capital") == "d"
    assert found(datasets, "x=1", words="nothing of it") == ""


def test_pages_of_a_query_go_on(datasets: Datasets) -> None:
    wanted = Filter(source="flawed", query="is:duplicate")
    first = datasets.examples(wanted, limit=4)
    assert [one.id for one in first.examples] == list("abcd")
    rest = datasets.examples(wanted, start=first.next or 0, limit=4)
    assert ([one.id for one in rest.examples], rest.next) == (["e", "f"], None)


def test_a_version_is_made_of_what_a_query_finds(datasets: Datasets) -> None:
    made = datasets.derive(Filter(source="flawed", query="-is:contradiction expected=*"), NewVersion(dataset="clean"))
    assert made.version is not None
    assert [one.id for one in datasets.examples(Filter(source="clean")).examples] == list("efghij")
    assert made.version.lineage.parameters == {"query": "-is:contradiction expected=*"}


def test_splits_are_named_and_leaks_found(datasets: Datasets) -> None:
    with pytest.raises(SplitInvalid, match="it has none") as refused:
        found(datasets, "split=test")
    assert refused.value.where == "query"
    assert (found(datasets, "is:leaked"), found(datasets, "split=*")) == ("", "")
    datasets.split("flawed", {"train": 0.5, "test": 0.5}, seed=3)
    sides = {name: found(datasets, f"split={name}") for name in ("train", "test")}
    assert sorted("".join(sides.values())) == list("abcdefghijk")
    groups = ["abcd", "ef"]
    leaking = [group for group in groups if all(set(group) & set(side) for side in sides.values())]
    assert found(datasets, "is:leaked") == "".join(leaking)
    assert leaking, "the seed leaves no leak to be found"


def test_a_malformed_query_is_refused(datasets: Datasets) -> None:
    with pytest.raises(QueryInvalid):
        found(datasets, "is:odd")


def counts_of(quality: DatasetQuality) -> Iterable[ExampleCount]:
    yield from (quality.without_expected, quality.empty_inputs, quality.duplicates, quality.contradictions)
    yield from quality.kinds
    for field in quality.fields:
        yield field
        yield from field.common
    if quality.leaks is not None:
        yield quality.leaks
    yield from quality.splits


def test_what_is_counted(datasets: Datasets) -> None:
    seen = datasets.quality("flawed")
    assert (seen.dataset, seen.version, seen.examples) == ("flawed", "1.0.0", 11)
    assert (seen.without_expected.examples, seen.empty_inputs.examples) == (2, 3)
    assert (seen.duplicates.inputs, seen.duplicates.examples) == (2, 6)
    assert (seen.contradictions.inputs, seen.contradictions.examples) == (1, 3)
    lengths = seen.input_characters
    assert (lengths.examples, lengths.min, lengths.median, lengths.p95, lengths.max) == (11, 0, 13, 40, 40)
    assert (seen.expected_characters.examples, seen.expected_characters.min) == (9, 1)
    assert {one.kind: one.examples for one in seen.kinds} == {
        "number": 3,
        "one_word": 3,
        "json": 1,
        "short_text": 1,
        "code": 1,
    }
    fields = {(one.is_metadata, one.name): one for one in seen.fields}
    assert [name for own, name in fields if not own] == ["difficulty", "source", "tag"]
    segment = fields[True, "segment"]
    assert (segment.examples, segment.values) == (6, 4)
    assert [(one.value, one.examples) for one in segment.common[:2]] == [("3", 2), ("gift", 2)]
    assert [(one.value, one.query) for one in segment.common if one.value is None] == [(None, None)]
    tag = fields[False, "tag"]
    assert (tag.examples, tag.values, [(one.value, one.examples) for one in tag.common]) == (
        *(2, 2),
        [("geo", 2), ("eu", 1)],
    )
    assert seen.metadata_fields == sum(own for own, _ in fields)
    assert (seen.leaks, seen.splits) == (None, ())


@pytest.mark.parametrize("shares", [{}, {"train": 0.5, "test": 0.3}, {"one": 1.0}])
def test_each_count_is_of_what_its_query_finds(datasets: Datasets, shares: dict[str, float]) -> None:
    if shares:
        datasets.split("flawed", shares, seed=3)
    seen = datasets.quality("flawed")
    for one in counts_of(seen):
        if one.query is not None:
            assert len(found(datasets, one.query)) == one.examples, one
    assert (seen.leaks is None) == (len(shares) < 2)
    assert [one.size for one in seen.splits] == [len(found(datasets, f"split={name}")) for name in shares]


def test_the_kinds_are_those_that_evaluators_are_suggested_by(desk: Desk, datasets: Datasets) -> None:
    facts = vars(Evaluators(desk.platform).facts("flawed"))
    seen = datasets.quality("flawed")
    assert {one.kind.value: one.examples for one in seen.kinds} | {"missing": seen.without_expected.examples} == {
        name: count for name, count in facts.items() if count
    }


def test_an_example_in_two_splits_leaks_by_itself(datasets: Datasets) -> None:
    datasets.split("flawed", {"all": 1.0}, seed=1)
    datasets.split("flawed", {"again": 1.0}, seed=2)
    seen = datasets.quality("flawed")
    assert seen.leaks is not None
    assert (seen.leaks.examples, [one.examples for one in seen.splits]) == (11, [11, 11])
    assert found(datasets, "is:leaked") == "abcdefghijk"


def test_many_metadata_fields_are_counted_and_the_first_told(desk: Desk) -> None:
    desk.dataset([{"id": f"e{n}", "input": str(n), f"field-{n}": n} for n in range(80)], "wide")
    seen = Datasets(desk.platform).quality("wide")
    assert (seen.metadata_fields, sum(one.is_metadata for one in seen.fields)) == (80, 50)


def test_nothing_that_is_unknown_is_a_number(desk: Desk) -> None:
    desk.dataset([{"id": "a", "input": "x"}], "bare")
    seen = Datasets(desk.platform).quality("bare")
    lengths = seen.expected_characters
    assert (lengths.examples, lengths.min, lengths.median, lengths.p95, lengths.max) == (0, None, None, None, None)
    assert (seen.kinds, seen.leaks, seen.splits, seen.metadata_fields) == ((), None, (), 0)
    assert [(one.examples, one.values, one.common) for one in seen.fields] == [(0, 0, ())] * 3


@pytest.mark.parametrize(
    "said",
    [
        ("1.0", 1),
        ("1e0", 1),
        ('{"a": 1}', {"a": 1}),
        (" 3", 3),
        ('"3"', "3", 3),
        ("1e21", 1e21),
        ("null", "true", True),
    ],
)
def test_a_text_that_would_be_read_as_other_json_is_found_alone(desk: Desk, said: tuple[object, ...]) -> None:
    desk.dataset([{"id": f"e{n}", "input": str(n), "metadata": {"f": one}} for n, one in enumerate(said)], "texts")
    datasets = Datasets(desk.platform)
    (f,) = [one for one in datasets.quality("texts").fields if one.name == "f"]
    for one in f.common:
        assert one.query is not None
        assert datasets.count(Filter(source="texts", query=one.query)).fit == one.examples, one


def test_what_no_address_carries_is_counted_without_a_query(desk: Desk) -> None:
    desk.dataset([{"id": "a", "input": "x", "metadata": {"f": "v\0w", "n\0": 1}}], "nul")
    fields = [one for one in Datasets(desk.platform).quality("nul").fields if one.is_metadata]
    assert {one.name: (one.query is None, one.common[0].query) for one in fields} == {
        "f": (False, None),
        "n\0": (True, None),
    }


WORDS = st.sampled_from(["x", "y", "3", "3.0", " 3", '"3"', '{"a": 1}', " ", "*", "-a", 'q"', "a b", "é", "=", "\\"])
SAID = st.one_of(WORDS, st.integers(-3, 3), st.booleans(), st.none(), st.lists(WORDS, max_size=2))
ROWS = st.lists(
    st.fixed_dictionaries(
        {"input": st.one_of(WORDS, st.just(""), st.just([]), st.just({"a": 1}))},
        optional={
            "expected": SAID,
            "tags": st.lists(st.sampled_from(["x", "a b", "=", "*"]), max_size=2),
            "metadata": st.dictionaries(st.sampled_from(["x", "tag", "a b", 'q"', "is:x", "", "-n"]), SAID, max_size=3),
        },
    ),
    min_size=1,
    max_size=8,
)


@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_counts_and_queries_agree_on_any_version(desk: Desk, rows: list[dict[str, Any]]) -> None:
    name = f"any-{hash(json.dumps(rows)) & 0xFFFFFFFFFFFF:x}-version"
    desk.dataset([{"id": f"e{n}", **row} for n, row in enumerate(rows)], name)
    datasets = Datasets(desk.platform)
    seen = datasets.quality(name)
    for one in counts_of(seen):
        assert one.query is not None
        page = datasets.examples(Filter(source=name, query=one.query))
        assert len(page.examples) == one.examples, one
    inputs = Counter(json.dumps(row["input"], sort_keys=True) for row in rows)
    assert seen.duplicates.examples == sum(count for count in inputs.values() if count > 1)
