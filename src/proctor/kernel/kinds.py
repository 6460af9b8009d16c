"""What an answer is, by how it is judged: a number, a word, a text, code, or other JSON."""

from __future__ import annotations

import re
from enum import StrEnum

from proctor.kernel.canonical import Json

__all__ = ["SHORT_WORDS", "AnswerKind", "kind_of", "stored_kind"]

SHORT_WORDS: int = 30
"""Words of a text that is still an answer and no essay: up to there, single words decide."""
_NUMBER = re.compile(r"(?:[-+−$€£]\s*)?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?:\s*%)?")
"""No two runs of blanks side by side: a text of nothing but blanks would take the square of its length."""
_CODE = re.compile(
    r"^[^\S\n]*"  # of this line alone: with those before it, a text of empty lines takes the square of its length
    r"(?:```|def |class |import |from \w+ import|#include|function |const |let |var |public |package |fn |func "
    r"|SELECT )|[;{}]\s*$",
    re.MULTILINE,
)


class AnswerKind(StrEnum):
    """What an expected output is; each is one of these."""

    NUMBER = "number"
    JSON = "json"
    """A value that is neither a text nor a number."""
    EMPTY = "empty"
    """A text of nothing, or of blanks."""
    ONE_WORD = "one_word"
    SHORT_TEXT = "short_text"
    LONG_TEXT = "long_text"
    CODE = "code"


def kind_of(value: Json) -> AnswerKind:
    """The kind of a value; a text that says a number is one."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return AnswerKind.NUMBER
    return _of_text(value) if isinstance(value, str) else AnswerKind.JSON


def stored_kind(text: str, is_json: bool) -> AnswerKind:
    """The same of a value's stored form: a text, or the RFC 8785 JSON of what is none."""
    if is_json:
        return AnswerKind.NUMBER if text[0] in "-0123456789" else AnswerKind.JSON
    return _of_text(text)


def _of_text(text: str) -> AnswerKind:
    if _NUMBER.fullmatch(text.strip()):
        return AnswerKind.NUMBER
    if _CODE.search(text):
        return AnswerKind.CODE
    words = len(text.split(None, SHORT_WORDS + 1))
    if words <= 1:
        return AnswerKind.ONE_WORD if words else AnswerKind.EMPTY
    return AnswerKind.SHORT_TEXT if words <= SHORT_WORDS else AnswerKind.LONG_TEXT
