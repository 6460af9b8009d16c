"""Juries: quorum, pooling, and jurors that can't be relied on."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.juries import dawid_skene, juror_shifts, majority, pooled, quorum

NAN = float("nan")
CONFUSIONS = [[[0.95, 0.05], [0.1, 0.9]], [[0.9, 0.1], [0.15, 0.85]], [[0.2, 0.8], [0.85, 0.15]]]
"""Two good jurors and one who says the opposite, more often than not."""


def votes(items: int, seed: int = 21) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    truth = (draw.random(items) < 0.55).astype(int)
    said = [(draw.random(items) < np.array(table)[truth, 1]).astype(float) for table in CONFUSIONS]
    return np.column_stack(said), truth.astype(float)


def test_a_quorum_is_two_thirds_rounded_up() -> None:
    assert [quorum(jurors) for jurors in range(1, 8)] == [1, 2, 2, 3, 4, 4, 5]


def test_without_a_quorum_or_a_majority_there_is_no_verdict() -> None:
    table = [[1, 1, 0], [1, NAN, NAN], [1, 0, NAN], [0, 0, NAN], [NAN, NAN, NAN]]
    assert majority(table).tolist() == pytest.approx([1, NAN, NAN, 0, NAN], nan_ok=True)
    assert majority([[2], [3]]).tolist() == [2, 3]
    assert majority([[7, 7], [7, NAN]]).tolist() == pytest.approx([7, NAN], nan_ok=True)


def test_marks_are_pooled_by_their_mean() -> None:
    assert pooled([[4, 5, 3], [2, NAN, 3], [5, NAN, NAN]]).tolist() == pytest.approx([4, 2.5, NAN], nan_ok=True)


def test_known_confusions_are_recovered_and_the_adversary_is_named() -> None:
    said, truth = votes(3_000)
    seen = dawid_skene(said)
    for juror, known in zip(seen.jurors, CONFUSIONS, strict=True):
        assert np.array(juror.confusions) == pytest.approx(np.array(known), abs=0.05)
    assert [juror.adversarial for juror in seen.jurors] == [False, False, True]
    assert seen.frequencies[1] == pytest.approx(truth.mean(), abs=0.03)


def test_it_beats_the_mean_of_the_votes() -> None:
    said, truth = votes(3_000)
    seen = dawid_skene(said)
    fitted = np.mean(seen.verdicts == truth)
    voted = np.mean((pooled(said) > 0.5) == truth)
    assert fitted > voted + 0.02
    right = seen.verdicts == truth
    assert seen.confidence[right].mean() > seen.confidence[~right].mean()


def test_missing_votes_count_for_nothing() -> None:
    said, truth = votes(3_000)
    said[np.random.default_rng(1).random(said.shape) < 0.3] = NAN
    said[0] = NAN
    seen = dawid_skene(said)
    assert np.isnan(seen.verdicts[0])
    assert np.isnan(seen.confidence[0])
    assert [juror.adversarial for juror in seen.jurors] == [False, False, True]
    assert np.mean(seen.verdicts[1:] == truth[1:]) > 0.85


def test_leaving_a_juror_out_shows_which_way_he_pulls() -> None:
    table = np.array([[1, 1, 5], [2, 2, 5], [3, 3, 5]])
    assert juror_shifts(table, pooled) == pytest.approx((0.5, 0.5, -1.0))
    assert juror_shifts([[0, 1], [1, 0]]) == (None, None)
    assert juror_shifts([[0, NAN], [1, NAN]]) == (None, None)


def test_of_a_juror_who_never_votes_nothing_is_known() -> None:
    said, _ = votes(500)
    seen = dawid_skene(np.column_stack([said, np.full(500, NAN)]))
    assert (seen.jurors[3].accuracy, seen.jurors[3].adversarial) == (None, False)
    assert seen.jurors[0].accuracy == pytest.approx(0.92, abs=0.05)


def test_jurors_that_can_not_be_told_apart_are_refused() -> None:
    for refused in (
        lambda: dawid_skene([[1, 0], [0, 0]]),
        lambda: dawid_skene([[1, 1, 1], [1, 1, 1]]),
        lambda: juror_shifts([[1], [0]]),
        lambda: majority([[NAN, NAN]]),
    ):
        with pytest.raises(StatisticUndefined):
            refused()
    with pytest.raises(ScoresInvalid):
        dawid_skene(np.arange(153).reshape(51, 3))
