"""Failures that are alike: by status, and by what they say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.analysis.arrays import np, npt
from proctor.analysis.errors import ScoresInvalid

__all__ = ["Failures", "by_status", "by_text"]

FORMS: int = 2_000
"""Different messages, the most frequent first, that are compared with one another: four million pairs, in a second."""
READ: int = 4_000
"""Characters of a message that are looked at: what went wrong stands at its start, and a log has no end."""
ALIKE: float = 0.6
"""The share of words two messages have in common from which they are one kind: a name and a sentence may differ."""
EXAMPLES: int = 5
"""Places of failures named for each kind, enough to look at."""
_VARIES = re.compile(r"0x[0-9a-f]+|\b(?=[a-f]*\d)[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b|\d+")
_WORD = re.compile(r"[\w#]+")


@dataclass(frozen=True, kw_only=True)
class Failures:
    """Failures of one kind. ``label``: their status, or the first message of the kind as it was written."""

    label: str
    count: int
    share: float
    """Of all that were given."""
    examples: tuple[int, ...]
    """Places of the first of them."""


def by_status(statuses: Sequence[str]) -> tuple[Failures, ...]:
    """Failures by their status, the most frequent first."""
    return _kinds({status: status for status in statuses}, statuses, [1] * len(statuses))


def by_text(texts: Sequence[str], *, counts: Sequence[int] | None = None, alike: float = ALIKE) -> tuple[Failures, ...]:
    """Failures by what they say, the most frequent first. ``counts``: how often each was said, where it is given once.

    Messages that differ in numbers, addresses and case only are one form. The most frequent form takes in all that
    share at least ``alike`` of their words with it (Jaccard 1912: words in both over words in either), then the most
    frequent of the rest, and so on; forms beyond the 2,000 most frequent stand alone. Raises ``ScoresInvalid`` for an
    ``alike`` that is not above 0 and at most 1, and unless there is a count of 1 or more for each text.
    """
    if not 0 < alike <= 1:
        raise ScoresInvalid("A share is above 0 and at most 1.", where="alike", remedy="Give, say, 0.6.")
    times = [1] * len(texts) if counts is None else counts
    if len(times) != len(texts) or min(times, default=1) < 1:
        raise ScoresInvalid("Each text was said once or more.", where="counts", remedy="Give a count for each text.")
    forms = {text: _form(text) for text in dict.fromkeys(texts)}
    seen: Counter[str] = Counter()
    for text, number in zip(texts, times, strict=True):
        seen[forms[text]] += number
    frequent = [form for form, _ in seen.most_common(FORMS)]
    leaders = dict(zip(frequent, _leaders(frequent, alike), strict=True))
    return _kinds({text: leaders.get(form, form) for text, form in forms.items()}, texts, times)


def _form(text: str) -> str:
    return _VARIES.sub("#", text[:READ].lower())


def _leaders(forms: Sequence[str], alike: float) -> list[str]:
    """For each form the one it is counted under."""
    similar = _similarities(forms) >= alike
    leader = np.full(len(forms), -1)
    for place in range(len(forms)):
        if leader[place] < 0:
            leader[(leader < 0) & similar[place]] = place
    return [forms[place] for place in leader]


def _similarities(forms: Sequence[str]) -> npt.NDArray[np.float64]:
    """Jaccard's coefficient of each two forms' words; a form without words is like itself alone."""
    from scipy.sparse import csr_array

    numbers: dict[str, int] = {}
    words = [sorted({numbers.setdefault(word, len(numbers)) for word in _WORD.findall(form)}) for form in forms]
    ends = np.cumsum([0, *map(len, words)])
    places = np.array([place for one in words for place in one], dtype=np.int64)
    has = csr_array((np.ones(len(places)), places, ends), shape=(len(forms), max(1, len(numbers))))
    both = np.asarray((has @ has.T).toarray(), dtype=np.float64)
    sizes = np.diff(ends)
    either = sizes[:, None] + sizes[None, :] - both
    similar = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    np.fill_diagonal(similar, 1.0)
    return similar


def _kinds(kind_of: dict[str, str], texts: Sequence[str], times: Sequence[int]) -> tuple[Failures, ...]:
    """``kind_of``: for each different text the kind it belongs to; a kind is called after its first text."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(kind_of[text], []).append(place)
    whole = sum(times)
    found = [
        Failures(
            label=texts[one[0]],
            count=(number := sum(times[place] for place in one)),
            share=number / whole,
            examples=tuple(one[:EXAMPLES]),
        )
        for one in places.values()
    ]
    return tuple(sorted(found, key=lambda one: one.count, reverse=True))
