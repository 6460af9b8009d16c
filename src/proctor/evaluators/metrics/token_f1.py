"""``token-f1``: words in common, in no order, as SQuAD counts them.

Source: Rajpurkar et al. (2016), https://arxiv.org/abs/1606.05250, and the evaluation script of SQuAD 1.1: lower case,
without ASCII punctuation and the words a, an, the; then the harmonic mean of precision and recall over the rest.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from pydantic import Field

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Samples, Scores

__all__ = ["TokenF1", "TokenF1Configuration"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


class TokenF1Configuration(Configuration):
    """F1 of the words of the output against those expected, from 0 to 1. Two texts without words are equal."""

    articles: bool = Field(default=False, description="Whether a, an and the are words too.")
    ignore_case: bool = True
    ignore_punctuation: bool = True


class TokenF1:
    """Implements ``Evaluator``."""

    def __init__(self, configuration: TokenF1Configuration) -> None:
        self._configuration = configuration

    def score(self, samples: Samples) -> Scores:
        """A row for each sample."""
        from proctor.evaluators.assembling import by_pairs

        return by_pairs(samples, lambda expected, output: _f1(self._words(expected), self._words(output)))

    def _words(self, text: str) -> list[str]:
        if self._configuration.ignore_case:
            text = text.lower()
        if self._configuration.ignore_punctuation:
            text = text.translate(_PUNCTUATION)
        return (text if self._configuration.articles else _ARTICLES.sub(" ", text)).split()


def _f1(expected: list[str], output: list[str]) -> float:
    if not expected or not output:
        return float(expected == output)
    common = (Counter(expected) & Counter(output)).total()
    return 2 * common / (len(expected) + len(output))
