"""Metrics against the libraries and the definitions that they are of."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA, Indel, JaroWinkler, Levenshtein
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import sentence_bleu, sentence_chrf

from proctor.evaluators.metrics.catalogue import METRICS
from proctor.evaluators.samples import MISSING
from proctor.evaluators.statuses import Status
from proctor.kernel.canonical import Json
from tests.judging import judge, one

WORDS = st.lists(
    st.sampled_from(["the", "a", "cat", "dog", "sat", "mat", "ran", "running", "runs", "Far", "away."]), max_size=12
).map(" ".join)
TEXT = st.one_of(WORDS, st.text(max_size=40))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(1 - 2**53, 2**53 - 1), st.text(max_size=5), st.floats(-9, 9))
VALUES = st.recursive(
    SCALARS, lambda of: st.one_of(st.lists(of, max_size=4), st.dictionaries(st.text(max_size=3), of, max_size=4))
)

# --- exact match ------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(TEXT, TEXT)))
@settings(deadline=None)
def test_exact_match_of_texts_is_equality(pairs: list[tuple[str, str]]) -> None:
    found = judge("exact-match", *pairs, strip=False)
    assert [row.score for row in found] == [float(expected == output) for expected, output in pairs]


@given(VALUES, VALUES)
@settings(deadline=None)
def test_exact_match_of_values_is_equality_as_json_has_it(expected: Json, output: Json) -> None:
    same = json.dumps(expected, sort_keys=True) == json.dumps(output, sort_keys=True)
    if same:
        assert one("exact-match", expected, output) == 1
    assert one("exact-match", expected, expected) == 1
    assert one("exact-match", expected, json.dumps(expected)) == 1 or isinstance(expected, str)


@pytest.mark.parametrize(
    ("expected", "output", "options", "score"),
    [
        ("Paris", " Paris\n", {}, 1),
        ("Paris", " Paris\n", {"strip": False}, 0),
        ("Paris", "PARIS", {}, 0),
        ("Paris", "PARIS", {"ignore_case": True}, 1),
        ("ÄÖ", "äö", {"ignore_case": True}, 1),
        ("a  b\tc", "a b\u00a0\u2003c", {"collapse_spaces": True}, 1),
        ("a b", "ab", {"collapse_spaces": True}, 0),
        (1, 1.0, {}, 1),
        (1, "1.0", {}, 1),
        (1, True, {}, 0),
        ({"b": 1, "a": [None]}, '{"a": [null], "b": 1}', {}, 1),
        ({"b": 1}, "no JSON", {}, 0),
        ("[1, 2]", [1, 2], {}, 1),
        ("null", None, {}, 1),
        ("Ab", {"a": "Ab"}, {"ignore_case": True}, 0),
        ({"a": "X"}, {"a": "x"}, {"ignore_case": True}, 0),
    ],
)
def test_what_makes_no_difference_to_exact_match(expected: Json, output: Json, options: dict, score: float) -> None:  # type: ignore[type-arg]
    assert one("exact-match", expected, output, **options) == score


def test_an_example_that_expects_nothing_is_invalid_and_says_so() -> None:
    for metric in METRICS:
        for row in judge(metric, (MISSING, "1")):
            assert (row.score, row.status) == (None, Status.INVALID_EXAMPLE), metric
            assert row.error == "the example has no expected output"


# --- n-grams and words ------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1))
@settings(max_examples=50, deadline=None)
def test_bleu_and_chrf_are_those_of_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    bleu = [
        min(sentence_bleu(output, [expected], use_effective_order=True).score / 100, 1) for expected, output in pairs
    ]
    assert [row.score for row in judge("bleu", *pairs)] == bleu
    chrf = [min(sentence_chrf(output, [expected]).score / 100, 1) for expected, output in pairs]
    assert [row.score for row in judge("chrf", *pairs)] == chrf
    plus = [min(sentence_chrf(output, [expected], word_order=2).score / 100, 1) for expected, output in pairs]
    assert [row.score for row in judge("chrf", *pairs, word_order=2)] == plus


@pytest.mark.parametrize("stemmer", [False, True])
@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1))
@settings(max_examples=50, deadline=None)
def test_rouge_is_that_of_rouge_score(stemmer: bool, pairs: list[tuple[str, str]]) -> None:
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=stemmer)
    expected = [scorer.score(wanted, output) for wanted, output in pairs]
    for metric, kind in (("rouge-1", "rouge1"), ("rouge-2", "rouge2"), ("rouge-l", "rougeL")):
        for measure in ("fmeasure", "precision", "recall"):
            found = [row.score for row in judge(metric, *pairs, stemmer=stemmer, measure=measure)]
            assert found == [getattr(one[kind], measure) for one in expected], (metric, measure)


def test_the_published_examples_have_their_published_scores() -> None:
    target, prediction = "The quick brown fox jumps over the lazy dog", "The quick brown dog jumps on the log."
    assert one("rouge-1", target, prediction, stemmer=True, measure="precision") == 0.75
    assert one("rouge-1", target, prediction, stemmer=True, measure="recall") == pytest.approx(0.6666666)
    assert one("rouge-l", target, prediction, stemmer=True, measure="precision") == 0.625
    assert one("rouge-l", target, prediction, stemmer=True, measure="recall") == pytest.approx(0.5555555)
    assert one("edit-distance", "kitten", "sitting") == pytest.approx(1 - 3 / 7)
    assert one("edit-distance", "lewenstein", "levenshtein", algorithm="indel") == pytest.approx(1 - 3 / 21)


@pytest.mark.parametrize("measure", ["fmeasure", "precision", "recall"])
def test_rouge_of_long_texts_is_what_the_library_says_too(measure: str) -> None:
    rng = random.Random(7)
    wanted, output = (" ".join(rng.choice("abcdefgh") * 3 for _ in range(700)) for _ in range(2))
    library = RougeScorer(["rougeL"]).score(wanted, output)["rougeL"]
    assert one("rouge-l", wanted, output, measure=measure) == getattr(library, measure)


@pytest.mark.parametrize(
    ("algorithm", "library"),
    [("levenshtein", Levenshtein), ("indel", Indel), ("osa", OSA), ("jaro-winkler", JaroWinkler)],
)
@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1))
@settings(max_examples=40, deadline=None)
def test_edit_distance_is_that_of_rapidfuzz(algorithm: str, library: object, pairs: list[tuple[str, str]]) -> None:
    similarity = library.normalized_similarity  # type: ignore[attr-defined]
    found = [row.score for row in judge("edit-distance", *pairs, algorithm=algorithm)]
    assert found == pytest.approx([similarity(expected, output) for expected, output in pairs])


@pytest.mark.parametrize(
    ("expected", "output", "score"),
    [
        ("the cat sat", "A cat sat!", 1),
        ("cat sat", "cat sat down there", 2 / 3),
        ("cat cat", "cat", 2 / 3),
        ("cat", "dog", 0),
        ("the", "a", 1),
        ("", "x", 0),
    ],
)
def test_words_in_common(expected: str, output: str, score: float) -> None:
    assert one("token-f1", expected, output) == pytest.approx(score)


def test_texts_that_would_take_for_ever_are_parse_errors() -> None:
    long = "ab " * 400_000
    for metric in ("bleu", "chrf", "rouge-1", "rouge-l", "edit-distance"):
        rows = judge(metric, ("ab", "ab"), (long, long))
        assert [row.status for row in rows] == [Status.SCORED, Status.PARSE_ERROR], metric


# --- patterns and numbers ---------------------------------------------------------------------------------------------


def test_contains() -> None:
    assert [row.score for row in judge("contains", ("b", "abc"), ("B", "abc"), ("", "x"), (42, "it is 42"))] == [
        1,
        0,
        1,
        1,
    ]
    assert one("contains", "B", "abc", ignore_case=True) == 1
    assert one("contains", MISSING, "abc", texts=["a", "x"]) == 0
    assert one("contains", MISSING, "abc", texts=["a", "x"], require="any") == 1
    assert one("contains", MISSING, "aBc", texts=["b"], ignore_case=True) == 1


def test_regex_is_searched_or_fits_all() -> None:
    assert one("regex", MISSING, "an answer: 42", pattern=r"\d+$") == 1
    assert one("regex", MISSING, "an answer: 42", pattern=r"\d+", match="full") == 0
    assert one("regex", MISSING, "42\n", pattern=r"\d+|x", match="full") == 0
    assert one("regex", MISSING, "YES", pattern="yes", ignore_case=True) == 1


def test_a_pattern_that_is_expected_is_read_for_each_example() -> None:
    rows = judge("regex", ("a+", "baa"), ("(", "("), ("a+", "b"), (MISSING, "b"))
    assert [row.score for row in rows] == [1, None, 0, None]
    assert [row.status for row in rows] == [
        Status.SCORED,
        Status.INVALID_EXAMPLE,
        Status.SCORED,
        Status.INVALID_EXAMPLE,
    ]
    assert "RE2" in (rows[1].error or "")


def test_a_pattern_that_would_hang_python_does_not_hang() -> None:
    assert one("regex", "(a+)+$", "a" * 5000 + "!") == 0
    schema: Json = {"type": "string", "pattern": "(a+)+$"}
    assert one("json-schema", schema, json.dumps("a" * 5000 + "!")) == 0


@pytest.mark.parametrize(
    ("output", "first", "last"),
    [
        ("The answer is 1,234.5 of 1e3 dollars", 1234.5, 1000),
        ("-3 and then +4", -3, 4),
        ("3-5", 3, 5),
        ("x-5, y=-6", 5, -6),
        ("#### 42", 42, 42),
        ("−7.25%", -7.25, -7.25),
        ("1234,567", 1234, 567),
        (".5 or 10.", 0.5, 10),
        ("v2 beats v1", 2, 1),
        ("6.02e23", 6.02e23, 6.02e23),
        ("2e-3x", 2e-3, 2e-3),
    ],
)
def test_which_number_a_text_has(output: str, first: float, last: float) -> None:
    assert one("numeric", first, output, number="first") == 1
    assert one("numeric", last, output) == 1
    assert one("numeric", 2 * last + 1, output) == 0


@given(st.integers(-(10**9), 10**9), st.sampled_from(["{}", "{:,}", "{:+}", "{:.2f}", "{:e}"]))
@settings(deadline=None)
def test_numbers_are_read_as_they_are_written(value: int, form: str) -> None:
    for number in ("first", "last"):
        assert (
            one("numeric", float(form.format(value).replace(",", "")), f"so: {form.format(value)} !", number=number)
            == 1
        )


def test_tolerance_and_what_has_no_number() -> None:
    assert one("numeric", 100, "101", relative=0.01) == 1
    assert one("numeric", 100, "101.1", relative=0.01) == 0
    assert one("numeric", 0, "0.5", absolute=0.5) == 1
    rows = judge("numeric", (1, "none"), ("none", "1"), (1, "9" * 400), ("1e999", "1"))
    assert [row.status for row in rows] == [
        Status.PARSE_ERROR,
        Status.INVALID_EXAMPLE,
        Status.PARSE_ERROR,
        Status.INVALID_EXAMPLE,
    ]
