"""What a dataset expects of outputs: counted over its examples, for suggesting what judges them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proctor.evaluators.samples import Missing
from proctor.kernel.canonical import Json
from proctor.kernel.kinds import kind_of

__all__ = ["DatasetFacts", "facts_of"]


@dataclass(frozen=True, kw_only=True)
class DatasetFacts:
    """How many examples of a dataset expect what; each is counted once, and all of them are the dataset."""

    missing: int = 0
    """That expect nothing."""
    number: int = 0
    json: int = 0
    """A value that is neither a text nor a number."""
    empty: int = 0
    """An empty text, or blanks."""
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
    return "missing" if isinstance(expected, Missing) else kind_of(expected).value
