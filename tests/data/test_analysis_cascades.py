"""When a verdict may stand: the guarantee, simulated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from proctor.analysis.cascades import confidence_threshold, decided_by
from proctor.analysis.errors import ScoresInvalid

NAN = float("nan")


def test_no_more_than_one_in_ten_calibrations_breaks_its_word() -> None:
    """P(agree | confidence c) is (1 + c) / 2: above t people disagree with (1 - t) / 4, at most 0.2 from 0.2 on."""
    draw = np.random.default_rng(31)
    broken, coverage = 0, []
    for _ in range(1_000):
        sure = draw.random(500)
        seen = confidence_threshold(sure, draw.random(500) < (1 + sure) / 2, alpha=0.2, delta=0.1)
        broken += seen is not None and (1 - seen.confidence) / 4 > 0.2
        coverage.append(seen.coverage if seen else 0.0)
    assert broken / 1_000 <= 0.1
    assert np.mean(coverage) > 0.4


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    seen = confidence_threshold([0.9] * 100 + [0.1] * 50, [True] * 95 + [False] * 55, alpha=0.15, delta=0.1)
    assert seen is not None
    assert (seen.accepted, seen.wrong, seen.confidence) == (100, 5, pytest.approx(0.11))
    exact = binomtest(5, 100, alternative="less").proportion_ci(confidence_level=0.9, method="exact")
    assert seen.risk_at_most == pytest.approx(exact.high, abs=1e-9)
    assert seen.coverage == pytest.approx(2 / 3)


def test_a_judge_who_is_mostly_wrong_decides_nothing() -> None:
    assert confidence_threshold(np.linspace(0, 1, 100), [False] * 100, alpha=0.2) is None
    assert confidence_threshold(np.linspace(0, 1, 100), [True] * 100, alpha=1e-20) is None
    assert confidence_threshold([1.0] * 5, [True] * 5, alpha=0.2) is None  # five can't show it, however they agree


def test_the_first_threshold_that_fails_ends_the_search() -> None:
    """Below a stretch of errors all are right again; the share would pass once more, and must not be looked at."""
    sure = np.concatenate([np.full(50, 0.9), np.full(30, 0.7), np.full(2_000, 0.5)])
    right = np.concatenate([np.ones(50, dtype=bool), np.zeros(30, dtype=bool), np.ones(2_000, dtype=bool)])
    seen = confidence_threshold(sure, right, alpha=0.1)
    assert seen is not None
    assert seen.accepted == 50


def test_items_go_to_the_first_judge_who_is_sure() -> None:
    table = [[0.9, NAN], [0.3, 0.8], [0.3, 0.4]]
    assert decided_by(table, [0.8, 0.7]).tolist() == [0, 1, -1]
    assert decided_by(table, [2.0, 2.0]).tolist() == [-1, -1, -1]


def test_what_is_no_confidence_is_refused() -> None:
    for refused in (
        lambda: confidence_threshold([1.5], [True], alpha=0.2),
        lambda: confidence_threshold([0.5], [1], alpha=0.2),
        lambda: confidence_threshold([0.5], [True, False], alpha=0.2),
        lambda: confidence_threshold([0.5], [True], alpha=0.0),
        lambda: decided_by([[0.5, 0.5]], [0.5]),
    ):
        with pytest.raises(ScoresInvalid):
            refused()
