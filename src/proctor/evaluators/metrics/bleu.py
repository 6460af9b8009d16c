"""``bleu`` and ``chrf``: n-grams in common, of words and of letters, by sacrebleu's sentence functions.

Scores are sacrebleu's over 100. BLEU is Papineni et al. (2002), chrF is Popović (2015).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.statuses import Status

__all__ = ["LONGEST_TEXT", "Bleu", "BleuConfiguration", "Chrf", "ChrfConfiguration"]

LONGEST_TEXT: int = 1_000_000
"""Characters of a text: each takes six n-grams of memory, so that a longer one would take gigabytes."""
_TOO_LONG: str = f"the text has more than {LONGEST_TEXT:,} characters"


class BleuConfiguration(Configuration):
    """Sentence BLEU against one reference, with the effective order, from 0 to 1."""

    tokenize: Literal["13a", "intl", "zh", "char", "none"] = Field(
        default="13a", description="sacrebleu's tokenizers, of those that need no download."
    )
    smooth: Literal["exp", "floor", "add-k", "none"] = Field(default="exp", description="sacrebleu's smooth_method.")
    order: int = Field(default=4, ge=1, le=8, description="Words of the longest n-gram.")
    ignore_case: bool = False


class ChrfConfiguration(Configuration):
    """Sentence chrF against one reference, from 0 to 1; with ``word_order = 2`` it is chrF++."""

    char_order: int = Field(default=6, ge=1, le=8, description="Letters of the longest n-gram.")
    word_order: int = Field(default=0, ge=0, le=4, description="Words of the longest n-gram.")
    beta: int = Field(default=2, ge=1, le=10, description="How much more recall counts than precision.")
    ignore_case: bool = False


class Bleu:
    """Implements ``Evaluator``; one metric object is reused for all rows."""

    def __init__(self, configuration: BleuConfiguration) -> None:
        from sacrebleu.metrics.bleu import BLEU

        self._metric = BLEU(
            lowercase=configuration.ignore_case,
            force=True,
            tokenize=configuration.tokenize,
            smooth_method=configuration.smooth,
            max_ngram_order=configuration.order,
            effective_order=True,
        )

    def score(self, samples: Samples) -> Scores:
        """A row for each sample."""
        from proctor.evaluators.assembling import by_pairs

        sentence = self._metric.sentence_score
        return by_pairs(samples, lambda expected, output: _part(sentence(_short(output), [_short(expected)]).score))


class Chrf:
    """Implements ``Evaluator``; one metric object is reused for all rows."""

    def __init__(self, configuration: ChrfConfiguration) -> None:
        from sacrebleu.metrics.chrf import CHRF

        self._metric = CHRF(
            char_order=configuration.char_order,
            word_order=configuration.word_order,
            beta=configuration.beta,
            lowercase=configuration.ignore_case,
        )

    def score(self, samples: Samples) -> Scores:
        """A row for each sample."""
        from proctor.evaluators.assembling import by_pairs

        sentence = self._metric.sentence_score
        return by_pairs(samples, lambda expected, output: _part(sentence(_short(output), [_short(expected)]).score))


def _part(percent: float) -> float:
    """sacrebleu's sums of logarithms end a little above 100 for equal texts."""
    return min(percent / 100, 1.0)


def _short(text: str) -> str:
    from proctor.evaluators.assembling import RowFault

    if len(text) > LONGEST_TEXT:
        raise RowFault(Status.PARSE_ERROR, _TOO_LONG)
    return text
