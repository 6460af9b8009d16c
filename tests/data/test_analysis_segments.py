"""Segments: means, the rest, corrections, and small segments that prove nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from proctor.analysis.errors import ScoresInvalid
from proctor.analysis.means import mean
from proctor.analysis.multiple import holm
from proctor.analysis.segments import by_label, segments


def test_the_test_is_the_robust_score_test() -> None:
    """U = sum over the segment of (s - mean), with the variance sum (inside - share)^2 (s - mean)^2."""
    scores = np.array([1] * 30 + [0] * 20 + [1] * 40 + [0] * 110)
    inside = np.arange(200) < 50
    (seen,) = segments(scores, {"hard": inside})
    away = scores - scores.mean()
    z = away[inside].sum() / np.sqrt(np.sum((inside - 0.25) ** 2 * away**2))
    assert seen.mean == mean(scores[:50])
    assert seen.difference == pytest.approx(0.6 - 40 / 150)
    assert seen.p == pytest.approx(2 * norm.sf(z))


@pytest.mark.parametrize("kind", ["plain", "clustered", "weighted"])
def test_the_interval_is_what_the_test_does_not_refuse(kind: str) -> None:
    """Scores of the segment that are moved by an end of it differ from the rest with a p of just 0.05."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        scores = draw.random(60) + np.repeat([0.2, 0.0], [15, 45])
        inside = np.arange(60) < 15
        how = {
            "plain": {},
            "clustered": {"clusters": np.arange(60) // 3},
            "weighted": {"weights": draw.integers(1, 4, 60)},
        }[kind]
        (seen,) = segments(scores, {"x": inside}, **how)
        assert seen.interval is not None
        assert seen.p is not None
        assert (seen.interval.low <= 0 <= seen.interval.high) == (seen.p >= 0.05)
        for end in (seen.interval.low, seen.interval.high):
            (moved,) = segments(scores - end * inside, {"x": inside}, **how)
            assert moved.p == pytest.approx(0.05, abs=1e-6)


def test_the_interval_holds_the_true_difference_as_often_as_it_says() -> None:
    draw, held = np.random.default_rng(3), 0
    for _ in range(1_000):
        scores = np.concatenate([draw.random(40) < 0.7, draw.random(80) < 0.4]).astype(float)
        (seen,) = segments(scores, {"x": np.arange(120) < 40})
        assert seen.interval is not None
        held += seen.interval.low <= 0.3 <= seen.interval.high
    assert held == pytest.approx(950, abs=norm.isf(0.001) * np.sqrt(1_000 * 0.95 * 0.05))


def test_too_few_to_refuse_anything_have_no_interval() -> None:
    assert segments([1, 1] + [0, 1] * 20, {"tiny": [True] * 2 + [False] * 40})[0].interval is None
    assert segments([1.0] * 10, {"x": [True] * 5 + [False] * 5})[0].interval is None


def test_items_with_one_label_each_are_split_by_it() -> None:
    masks = by_label(["b", "a", "b"])
    assert {label: inside.tolist() for label, inside in masks.items()} == {
        "a": [False, True, False],
        "b": [True, False, True],
    }


def test_all_segments_are_corrected_together_and_the_untestable_are_not() -> None:
    draw = np.random.default_rng(1)
    scores = draw.random(100) + np.repeat([0.0, 0.5], 50)
    members = {"low": np.arange(100) < 50, "one": np.arange(100) == 3, "all": np.ones(100, dtype=bool)}
    members["none"] = np.zeros(100, dtype=bool)
    members["even"] = np.arange(100) % 2 == 0
    seen = {one.label: one for one in segments(scores, members)}
    assert set(seen) == {"low", "one", "all", "even"}
    low, even = seen["low"].p, seen["even"].p
    assert low is not None
    assert even is not None
    assert [seen["low"].p_adjusted, seen["even"].p_adjusted] == holm([low, even])
    assert (seen["one"].p, seen["one"].p_adjusted) == (None, None)
    assert seen["one"].difference is not None
    assert (seen["all"].difference, seen["all"].p) == (None, None)


def test_two_passes_alone_prove_nothing() -> None:
    (seen,) = segments([1, 1] + [0, 1] * 20, {"tiny": [True] * 2 + [False] * 40})
    assert seen.p is not None
    assert seen.p > 0.1


def test_trials_of_one_task_are_one_observation() -> None:
    once = segments([0.9, 0.8, 0.2, 0.3, 0.1], {"x": [True, True, False, False, False]})[0]
    often = segments(
        np.repeat([0.9, 0.8, 0.2, 0.3, 0.1], 10),
        {"x": np.repeat([True, True, False, False, False], 10)},
        clusters=np.repeat(np.arange(5), 10),
    )[0]
    assert often.p == pytest.approx(once.p)


def test_weights_change_the_mean_of_a_segment_and_of_the_rest() -> None:
    (seen,) = segments([1.0, 0.5, 0.0, 0.25], {"x": [True, True, False, False]}, weights=[3, 1, 1, 1])
    assert seen.difference == pytest.approx(0.875 - 0.125)


def test_scores_that_are_all_the_same_do_not_differ() -> None:
    assert segments([0.1] * 10, {"x": [True] * 3 + [False] * 7})[0].p == 1.0


def test_false_findings_are_as_rare_as_said() -> None:
    draw = np.random.default_rng(9)
    ps = [segments(draw.random(60), {"x": np.arange(60) < 20})[0].p or 0.0 for _ in range(500)]
    assert np.mean(np.array(ps) < 0.05) < 0.05 + norm.isf(0.001) * np.sqrt(0.05 * 0.95 / 500)


def test_members_that_are_none_are_refused_by_name() -> None:
    for inside in ([True], [1, 0], ["yes", "no"]):
        with pytest.raises(ScoresInvalid) as refused:
            segments([1, 0], {"x": inside})
        assert refused.value.where == "members[x]"
    with pytest.raises(ScoresInvalid):
        by_label([str(place) for place in range(1_001)])
    with pytest.raises(ScoresInvalid):
        segments([1, 0], {str(place): [True, False] for place in range(1_001)})
