"""Judgements in both orders, repeated, and with the answers' length taken out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.positions import both_orders, length_controlled, repetition_stability

NAN = float("nan")


def test_an_answer_wins_only_in_both_orders() -> None:
    seen = both_orders([1, 0, 1, 0.5, 1, 1, 0], [1, 0, 0, 0.5, 0.5, 0, 1])
    assert seen.outcomes.tolist() == [1, 0, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert seen.consistency == pytest.approx(3 / 7)
    assert seen.primacy == pytest.approx(2 / 3)
    assert seen.win_rate.value == pytest.approx(3.5 / 7)


def test_a_judge_who_never_turns_has_no_lean_to_a_place() -> None:
    assert both_orders([1, 0], [1, 0]).primacy is None
    with pytest.raises(ScoresInvalid):
        both_orders([1, 0.7], [1, 0])
    with pytest.raises(ScoresInvalid):
        both_orders([1, 0], [1])


def test_stability_is_the_share_that_says_what_most_say() -> None:
    assert repetition_stability([[1, 1, 0, 1], [0, 0, NAN, NAN], [1, NAN, NAN, NAN]]) == pytest.approx((0.75 + 1) / 2)
    with pytest.raises(StatisticUndefined):
        repetition_stability([[1, NAN]])
    with pytest.raises(ScoresInvalid):
        repetition_stability([[1, 3]])


def test_a_judge_who_likes_length_is_corrected() -> None:
    """Answers of a are longer and no better: 50 % is the truth, and the judge says far more."""
    draw = np.random.default_rng(17)
    extra = draw.normal(80, 100, 5_000)
    chance = 1 / (1 + np.exp(-1.2 * np.tanh(extra / extra.std())))
    seen = length_controlled((draw.random(5_000) < chance).astype(float), extra)
    assert seen.raw > 0.62
    assert seen.win_rate == pytest.approx(0.5, abs=0.03)
    assert seen.interval.low < 0.5 < seen.interval.high
    assert seen.lean == pytest.approx(1.2, abs=0.15)


def test_where_length_is_by_chance_nothing_is_corrected() -> None:
    """Each outcome beside each length as often: the controlled rate is the raw one."""
    seen = length_controlled([1, 1, 1, 0] * 2, [5.0] * 4 + [-5.0] * 4)
    assert seen.win_rate == pytest.approx(seen.raw)
    assert seen.lean == pytest.approx(0.0, abs=1e-9)
    share = 1 / (1 + math.exp(-math.log(3)))
    assert seen.win_rate == pytest.approx(share)


@pytest.mark.parametrize(
    ("outcomes", "extra"), [([1, 1, 0, 0], [3, 2, 1, 0]), ([1, 0], [1, 1]), ([1, 1], [1, 2]), ([1, 0, 0], [2, 2, 1])]
)
def test_lengths_that_part_wins_from_losses_are_refused(outcomes: list[float], extra: list[float]) -> None:
    with pytest.raises(StatisticUndefined):
        length_controlled(outcomes, extra)
