"""Columns and rows, statuses in their order, what a dataset expects, and what is read of a user's program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.evaluators.catalogue import TYPES
from proctor.evaluators.code.answers import read_answers
from proctor.evaluators.examples import facts_of_file
from proctor.evaluators.facts import DatasetFacts, facts_of
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.metrics.catalogue import METRICS
from proctor.evaluators.samples import MISSING, Missing, Sample, Score, rows_of, samples_of, scores_of, values_of
from proctor.evaluators.statuses import Status
from proctor.kernel.canonical import Json, canonical_json
from proctor.kernel.extras import DataExtraMissing

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-999, 999), st.text(max_size=9)),
    lambda of: st.one_of(st.lists(of, max_size=3), st.dictionaries(st.text(max_size=3), of, max_size=3)),
)


@given(st.lists(st.tuples(VALUES, st.one_of(st.just(MISSING), VALUES), VALUES)))
@settings(deadline=None)
def test_rows_become_columns_and_are_the_same_again(rows: list[tuple[Json, Json | Missing, Json]]) -> None:
    made = [Sample(input=given, expected=expected, output=output) for given, expected, output in rows]
    columns = samples_of(made)
    assert list(values_of(columns)) == made
    for text, is_json in zip(columns.output.to_pylist(), columns.output_is_json.to_pylist(), strict=True):
        if is_json:
            assert canonical_json(json.loads(text)).decode() == text
            assert not isinstance(json.loads(text), str)


def test_the_codes_of_statuses_are_their_order() -> None:
    """Stored columns rely on it."""
    judged = ["scored", "parse_error", "refused", "truncated", "no_quorum"]
    providers = ["rate_limited", "timeout", "provider_auth", "provider_error"]
    others = ["sandbox_error", "evaluator_error", "budget", "cancelled", "invalid_example", "not_chosen"]
    assert [one.value for one in Status] == [*judged, *providers, *others]
    column = scores_of([Score(score=None, status=one, error="x") for one in Status]).status
    assert column.indices.to_pylist() == list(range(len(Status)))


def test_columns_that_are_not_as_they_have_to_be_are_refused() -> None:
    good = samples_of([Sample(input="a", expected="b", output="c")])
    columns = {name: getattr(good, name) for name in Samples.__dataclass_fields__}
    for name, wrong in {
        "output": pa.array([None], pa.string()),
        "input": pa.array(["a", "b"]),
        "expected": pa.array([1]),
        "output_is_json": pa.array([None], pa.bool_()),
    }.items():
        with pytest.raises(ValueError, match=name):
            Samples(**{**columns, name: wrong})
    scores = scores_of([Score(score=1.0)])
    with pytest.raises(ValueError, match="score"):
        Scores(score=pa.array([1.0, 2.0]), label=None, status=scores.status, error=None)


def test_rows_of_scores_are_the_same_again() -> None:
    rows = [Score(score=0.5, label="x"), Score(score=None, status=Status.TIMEOUT, error="late"), Score(score=1.0)]
    assert rows_of(scores_of(rows)) == rows
    assert scores_of([Score(score=1.0)]).error is None


# --- what a dataset expects -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "kind"),
    [
        (MISSING, "missing"),
        (4.5, "number"),
        ("1,234.50", "number"),
        ("$5", "number"),
        ("-7%", "number"),
        (True, "json"),
        (None, "json"),
        ({"a": 1}, "json"),
        ("Paris", "one_word"),
        ("", "empty"),
        (" \n", "empty"),
        ("-", "one_word"),
        ("The capital of France", "short_text"),
        ("word " * 31, "long_text"),
        ("def f(x):\n    return x", "code"),
        ("int main() {\n  return 0;\n}", "code"),
    ],
)
def test_what_an_example_expects(expected: Json | Missing, kind: str) -> None:
    assert facts_of([expected]) == DatasetFacts(**{kind: 1})


def test_a_file_of_examples_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"expected": 1}\n\n{"expected": null}\n{"input": "x"}\n')
    facts = facts_of_file(path)
    assert (facts.number, facts.json, facts.missing, facts.examples) == (1, 1, 1, 3)


# --- what a program writes --------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=80)))
@settings(deadline=None)
def test_whatever_is_printed_is_no_score_without_an_id(printed: list[bytes]) -> None:
    assert read_answers(b"\n".join(printed), {"f" * 32: 0}) == {}


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ({"score": 1}, 1.0),
        ({"score": 0.5, "label": "x"}, 0.5),
        ({"score": True}, None),
        ({"score": "1"}, None),
        ({"score": 1e308}, None),
        ({"score": 1, "label": 5}, None),
        ({"score": 1, "error": "both"}, None),
        ({}, None),
    ],
)
def test_an_answer_is_a_number_from_0_to_1(answer: dict[str, Json], score: float | None) -> None:
    found = read_answers(json.dumps({"id": "a", **answer}).encode(), {"a": 3})[3]
    assert found.score == score
    assert (found.status is Status.SCORED) == (score is not None)


# --- what it takes ----------------------------------------------------------------------------------------------------


def test_every_option_of_every_type_is_on_its_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "evaluators.md").read_text(encoding="utf-8")
    for name, kind in TYPES.items():
        assert f"`{name}`" in page
        for option, field in kind.configuration.model_fields.items():
            assert (field.alias or option) in page, f"{name}: {option}"


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    heavy = ["pyarrow", "numpy", "sacrebleu", "rouge_score", "rapidfuzz", "jsonschema", "duckdb"]
    for module in ("proctor.cli.main", "proctor.evaluators.service", "proctor.api.routes.evaluators"):
        code = f"import sys, {module}; print([one for one in {heavy!r} if one in sys.modules])"
        assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n", module


def make_everything() -> None:
    samples_of([Sample(input="", output="")])
    for metric in METRICS.values():
        metric.make({}, "configuration")


@pytest.mark.parametrize("library", ["pyarrow", "sacrebleu.metrics.bleu", "rapidfuzz"])
def test_a_library_that_is_not_installed_is_told_with_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(DataExtraMissing, match="is not installed") as caught:
        make_everything()
    assert "[data]" in caught.value.remedy
