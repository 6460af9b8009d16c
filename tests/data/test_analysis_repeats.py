"""pass@k and pass^k against tau-bench, human-eval and the definition."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.means import mean
from proctor.analysis.repeats import pass_at_k, pass_hat_k
from tests.unit.test_numbers import TAU_BENCH_AIRLINE

FOUR = [4] * 50


@pytest.mark.parametrize(
    ("k", "all_pass", "any_passes"), [(1, 0.42, 0.42), (2, 0.27333, 0.56667), (3, 0.22, 0.66), (4, 0.2, 0.72)]
)
def test_tau_benchs_own_table(k: int, all_pass: float, any_passes: float) -> None:
    assert pass_hat_k(TAU_BENCH_AIRLINE, FOUR, k).mean.value == pytest.approx(all_pass, abs=5e-6)
    assert pass_at_k(TAU_BENCH_AIRLINE, FOUR, k).mean.value == pytest.approx(any_passes, abs=5e-6)


@pytest.mark.parametrize(("k", "chance"), [(1, 0.05), (10, 0.408548), (100, 0.999229)])
def test_ten_of_two_hundred(k: int, chance: float) -> None:
    assert pass_at_k([10], [200], k).mean.value == pytest.approx(chance, abs=5e-7)


def test_two_of_five() -> None:
    assert [pass_at_k([2], [5], k).mean.value for k in (1, 2, 3, 4)] == pytest.approx([0.4, 0.7, 0.9, 1.0])


def test_human_evals_example_samples() -> None:
    """Its README: of the problem's six samples three pass, and pass@1 is 0.5."""
    assert pass_at_k([3], [6], 1).mean.value == 0.5


@settings(deadline=None)
@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_both_are_shares_of_all_draws(case: tuple[int, int, int]) -> None:
    n, passed, k = case
    draws = list(combinations([place < passed for place in range(n)], k))
    assert pass_at_k([passed], [n], k).mean.value == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k([passed], [n], k).mean.value == pytest.approx(sum(map(all, draws)) / len(draws))


def test_the_error_is_that_of_the_mean_over_tasks() -> None:
    seen = pass_hat_k(TAU_BENCH_AIRLINE, FOUR, 2).mean
    assert seen == mean([passed * (passed - 1) / 12 for passed in TAU_BENCH_AIRLINE])
    assert pass_at_k([10], [200], 10).mean.error is None


def test_of_one_trial_it_is_the_rate_of_passes_clustered_by_task() -> None:
    """So that the same number has the same interval wherever it is told."""
    trials = [(float(n < passed), task) for task, passed in enumerate(TAU_BENCH_AIRLINE) for n in range(4)]
    told = mean([passed for passed, _ in trials], clusters=[task for _, task in trials])
    for seen in (pass_hat_k(TAU_BENCH_AIRLINE, FOUR, 1).mean, pass_at_k(TAU_BENCH_AIRLINE, FOUR, 1).mean):
        assert seen.value == pytest.approx(told.value, rel=1e-12)
        assert seen.error == pytest.approx(told.error, rel=1e-9)
        assert (seen.items, seen.clusters) == (told.items, told.clusters)
        assert seen.interval is not None
        assert told.interval is not None
        assert seen.interval.low == pytest.approx(told.interval.low, rel=1e-9)


def test_fewer_trials_than_k_are_not_extrapolated() -> None:
    with pytest.raises(StatisticUndefined) as refused:
        pass_hat_k([2, 3], [4, 3], 4)
    assert refused.value.where == "trials"
    for passed, trials, k in (
        ([5], [4], 1),
        ([0.5], [4], 1),
        ([-1], [4], 1),
        ([1], [4], 0),
        ([1], [10**9], 1),
        ([1, 2], [4], 1),
    ):
        with pytest.raises(ScoresInvalid):
            pass_at_k(passed, trials, k)
