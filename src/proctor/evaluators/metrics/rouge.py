"""``rouge-1``, ``rouge-2`` and ``rouge-l``: words in common, by the library rouge-score.

ROUGE is Lin (2004). Words are what is left of a text between everything but ASCII letters and digits, in lower case, so
that texts in other scripts have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.statuses import Status

if TYPE_CHECKING:
    from rouge_score.tokenizers import DefaultTokenizer

__all__ = ["LONGEST_TEXT", "Rouge1", "Rouge2", "RougeConfiguration", "RougeL"]

LONGEST_TEXT: int = 1_000_000
"""Characters of a text, some 200,000 words: more take minutes."""
SHORT_TEXT: int = 2_000
"""Characters up to which the library itself finds common sequences. It fills a table in Python of all pairs of words,
for texts of 20,000 words in minutes; rapidfuzz finds the same length 64 pairs at a time."""
_TOO_LONG: str = f"the text has more than {LONGEST_TEXT:,} characters"


class RougeConfiguration(Configuration):
    """ROUGE against one reference, from 0 to 1."""

    measure: Literal["fmeasure", "precision", "recall"] = "fmeasure"
    stemmer: bool = Field(default=False, description="Words are compared by Porter's stems.")


class _Rouge:
    """Implements ``Evaluator``; one scorer is reused for all rows."""

    kind: str

    def __init__(self, configuration: RougeConfiguration) -> None:
        from rouge_score.rouge_scorer import RougeScorer
        from rouge_score.tokenizers import DefaultTokenizer

        self._measure = configuration.measure
        self._tokenizer: DefaultTokenizer = DefaultTokenizer(configuration.stemmer)
        self._scorer = RougeScorer([self.kind], tokenizer=self._tokenizer)

    def score(self, samples: Samples) -> Scores:
        """A row for each sample."""
        from proctor.evaluators.assembling import by_pairs

        return by_pairs(samples, self._judged)

    def _judged(self, expected: str, output: str) -> float:
        from proctor.evaluators.assembling import RowFault

        if max(len(expected), len(output)) > LONGEST_TEXT:
            raise RowFault(Status.PARSE_ERROR, _TOO_LONG)
        if self.kind == "rougeL" and max(len(expected), len(output)) > SHORT_TEXT:
            return self._of_long(expected, output)
        return float(getattr(self._scorer.score(expected, output)[self.kind], self._measure))

    def _of_long(self, expected: str, output: str) -> float:
        from rapidfuzz.distance import LCSseq
        from rouge_score.scoring import Score, fmeasure

        wanted, given = self._tokenizer.tokenize(expected), self._tokenizer.tokenize(output)
        if not wanted or not given:
            return 0.0
        common = LCSseq.similarity(wanted, given)
        precision, recall = common / len(given), common / len(wanted)
        score = Score(precision=precision, recall=recall, fmeasure=fmeasure(precision, recall))
        return float(getattr(score, self._measure))


class Rouge1(_Rouge):
    """ROUGE of single words."""

    kind = "rouge1"


class Rouge2(_Rouge):
    """ROUGE of pairs of words."""

    kind = "rouge2"


class RougeL(_Rouge):
    """ROUGE of the longest common subsequence of words."""

    kind = "rougeL"
