"""What every evaluator keeps, whatever it judges by."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from proctor.evaluators.catalogue import AnyEvaluator, judged
from proctor.evaluators.interfaces import Scores
from proctor.evaluators.samples import MISSING, Sample, rows_of, samples_of
from proctor.evaluators.statuses import Status
from proctor.kernel.canonical import Json


def deep() -> Json:
    """Deeper than is read of a text, and no deeper than a column may be."""
    value: Json = 1
    for _ in range(200):
        value = [value]
    return value


HARD: Sequence[Sample] = [
    Sample(input="q", expected="the answer", output="the answer"),
    Sample(input="q", expected="the answer", output="another"),
    Sample(input="q", expected="", output=""),
    Sample(input="", expected="x", output=""),
    Sample(input={"a": [1, None]}, expected={"a": 1}, output={"a": 1.0}),
    Sample(input=None, expected=None, output=None),
    Sample(input="q", expected=[1, 2], output="[1, 2"),
    Sample(input="q", expected=42, output="It is 42."),
    Sample(input="q", expected="ẞtraße \U0001f600 \u202e", output="\u0000\ufeff\n\t "),
    Sample(input="q", expected="(", output="[" * 5000),
    Sample(input="q", expected=MISSING, output="whatever"),
    Sample(input=deep(), expected=deep(), output=deep()),
    Sample(input="q", expected="1e999", output="-1e999 nan inf"),
    Sample(input="q", expected='{"type": "object"}', output='{"score": 1}'),
]


class EvaluatorContract:
    """A subclass gives ``evaluator``, made ready, and ``deterministic``."""

    deterministic: bool = True

    @pytest.fixture
    def evaluator(self) -> AnyEvaluator:
        raise NotImplementedError

    async def test_a_row_for_each_sample(self, evaluator: AnyEvaluator) -> None:
        for rows in ([], HARD[:1], HARD):
            assert len(await judged(evaluator, samples_of(rows))) == len(rows)

    async def test_a_score_is_there_exactly_where_it_is_scored(self, evaluator: AnyEvaluator) -> None:
        scores = await judged(evaluator, samples_of(HARD))
        keeps_its_word(scores)

    async def test_a_row_does_not_depend_on_its_neighbours(self, evaluator: AnyEvaluator) -> None:
        if self.deterministic:
            together = rows_of(await judged(evaluator, samples_of(HARD)))
            alone = [rows_of(await judged(evaluator, samples_of([one])))[0] for one in HARD]
            assert together == alone


def keeps_its_word(scores: Scores) -> None:
    """A score from 0 to 1, or a status with a reason."""
    for row in rows_of(scores):
        if row.status is Status.SCORED:
            assert row.score is not None
            assert 0 <= row.score <= 1
            assert row.error is None
        else:
            assert row.score is None
            assert row.error
