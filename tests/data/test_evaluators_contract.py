"""Every type of evaluator keeps the contract, and so do the fakes."""

from __future__ import annotations

import pytest

from proctor.evaluators.catalogue import TYPES, AnyEvaluator, Kind, Means
from proctor.evaluators.fake import FakeJudge, FakeReview
from proctor.evaluators.interfaces import HumanReview, Judge
from proctor.evaluators.samples import Sample, Score, rows_of, samples_of
from proctor.evaluators.statuses import Status
from tests.contracts.evaluators import EvaluatorContract

LOCAL = [name for name, kind in TYPES.items() if kind.kind is not Kind.CODE]
CONFIGURED = {"checks": {"checks": [{"name": "same", "type": "exact-match"}, {"name": "valid", "type": "json-schema"}]}}


class TestLocal(EvaluatorContract):
    @pytest.fixture(params=LOCAL)
    def evaluator(self, request: pytest.FixtureRequest) -> AnyEvaluator:
        return TYPES[request.param].make(CONFIGURED.get(request.param, {}), Means())


def by_equality(sample: Sample) -> Score:
    return Score(score=float(sample.expected == sample.output))


def too_busy(sample: Sample) -> Score:
    raise ConnectionError("too busy")


class TestFakeJudge(EvaluatorContract):
    @pytest.fixture(params=[by_equality, too_busy])
    def evaluator(self, request: pytest.FixtureRequest) -> AnyEvaluator:
        return FakeJudge(request.param)


class TestFakeReview(EvaluatorContract):
    @pytest.fixture
    def evaluator(self) -> AnyEvaluator:
        return FakeReview(by_equality)


async def test_what_is_withdrawn_is_asked_of_nobody() -> None:
    review: HumanReview = FakeReview(by_equality)
    samples = samples_of([Sample(input="", expected=1, output=1), Sample(input="", expected=1, output=2)])
    assert [await review.withdraw(samples) for _ in range(2)] == [2, 0]
    assert [row.status for row in rows_of(await review.score(samples))] == [Status.CANCELLED] * 2


async def test_a_judge_is_asked_for_each_sample_in_order() -> None:
    fake = FakeJudge(by_equality, "anthropic/opus")
    judge: Judge = fake
    rows = [Sample(input=number, expected=1, output=number) for number in range(3)]
    assert [row.score for row in rows_of(await judge.score(samples_of(rows)))] == [0, 1, 0]
    assert (judge.model, fake.asked) == ("anthropic/opus", rows)
