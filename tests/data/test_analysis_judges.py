"""A judge corrected by labels: published answers, and coverage."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.judges import Calibration, allocate, corrected_mean, corrected_rate, sampled_mean

NAN = float("nan")
LEE = Calibration(specificity=0.7, sensitivity=0.9, failing=200, passing=200)


def test_the_example_of_lee_and_others() -> None:
    """The inputs and answers of their README."""
    seen = corrected_rate(0.4, 1000, LEE)
    assert seen.rate == pytest.approx(0.166667, abs=5e-7)
    assert (seen.interval.low, seen.interval.high) == pytest.approx((0.056351, 0.262733), abs=5e-7)


def test_rogan_and_gladens_formula() -> None:
    labelled = Calibration(specificity=0.85, sensitivity=0.9, failing=50, passing=50)
    assert corrected_rate(0.75, 100, labelled).rate == pytest.approx(0.8)


def test_labels_go_where_the_judge_errs() -> None:
    pilot = Calibration(specificity=0.7, sensitivity=0.9, failing=10, passing=10)
    assert allocate(200, 0.4, pilot) == (136, 64)
    assert allocate(2, 0.0001, pilot) == (1, 1)


def test_the_corrected_interval_holds_the_truth_as_often_as_said() -> None:
    draw, held = np.random.default_rng(12), 0
    for _ in range(1_000):
        rate = draw.binomial(500, 0.6 * 0.9 + 0.4 * 0.2) / 500
        seen = Calibration(
            specificity=draw.binomial(100, 0.8) / 100,
            sensitivity=draw.binomial(100, 0.9) / 100,
            failing=100,
            passing=100,
        )
        interval = corrected_rate(rate, 500, seen).interval
        held += interval.low <= 0.6 <= interval.high
    assert 0.93 <= held / 1_000 <= 0.975


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    for specificity, sensitivity, labels in ((0.5, 0.5, 200), (0.2, 0.3, 200), (0.0, 1.0, 1)):
        chance = Calibration(specificity=specificity, sensitivity=sensitivity, failing=labels, passing=labels)
        with pytest.raises(StatisticUndefined):
            corrected_rate(0.4, 1000, chance)
    for refused in (
        lambda: Calibration(specificity=0.7, sensitivity=0.9, failing=0, passing=200),
        lambda: Calibration(specificity=1.7, sensitivity=0.9, failing=2, passing=2),
        lambda: corrected_rate(1.4, 1000, LEE),
        lambda: corrected_rate(0.4, 0, LEE),
        lambda: allocate(1, 0.4, LEE),
    ):
        with pytest.raises(ScoresInvalid):
            refused()


def drawn() -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """2,000 items that a judge scored, 200 more with labels, and the truth."""
    draw = np.random.default_rng(0)
    truth = draw.random(2200) < 0.6
    judge = np.where(truth, draw.random(2200) < 0.9, draw.random(2200) < 0.25)
    return judge[200:].astype(float), judge[:200].astype(float), truth[:200].astype(float), float(truth.mean())


def test_the_prediction_powered_means_of_ppi_py() -> None:
    rest, seen, labels, truth = drawn()
    assert (labels.sum(), seen.sum(), rest.sum()) == (110, 119, 1316)
    plain = corrected_mean(rest, seen, labels, trust=1.0)
    assert plain.value == pytest.approx(0.613)
    assert (plain.interval.low, plain.interval.high) == pytest.approx((0.5566, 0.6694), abs=5e-5)
    tuned = corrected_mean(rest, seen, labels)
    assert tuned.trust * 200 / 199 == pytest.approx(0.6956, abs=5e-5)  # with n - 1; ppi_py divides by n
    assert tuned.value == pytest.approx(0.5936, abs=5e-5)
    assert (tuned.interval.low, tuned.interval.high) == pytest.approx((0.5428, 0.6444), abs=5e-5)
    labels_alone = corrected_mean(rest, seen, labels, trust=0.0)
    assert (labels_alone.interval.low, labels_alone.interval.high) == pytest.approx((0.4811, 0.6189), abs=5e-5)
    width = tuned.interval.high - tuned.interval.low
    assert width / (labels_alone.interval.high - labels_alone.interval.low) == pytest.approx(0.74, abs=0.005)
    assert rest.mean() - truth == pytest.approx(0.0503, abs=0.01)  # what the judge's own mean is off by


def test_a_judge_without_spread_is_not_leant_on() -> None:
    seen = corrected_mean([1.0] * 10, [1.0] * 4, [1, 0, 1, 1])
    assert (seen.trust, seen.value) == (0.0, 0.75)


def test_items_sent_to_people_by_uncertainty_are_weighted_back() -> None:
    """Wrong verdicts are labelled nine times as often; the plain mean of labels is far off, the weighted one is not."""
    draw, held, plain = np.random.default_rng(13), 0, []
    for _ in range(400):
        truth = (draw.random(400) < 0.6).astype(float)
        judge = np.where(draw.random(400) < 0.8, truth, 1 - truth)
        pi = np.where(judge == 1, 0.1, 0.9)
        labels = np.where(draw.random(400) < pi, truth, NAN)
        seen = sampled_mean(judge, labels, pi)
        held += seen.interval.low <= 0.6 <= seen.interval.high
        plain.append(np.nanmean(labels))
    assert np.mean(plain) < 0.4
    assert 0.91 <= held / 400 <= 0.98


def test_every_item_labelled_is_the_mean_of_the_labels() -> None:
    seen = sampled_mean([0.2, 0.9, 0.4], [0, 1, 1], [1, 1, 1])
    assert seen.value == pytest.approx(2 / 3)


def test_labels_that_can_correct_nothing_are_refused() -> None:
    with pytest.raises(StatisticUndefined):
        corrected_mean([0.1, 0.2], [0.1], [1.0])
    with pytest.raises(StatisticUndefined):
        sampled_mean([0.1, 0.2], [NAN, NAN], [0.5, 0.5])
    for refused in (
        lambda: corrected_mean([0.1, 0.2], [0.1, 0.2], [1.0]),
        lambda: corrected_mean([0.1, 0.2], [0.1, 0.2], [1.0, 0.0], trust=2),
        lambda: sampled_mean([0.1, 0.2], [1.0, NAN], [0.0, 0.5]),
        lambda: sampled_mean([0.1, 0.2], [1.0], [0.5, 0.5]),
        lambda: sampled_mean([0.1, 0.2], ["x", "y"], [0.5, 0.5]),
    ):
        with pytest.raises(ScoresInvalid):
            refused()
