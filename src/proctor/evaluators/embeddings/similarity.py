"""``embedding-similarity``: how like the expected text an output is, by the vectors of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from operator import mul

from pydantic import Field

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.errors import EmbeddingFailed
from proctor.evaluators.interfaces import Embedded, Embedder, Samples, Scores
from proctor.evaluators.samples import Score, scores_of
from proctor.evaluators.statuses import Status

__all__ = ["HASHING", "EmbeddingSimilarity", "EmbeddingSimilarityConfiguration"]

HASHING: str = "local/hashing"
"""The embedder of ``embeddings/hashing.py``."""


class EmbeddingSimilarityConfiguration(Configuration):
    """The cosine of the two vectors, and 0 where it is below 0. A text without a vector is like none."""

    model: str = Field(
        default=HASHING,
        pattern=r"^[A-Za-z0-9._-]{1,100}/.{1,300}$",
        description="local/hashing needs no network; else provider/name, through the model gateway.",
    )


class EmbeddingSimilarity:
    """Implements ``WaitingEvaluator``. Each text of a batch is asked for once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def score(self, samples: Samples) -> Scores:
        """A row for each sample. Where no vectors come, all rows have the status of that."""
        expected, outputs = samples.expected.to_pylist(), samples.output.to_pylist()
        needed = [(one, output) for one, output in zip(expected, outputs, strict=True) if one is not None]
        texts = list(dict.fromkeys(text for pair in needed for text in pair))
        try:
            found = await self._embedder.embed(texts) if texts else Embedded(vectors=[], cost_nano=0)
        except EmbeddingFailed as error:
            failed = Score(score=None, status=error.status, error=error.message)
            scores = scores_of([failed if one is not None else _UNEXPECTED for one in expected])
            return replace(scores, cost_nano=None)  # some of it may have been answered, and cost
        vectors, pairs = dict(zip(texts, found.vectors, strict=True)), zip(expected, outputs, strict=True)
        scores = scores_of(
            [_UNEXPECTED if one is None else Score(score=_cosine(vectors[one], vectors[out])) for one, out in pairs]
        )
        return replace(scores, cost_nano=found.cost_nano)


_UNEXPECTED = Score(score=None, status=Status.INVALID_EXAMPLE, error="the example has no expected output")


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """From 0 to 1, whatever rounding makes of equal vectors."""
    lengths = sqrt(sum(map(mul, one, one)) * sum(map(mul, other, other)))
    return min(1.0, max(0.0, sum(map(mul, one, other)) / lengths)) if lengths else 0.0
