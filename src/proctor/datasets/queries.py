"""What is typed to find examples: words and terms, all of which have to fit.

    refund "gift card" tag=billing -difficulty=easy segment=gift note=* is:duplicate

A word stands in the id, the input or the expected output, whatever its case. ``NAME=VALUE`` is a field that is exactly
that, ``NAME=*`` one that says anything: the fields of an example by their names, every other name one of its metadata;
``field:NAME=VALUE`` is one of the metadata whatever its name. ``is:`` is a flaw that looking at the whole version
finds, ``expects:`` the kind of the expected output. A ``-`` before a term leaves out what fits it. Quotes keep blanks
and signs together, with a backslash before a quote or a backslash. docs/reference/datasets.md tells users the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

from proctor.datasets.errors import QueryInvalid
from proctor.kernel.canonical import canonical_json
from proctor.kernel.kinds import AnswerKind

__all__ = [
    "QUERY_CHARACTERS",
    "FieldTerm",
    "Flaw",
    "FlawTerm",
    "KindTerm",
    "Term",
    "WordTerm",
    "as_text",
    "field_query",
    "flaw_query",
    "kind_query",
    "parse_query",
]

QUERY_CHARACTERS: int = 1000
"""Of a query: what a person types, with a value or two that were copied."""
TERMS: int = 50
"""Of a query: each looks through all examples."""
OWN_FIELDS: Sequence[str] = ("id", "input", "expected", "difficulty", "source", "tag", "split")
"""Names that mean the same in every dataset."""
_PIECE = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]+)|(?P<blank>\s+)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PLAIN = re.compile(r"[^\s\"=*:\\-][^\s\"=*:\\]*")
"""What needs no quotes."""


class Flaw(StrEnum):
    """What may be wrong with an example beside others of its version."""

    EMPTY = "empty"
    """Its input says nothing: blanks, or an empty list or object."""
    DUPLICATE = "duplicate"
    """Another example has the same input."""
    CONTRADICTION = "contradiction"
    """Another example has the same input and expects something else."""
    LEAKED = "leaked"
    """Its input stands in more than one split."""


@dataclass(frozen=True, kw_only=True)
class Term:
    """What an example has to be. ``negated``: what it must not be."""

    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class WordTerm(Term):
    """Text that stands in the id, the input or the expected output, whatever its case."""

    words: str


@dataclass(frozen=True, kw_only=True)
class FieldTerm(Term):
    """A field is exactly that. ``value``: ``None`` for anything; ``is_metadata``: none of ``OWN_FIELDS``."""

    name: str
    value: str | None
    is_metadata: bool


@dataclass(frozen=True, kw_only=True)
class FlawTerm(Term):
    """What looking at the whole version finds."""

    flaw: Flaw


@dataclass(frozen=True, kw_only=True)
class KindTerm(Term):
    """The kind of the expected output."""

    kind: AnswerKind


@dataclass(frozen=True, kw_only=True)
class _Piece:
    text: str
    is_quoted: bool


def parse_query(query: str) -> tuple[Term, ...]:
    """The terms of a query, in time that grows with its length. Raises ``QueryInvalid`` naming the term."""
    if len(query) > QUERY_CHARACTERS:
        raise QueryInvalid(f"It has {len(query):,} characters; {QUERY_CHARACTERS:,} may be.", where="query")
    found = tuple(map(_term, _split(query)))
    if not 1 <= len(found) <= TERMS:
        raise QueryInvalid(f"It has {len(found)} terms; 1 to {TERMS} may be.", where="query")
    return found


def field_query(name: str, value: str | None, *, is_metadata: bool = False) -> str:
    """The query for a field that is exactly that, or with ``None`` says anything."""
    prefix = "field:" if is_metadata and name in OWN_FIELDS else ""
    return f"{prefix}{_quoted(name)}={'*' if value is None else _quoted(value)}"


def as_text(value: str) -> str:
    """The value of a query for metadata that is this text, and no other JSON that the text could be read as."""
    try:
        is_json = json.loads(value) is not None
    except (ValueError, RecursionError):
        return value
    return canonical_json(value).decode() if is_json else value


def flaw_query(flaw: Flaw) -> str:
    """The query for a flaw."""
    return f"is:{flaw}"


def kind_query(kind: AnswerKind) -> str:
    """The query for a kind of expected outputs."""
    return f"expects:{kind}"


def _split(query: str) -> Iterator[Sequence[_Piece]]:
    """The pieces of each term: what stands together without a blank between."""
    pieces: list[_Piece] = []
    end = 0
    while end < len(query):
        found = _PIECE.match(query, end)
        if found is None:
            raise QueryInvalid(f"{_told(query[end:])} begins with a quote that nothing ends.", where="query")
        end = found.end()
        if found["blank"] is None:
            quoted = found["quoted"]
            text = found["bare"] if quoted is None else _ESCAPED.sub(r"\1", quoted)
            pieces.append(_Piece(text=text, is_quoted=quoted is not None))
        elif pieces:
            yield pieces
            pieces = []
    if pieces:
        yield pieces


def _term(pieces: Sequence[_Piece]) -> Term:
    first, whole = pieces[0], "".join(piece.text for piece in pieces)
    negated = not first.is_quoted and first.text.startswith("-")
    body = [_Piece(text=first.text[1:], is_quoted=False), *pieces[1:]] if negated else list(pieces)
    prefix, colon, rest = ("", "", "") if body[0].is_quoted else body[0].text.partition(":")
    if colon and prefix in ("is", "expects"):
        return _named(prefix, "".join([rest, *(piece.text for piece in body[1:])]), whole, negated=negated)
    is_metadata = bool(colon) and prefix == "field"
    if is_metadata:
        body[0] = _Piece(text=rest, is_quoted=False)
    name, value = _cut(body)
    if value is None:
        if is_metadata:
            _refuse(whole, "has no value", "field:NAME=VALUE")
        return _words(name, whole, negated=negated)
    if not name and not any(piece.is_quoted for piece in body[: len(body) - len(value)]):
        _refuse(whole, "has no name before its =", "NAME=VALUE")
    if ":" in name and not is_metadata and not any(piece.is_quoted for piece in body):
        _refuse(whole, f"begins with {_told(name.split(':')[0] + ':')}, which is none", "field:, is: and expects:")
    return _field(name, value, whole, is_metadata=is_metadata, negated=negated)


def _cut(body: Sequence[_Piece]) -> tuple[str, Sequence[_Piece] | None]:
    """What is before the first = that is in no quotes, and what is after it."""
    name = ""
    for number, piece in enumerate(body):
        before, equals, after = ("", "", "") if piece.is_quoted else piece.text.partition("=")
        if equals:
            rest = [_Piece(text=after, is_quoted=False)] if after else []
            return name + before, [*rest, *body[number + 1 :]]
        name += piece.text
    return name, None


def _field(name: str, value: Sequence[_Piece], whole: str, *, is_metadata: bool, negated: bool) -> FieldTerm:
    if not value:
        _refuse(whole, "has no value", f'{name}=* for any value, {name}="" for an empty text')
    text = "".join(piece.text for piece in value)
    is_any = text == "*" and not value[0].is_quoted
    return FieldTerm(
        name=name,
        value=None if is_any else text,
        is_metadata=is_metadata or name not in OWN_FIELDS,
        negated=negated,
    )


def _words(words: str, whole: str, *, negated: bool) -> WordTerm:
    if not words:
        _refuse(whole, "says no word", 'a word, or quotes around what begins with a -: "-5"')
    return WordTerm(words=words, negated=negated)


def _named(prefix: str, name: str, whole: str, *, negated: bool) -> Term:
    """A flaw or a kind by its name."""
    known: type[Flaw | AnswerKind] = Flaw if prefix == "is" else AnswerKind
    if name not in list(known):  # an enumeration of Python 3.11 refuses to be asked for a text
        _refuse(whole, "names none that there is", ", ".join(f"{prefix}:{one}" for one in known))
    if prefix == "is":
        return FlawTerm(flaw=Flaw(name), negated=negated)
    return KindTerm(kind=AnswerKind(name), negated=negated)


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _refuse(term: str, what: str, there: str) -> NoReturn:
    raise QueryInvalid(
        f"{_told(term)} {what}.",
        where="query",
        remedy=f"There is {there}; quotes around a term make words of it.",
    )


def _told(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")
