"""The hashing embedder is the same on every machine, and similarity asks for each text once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.evaluators.catalogue import Means, built, defined
from proctor.evaluators.embeddings.hashing import DIMENSIONS, HashingEmbedder, hashed
from proctor.evaluators.embeddings.similarity import EmbeddingSimilarity
from proctor.evaluators.errors import EmbeddingFailed, EvaluatorNotHere
from proctor.evaluators.interfaces import Embedded
from proctor.evaluators.samples import MISSING, Sample, rows_of, samples_of
from proctor.evaluators.statuses import Status


@given(st.text())
@settings(deadline=None)
def test_a_vector_has_length_1_or_is_all_zeros(text: str) -> None:
    vector = hashed(text)
    assert len(vector) == DIMENSIONS
    length = math.sqrt(sum(one * one for one in vector))
    assert length == pytest.approx(1) or not any(vector)


def test_a_vector_is_what_it_was_on_the_machine_that_this_was_written_on() -> None:
    """Twice the word ``a``, twice its letters ``<a>``, once the pair: each has its place and its sign."""
    found = {place: value for place, value in enumerate(hashed("A a")) if value}
    assert found == {47: -2 / 3, 219: -2 / 3, 228: 1 / 3}


async def test_what_is_spelled_alike_is_closer_than_what_is_not() -> None:
    evaluator = EmbeddingSimilarity(HashingEmbedder())
    expected = "The capital of France is Paris."
    outputs = [expected, "Paris is France's capital", "I like to eat bread", ""]
    rows = [Sample(input="", expected=expected, output=output) for output in outputs]
    same, close, far, nothing = (row.score or 0 for row in rows_of(await evaluator.score(samples_of(rows))))
    assert same == pytest.approx(1)
    assert same > close > far
    assert nothing == 0


class Counting:
    """An embedder that keeps what it was asked, or fails."""

    dimensions = 2

    def __init__(self, error: EmbeddingFailed | None = None) -> None:
        self.asked: list[str] = []
        self._error = error

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked += texts
        if self._error is not None:
            raise self._error
        vectors = [[1.0, 0.0] if text == "a" else [-1.0, 0.0] for text in texts]
        return Embedded(vectors=vectors, cost_nano=7)


ROWS = [Sample(input="", expected=one, output=two) for one, two in (("a", "a"), ("a", "b"), ("b", "a"), (MISSING, "c"))]


async def test_each_text_is_asked_for_once_and_what_is_opposed_is_worth_nothing() -> None:
    embedder = Counting()
    scores = await EmbeddingSimilarity(embedder).score(samples_of(ROWS))
    rows = rows_of(scores)
    assert scores.cost_nano == 7
    assert embedder.asked == ["a", "b"]
    assert [row.score for row in rows] == [1, 0, 0, None]
    assert rows[3].status is Status.INVALID_EXAMPLE


async def test_where_no_vectors_come_rows_have_the_status_of_that() -> None:
    embedder = Counting(EmbeddingFailed("too fast", status=Status.RATE_LIMITED))
    rows = rows_of(await EmbeddingSimilarity(embedder).score(samples_of(ROWS)))
    assert [row.status for row in rows] == [*[Status.RATE_LIMITED] * 3, Status.INVALID_EXAMPLE]
    assert rows[0].error == "too fast"


def test_a_model_is_asked_only_where_models_are() -> None:
    definition = defined("embedding-similarity", {"model": "openai/text-embedding-3-small"})
    with pytest.raises(EvaluatorNotHere, match="no model"):
        built(definition, Means())
    assert built(definition, Means(embedder=lambda model: Counting()))
