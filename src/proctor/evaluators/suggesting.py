"""Which evaluators fit a dataset, the best first: by what its examples expect, by accuracy, and by cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proctor.evaluators.facts import DatasetFacts
from proctor.evaluators.rows import EvaluatorRow

__all__ = ["Suggestion", "suggested"]

_FITTING: Mapping[str, Sequence[tuple[str, float, str]]] = {
    "number": (
        ("numeric", 1.0, "numbers are compared within a tolerance"),
        ("exact-match", 0.6, "a number that is written otherwise is another"),
    ),
    "json": (
        ("json-distance", 1.0, "JSON values are compared part by part"),
        ("exact-match", 0.8, "JSON values are compared whole"),
    ),
    "empty": (("exact-match", 1.0, "an output that has to be empty is, or not"),),
    "one_word": (
        ("exact-match", 1.0, "single words are the same or not"),
        ("contains", 0.7, "the word may stand among others"),
        ("token-f1", 0.6, "single words are found among others"),
    ),
    "short_text": (
        ("token-f1", 1.0, "short answers are compared word by word"),
        ("exact-match", 0.6, "an answer in other words is wrong"),
        ("embedding-similarity", 0.6, "what is said alike is alike"),
        ("rouge-l", 0.5, "words count in their order"),
    ),
    "long_text": (
        ("rouge-l", 1.0, "long texts are compared by words in their order"),
        ("chrf", 0.9, "long texts are compared by runs of letters"),
        ("bleu", 0.8, "long texts are compared by runs of words"),
        ("embedding-similarity", 0.7, "what is said alike is alike"),
    ),
    "code": (
        ("command", 1.0, "code is best run against tests, in a sandbox"),
        ("python", 0.9, "code is judged by code of yours, in a sandbox"),
        ("edit-distance", 0.4, "code is compared letter by letter"),
    ),
    "missing": (
        ("checks", 1.0, "where nothing is expected, rules for all outputs can be checked"),
        ("python", 0.8, "where nothing is expected, code of yours can judge"),
    ),
}
"""By what is expected: types, how well each fits that from 0 to 1, and why. The numbers only order them."""
_WORDS: Mapping[str, str] = {
    "number": "a number",
    "json": "JSON",
    "empty": "an empty text",
    "one_word": "one word",
    "short_text": "a short text",
    "long_text": "a long text",
    "code": "code",
    "missing": "nothing",
}
_LEAST: float = 0.05
"""A type that fits less of a dataset is not worth a line."""


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """An evaluator for a dataset."""

    evaluator: EvaluatorRow
    fit: float
    """From 0 to 1: over all examples, how well it fits what each expects."""
    cost_nano: int | None
    """Of judging each example once; ``None``: not known."""
    reasons: tuple[str, ...]


def suggested(facts: DatasetFacts, evaluators: Iterable[EvaluatorRow]) -> list[Suggestion]:
    """Those that are allowed and fit, the best first: by fit, then by accuracy, then by cost; unknown comes last."""
    fits, reasons = _by_type(facts)
    found = [
        Suggestion(
            evaluator=row,
            fit=fits[row.type],
            cost_nano=None if row.cost_nano is None else row.cost_nano * facts.examples,
            reasons=tuple(reasons[row.type]),
        )
        for row in evaluators
        if row.allowed and fits.get(row.type, 0) >= _LEAST
    ]
    return sorted(found, key=_rank)


def _by_type(facts: DatasetFacts) -> tuple[dict[str, float], dict[str, list[str]]]:
    fits: dict[str, float] = {}
    reasons: dict[str, list[str]] = {}
    for kind, types in _FITTING.items():
        count = getattr(facts, kind)
        for name, fit, reason in types if count else ():
            fits[name] = fits.get(name, 0) + fit * count / facts.examples
            expect = "expects" if count == 1 else "expect"
            reasons.setdefault(name, []).append(f"{count:,} of {facts.examples:,} {expect} {_WORDS[kind]}: {reason}")
    return fits, reasons


def _rank(one: Suggestion) -> tuple[float, float, bool, int, str]:
    accuracy = -1.0 if one.evaluator.accuracy is None else one.evaluator.accuracy
    return (-round(one.fit, 2), -accuracy, one.cost_nano is None, one.cost_nano or 0, one.evaluator.reference)
