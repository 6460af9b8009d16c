"""Which rows fit the terms of a query: columns are looked through where they are, since a version may have millions.

What users typed is looked for as it is written, never as a pattern, so nothing of it has a meaning of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from proctor.datasets.examples import value_of
from proctor.datasets.queries import FieldTerm, Flaw, FlawTerm, KindTerm, Term, WordTerm
from proctor.datasets.splits import Split
from proctor.kernel.canonical import Json, canonical_json
from proctor.kernel.kinds import AnswerKind, stored_kind

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SEARCHED", "Marks", "columns_of", "fitting", "with_words"]

SEARCHED: Sequence[str] = ("id", "input", "expected")
"""Where words are looked for."""
Marks = Mapping[Flaw, bytes]
"""By flaw a byte for each row of a version, 1 where it has it: for those that only the whole version tells."""
_FLAGGED: Mapping[str, Sequence[str]] = {name: (name, f"{name}_is_json") for name in ("input", "expected")}
_SAYING_NOTHING: Sequence[str] = ("[]", "{}")


def columns_of(term: Term) -> Sequence[str]:
    """What has to be read to know."""
    match term:
        case WordTerm():
            return SEARCHED
        case KindTerm():
            return _FLAGGED["expected"]
        case FlawTerm(flaw=Flaw.EMPTY):
            return _FLAGGED["input"]
        case FieldTerm(is_metadata=True):
            return ["metadata"]
        case FieldTerm(name=name):
            return {"tag": ["tags"], "split": ["id"]}.get(name, [name])
    return []


def fitting(table: pa.Table, start: int, terms: Sequence[Term], splits: Mapping[str, Split], marks: Marks) -> pa.Array:
    """Which rows of a table fit all terms, as booleans. ``start``: the position of its first row in its version."""
    import pyarrow.compute as pc

    found = []
    for term in terms:
        fits = pc.fill_null(_fits(table, start, term, splits, marks), False)
        found.append(pc.invert(fits) if term.negated else fits)
    return reduce(pc.and_, found)


def with_words(table: pa.Table, words: str) -> pa.Array:
    """Where these words stand, whatever their case."""
    import pyarrow.compute as pc

    found = [pc.fill_null(pc.match_substring(table[name], words, ignore_case=True), False) for name in SEARCHED]
    return reduce(pc.or_, found)


def _fits(table: pa.Table, start: int, term: Term, splits: Mapping[str, Split], marks: Marks) -> pa.Array:
    import pyarrow as pa

    match term:
        case WordTerm(words=words):
            return with_words(table, words)
        case KindTerm(kind=kind):
            return _of_kind(table["expected"], table["expected_is_json"], kind)
        case FlawTerm(flaw=Flaw.EMPTY):
            return _empty(table)
        case FlawTerm(flaw=flaw):
            return _marked(marks[flaw], start, table.num_rows)
        case FieldTerm(is_metadata=True, name=name, value=value):
            return _metadata(table["metadata"], name, value)
        case FieldTerm(name="tag", value=value):
            return _tagged(table["tags"], value)
        case FieldTerm(name="split", value=value):
            wanted = list(splits.values()) if value is None else [splits[value]]
            held = [any(one.holds(identity) for one in wanted) for identity in table["id"].to_pylist()]
            return pa.array(held, pa.bool_())
        case FieldTerm(name=name, value=value):
            return _equal(table[name], value)
    raise AssertionError(term)


def _of_kind(column: pa.ChunkedArray, is_json: pa.ChunkedArray, kind: AnswerKind) -> pa.Array:
    """Only Python tells a kind, so each text is told once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = []
    for flag in (False, True):
        flagged = pc.equal(is_json, flag)
        texts = column.filter(flagged).drop_null().unique().to_pylist()
        of_it = pa.array([text for text in texts if stored_kind(text, flag) is kind], pa.string())
        found.append(pc.and_(flagged, pc.is_in(column, value_set=of_it)))
    return reduce(pc.or_, found)


def _equal(column: pa.ChunkedArray, value: str | None) -> pa.Array:
    import pyarrow.compute as pc

    return pc.is_valid(column) if value is None else pc.equal(column, value)


def _empty(table: pa.Table) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    blank = pc.equal(pc.utf8_trim_whitespace(table["input"]), "")
    nothing = pc.is_in(table["input"], value_set=pa.array(_SAYING_NOTHING))
    return pc.if_else(table["input_is_json"], nothing, blank)


def _marked(marks: bytes, start: int, rows: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    part = pa.py_buffer(memoryview(marks)[start : start + rows])
    return pc.equal(pa.Array.from_buffers(pa.uint8(), rows, [None, part]), 1)


def _tagged(column: pa.ChunkedArray, tag: str | None) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    tags = column.combine_chunks()
    if tag is None:
        return pc.greater(pc.list_value_length(tags), 0)
    with_it = pc.list_parent_indices(tags).filter(pc.equal(pc.list_flatten(tags), tag))
    return pc.is_in(pa.array(range(len(tags)), with_it.type), value_set=with_it)


def _metadata(column: pa.ChunkedArray, name: str, value: str | None) -> pa.Array:
    """Rows whose metadata can't have it are left out by their texts; the others are read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    key = canonical_json(name).decode() + ":"
    forms = None if value is None else _forms(value)
    written = [key] if forms is None else [f"{key}{form}" for form in forms]
    possible = pc.fill_null(reduce(pc.or_, [pc.match_substring(column, one) for one in written]), False)
    places = pc.indices_nonzero(possible)
    hits = [_holds(text, name, value, forms) for text in column.take(places).to_pylist()]
    found = places.filter(pa.array(hits, pa.bool_()))
    return pc.is_in(pa.array(range(len(column)), places.type), value_set=found)


def _forms(value: str) -> Sequence[str]:
    """The JSON texts of what a query's value stands for: the text itself, and the JSON that it is if it is some; of a
    text in JSON's own quotes that text alone."""
    text = canonical_json(value).decode()
    try:
        told: Json = json.loads(value)
        if isinstance(told, str):
            return [canonical_json(told).decode()]
        return [text] if told is None else [text, canonical_json(told).decode()]
    except (ValueError, RecursionError):  # a text and nothing else
        return [text]


def _holds(text: str, name: str, value: str | None, forms: Sequence[str] | None) -> bool:
    metadata: Any = value_of(text, is_json=True)
    said = metadata.get(name)
    if said is None or forms is None:
        return said is not None
    return canonical_json(said).decode() in forms
