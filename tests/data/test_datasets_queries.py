"""What is typed to find examples: what it means, what of it can't be read, and that nothing of it is a pattern."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.errors import QueryInvalid
from proctor.datasets.queries import (
    OWN_FIELDS,
    FieldTerm,
    Flaw,
    FlawTerm,
    KindTerm,
    WordTerm,
    field_query,
    parse_query,
)
from proctor.kernel.kinds import AnswerKind, kind_of


def field(name: str, value: str | None, **more: bool) -> FieldTerm:
    return FieldTerm(name=name, value=value, **{"is_metadata": name not in OWN_FIELDS, **more})


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("refund", [WordTerm(words="refund")]),
        ("  order  7 ", [WordTerm(words="order"), WordTerm(words="7")]),
        ('"order 7"', [WordTerm(words="order 7")]),
        ('"x=1"', [WordTerm(words="x=1")]),
        ('"is:empty"', [WordTerm(words="is:empty")]),
        ("note:", [WordTerm(words="note:")]),
        ("-gift", [WordTerm(words="gift", negated=True)]),
        ('"-5"', [WordTerm(words="-5")]),
        ('-"gift card"', [WordTerm(words="gift card", negated=True)]),
        ("difficulty=hard", [field("difficulty", "hard")]),
        ("segment=gift", [field("segment", "gift")]),
        ("field:segment=gift", [field("segment", "gift")]),
        ("field:tag=x", [field("tag", "x", is_metadata=True)]),
        ("tag=x -tag=y", [field("tag", "x"), field("tag", "y", negated=True)]),
        ('note="a b"', [field("note", "a b")]),
        (r'note="say \"hi\" \\ bye"', [field("note", r'say "hi" \ bye')]),
        ('"my note"=x', [field("my note", "x")]),
        ('field:"my note"=x', [field("my note", "x")]),
        ('""=x', [field("", "x")]),
        ('field:""=*', [field("", None)]),
        ("note=*", [field("note", None)]),
        ('note="*"', [field("note", "*")]),
        ('note=""', [field("note", "")]),
        ("url=http://a?b=c", [field("url", "http://a?b=c")]),
        ("-expected=*", [field("expected", None, negated=True)]),
        ("is:duplicate", [FlawTerm(flaw=Flaw.DUPLICATE)]),
        ("-is:leaked", [FlawTerm(flaw=Flaw.LEAKED, negated=True)]),
        ("expects:one_word", [KindTerm(kind=AnswerKind.ONE_WORD)]),
    ],
)
def test_a_query_is_words_and_terms(query: str, terms: list[object]) -> None:
    assert list(parse_query(query)) == terms


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "0 terms"),
        ("   ", "0 terms"),
        ("a " * 51, "51 terms"),
        ("a" * 1001, "1,001 characters"),
        ('note="a', "a quote that nothing ends"),
        ('"', "a quote that nothing ends"),
        ("=x", "no name"),
        ("-=x", "no name"),
        ('="x"', "no name"),
        ("=x=y", "no name"),
        ('=a"b"', "no name"),
        ("note=", "'note=' has no value"),
        ("field:note", "has no value"),
        ("field:=x", "no name"),
        ("-", "says no word"),
        ('""', "says no word"),
        ("is:odd", "'is:odd' names none"),
        ("is:", "names none"),
        ("expects:poem", "names none"),
        ("http://a?b=c", "begins with 'http:'"),
    ],
)
def test_what_cant_be_read_is_told_with_what_helps(query: str, told: str) -> None:
    with pytest.raises(QueryInvalid) as refused:
        parse_query(query)
    assert told in refused.value.message
    assert refused.value.where == "query"
    assert refused.value.remedy


@given(st.text(max_size=60))
def test_any_text_is_a_query_or_refused(text: str) -> None:
    with suppress(QueryInvalid):
        assert parse_query(text)


@given(st.text(max_size=30), st.none() | st.text(max_size=30), st.booleans())
def test_a_query_that_is_written_is_read_as_what_it_was_written_for(name: str, value: str | None, told: bool) -> None:
    is_metadata = told or name not in OWN_FIELDS
    (term,) = parse_query(field_query(name, value, is_metadata=is_metadata))
    assert term == FieldTerm(name=name, value=value, is_metadata=is_metadata)


@pytest.mark.parametrize("text", ['"' * 1000, '\\"' * 500, "-" * 1000, "=" * 1000, '"a' * 500, " " * 1000, ":" * 1000])
def test_a_hostile_query_is_read_at_once(text: str) -> None:
    began = time.perf_counter()
    with suppress(QueryInvalid):
        parse_query(text)
    assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize(
    "text", ["\n" * 200_000 + "x", " " * 200_000 + "x1", "; " * 100_000 + "x", "1" * 200_000 + "x"]
)
def test_the_kind_of_a_hostile_text_is_told_at_once(text: str) -> None:
    began = time.perf_counter()
    kind_of(text)
    assert time.perf_counter() - began < 2
