"""Samples and scores a row at a time: for a single trial, for sandboxes and people, and for tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.statuses import Status
from proctor.evaluators.values import column_text
from proctor.kernel.canonical import Json
from proctor.kernel.extras import data_extra

__all__ = ["MISSING", "Missing", "Sample", "Score", "rows_of", "samples_of", "scores_of", "values_of"]


class Missing:
    """Nothing is expected, which is not to expect ``null``."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One output to be judged, in values: a string is text."""

    input: Json
    expected: Json | Missing = MISSING
    output: Json


@dataclass(frozen=True, kw_only=True)
class Score:
    """What became of one output; ``score`` is from 0 to 1, and ``None`` unless the status is ``scored``."""

    score: float | None
    status: Status = Status.SCORED
    label: str | None = None
    error: str | None = None


def samples_of(rows: Sequence[Sample]) -> Samples:
    """Rows as columns. Raises ``NotJson`` for a value that has no JSON form, ``DataExtraMissing``."""
    with data_extra():
        import pyarrow as pa

    columns: dict[str, pa.Array] = {}
    for name in ("input", "expected", "output"):
        pairs = [_pair(getattr(row, name)) for row in rows]
        columns[name] = pa.array([text for text, _ in pairs], pa.string())
        columns[f"{name}_is_json"] = pa.array([is_json for _, is_json in pairs], pa.bool_())
    return Samples(**columns)


def scores_of(rows: Sequence[Score]) -> Scores:
    """Rows as columns. Raises ``DataExtraMissing``."""
    with data_extra():
        import pyarrow as pa

        from proctor.evaluators.assembling import status_column

    codes = {status: code for code, status in enumerate(Status)}
    return Scores(
        score=pa.array([row.score for row in rows], pa.float64()),
        label=_texts([row.label for row in rows]),
        status=status_column(pa.array([codes[row.status] for row in rows], pa.int8())),
        error=_texts([row.error for row in rows]),
    )


def rows_of(scores: Scores) -> list[Score]:
    """Columns as rows."""
    nothing = [None] * len(scores)
    labels = nothing if scores.label is None else scores.label.to_pylist()
    errors = nothing if scores.error is None else scores.error.to_pylist()
    columns = zip(scores.score.to_pylist(), scores.statuses(), labels, errors, strict=True)
    return [Score(score=score, status=status, label=label, error=error) for score, status, label, error in columns]


def values_of(samples: Samples) -> Iterator[Sample]:
    """Columns as rows, one after the other."""
    columns = [(samples.input, samples.input_is_json), (samples.expected, samples.expected_is_json)]
    columns.append((samples.output, samples.output_is_json))
    lists = [(text.to_pylist(), is_json.to_pylist()) for text, is_json in columns]
    for number in range(len(samples)):
        given, expected, output = (_value(texts[number], flags[number]) for texts, flags in lists)
        assert not isinstance(given, Missing)
        assert not isinstance(output, Missing)
        yield Sample(input=given, expected=expected, output=output)


def _pair(value: Json | Missing) -> tuple[str | None, bool]:
    return (None, False) if isinstance(value, Missing) else column_text(value)


def _value(text: str | None, is_json: bool) -> Json | Missing:
    if text is None:
        return MISSING
    return json.loads(text) if is_json else text


def _texts(texts: list[str | None]) -> object:
    import pyarrow as pa

    return pa.array(texts, pa.string()) if any(text is not None for text in texts) else None
