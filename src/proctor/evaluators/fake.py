"""Judges and reviewers in memory, for tests: a function answers for each sample, in the order in which they come.

They are shipped, so that code built on Proctor can be tested without a model or a person.
"""

from __future__ import annotations

from collections.abc import Callable

from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.samples import Sample, Score, scores_of, values_of
from proctor.evaluators.statuses import Status

__all__ = ["Answer", "FakeJudge", "FakeReview"]

Answer = Callable[[Sample], Score]


class FakeJudge:
    """Implements ``Judge``."""

    def __init__(self, answer: Answer, model: str = "fake/judge") -> None:
        self._answer, self._model = answer, model
        self.asked: list[Sample] = []

    @property
    def model(self) -> str:
        """As it was said."""
        return self._model

    async def score(self, samples: Samples) -> Scores:
        """At once. What the function raises is an error of the provider."""
        return scores_of([self._judged(sample) for sample in values_of(samples)])

    def _judged(self, sample: Sample) -> Score:
        self.asked.append(sample)
        try:
            return self._answer(sample)
        except Exception as error:  # noqa: BLE001  a port's promise: what failed is a status
            return Score(score=None, status=Status.PROVIDER_ERROR, error=f"{type(error).__name__}: {error}")


class FakeReview:
    """Implements ``HumanReview``. Whoever is withdrawn before is cancelled."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._withdrawn: list[Sample] = []

    async def score(self, samples: Samples) -> Scores:
        """At once, as if people had been quick."""
        return scores_of([self._reviewed(sample) for sample in values_of(samples)])

    async def withdraw(self, samples: Samples) -> int:
        """From now on they are judged no more; how many were not withdrawn before."""
        new = [sample for sample in values_of(samples) if sample not in self._withdrawn]
        self._withdrawn += new
        return len(new)

    def _reviewed(self, sample: Sample) -> Score:
        if sample in self._withdrawn:
            return Score(score=None, status=Status.CANCELLED, error="it was withdrawn")
        return self._answer(sample)
