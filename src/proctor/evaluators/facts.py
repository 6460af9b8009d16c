"""What a dataset expects of outputs: counted over its examples, for suggesting what judges them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from proctor.evaluators.samples import Missing
from proctor.kernel.canonical import Json

__all__ = ["SHORT_WORDS", "DatasetFacts", "facts_of"]

SHORT_WORDS: int = 30
"""Words of a text that is still an answer and no essay: up to there, single words decide."""
_NUMBER = re.compile(r"\s*[-+−$€£]?\s*(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?([eE][-+]?\d+)?\s*%?\s*")
_CODE = re.compile(
    r"^\s*(```|def |class |import |from \w+ import|#include|function |const |let |var |public |package |fn |func )"
    r"|^\s*SELECT |[;{}]\s*$",
    re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True)
class DatasetFacts:
    """How many examples of a dataset expect what; each is counted once, and all of them are the dataset."""

    missing: int = 0
    """That expect nothing."""
    number: int = 0
    json: int = 0
    """A value that is neither a text nor a number."""
    one_word: int = 0
    short_text: int = 0
    long_text: int = 0
    code: int = 0

    @property
    def examples(self) -> int:
        """All of them."""
        return sum(getattr(self, name) for name in self.__dataclass_fields__)


def facts_of(expected: Iterable[Json | Missing]) -> DatasetFacts:
    """Counted over what each example expects; ``None`` is the value null, and ``MISSING`` nothing."""
    counts = dict.fromkeys(DatasetFacts.__dataclass_fields__, 0)
    for one in expected:
        counts[_kind(one)] += 1
    return DatasetFacts(**counts)


def _kind(expected: Json | Missing) -> str:
    if isinstance(expected, Missing):
        return "missing"
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return "number"
    if not isinstance(expected, str):
        return "json"
    if any(character.isdigit() for character in expected) and _NUMBER.fullmatch(expected):
        return "number"
    if _CODE.search(expected):
        return "code"
    words = len(expected.split(None, SHORT_WORDS + 1))
    return "one_word" if words <= 1 else "short_text" if words <= SHORT_WORDS else "long_text"
