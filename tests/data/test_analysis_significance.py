"""Sign test, McNemar and permutation against known answers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.significance import (
    DRAWS,
    SEED,
    mcnemar,
    mcnemar_chi_square,
    paired_test,
    sign_flip,
    sign_test,
)

HALF, ONE, NONE = Fraction(1, 2), Fraction(1), Fraction(0)


def test_agrestis_approval_ratings() -> None:
    """[[794, 86], [150, 570]]: Agresti, Categorical Data Analysis."""
    statistic, p = mcnemar_chi_square(86, 150)
    assert statistic == pytest.approx(17.3559, abs=5e-5)
    assert p == pytest.approx(3.10e-5, abs=5e-8)
    assert sign_test(86, 150) == pytest.approx(3.72e-5, abs=5e-8)
    assert mcnemar(86, 150).statistic == statistic


@pytest.mark.parametrize(("plus", "minus", "p"), [(9, 0, 0.00390625), (30, 20, 0.2026), (0, 0, 1.0), (5, 5, 1.0)])
def test_sign_test_known_answers(plus: int, minus: int, p: float) -> None:
    assert sign_test(plus, minus) == pytest.approx(p, abs=5e-5)


def test_what_is_no_count_is_refused() -> None:
    with pytest.raises(ScoresInvalid):
        sign_test(-1, 3)
    with pytest.raises(StatisticUndefined):
        mcnemar_chi_square(0, 0)


def test_few_discordant_pairs_are_tested_exactly() -> None:
    assert mcnemar(9, 0).p == 0.00390625
    assert mcnemar(9, 0).statistic is None
    assert mcnemar(12, 12).name == "McNemar, exact"
    assert mcnemar(13, 12).name == "McNemar, chi-square"
    assert mcnemar(0, 0).p == 1.0


def test_the_sign_test_holds_for_thousands_of_tasks() -> None:
    assert sign_test(30, 20) == pytest.approx(0.2026, abs=5e-5)
    assert sign_test(1200, 1200) == 1.0
    assert 0 < sign_test(1100, 1300) < 1e-4


def test_one_trial_a_side_is_mcnemar_and_more_is_a_permutation() -> None:
    assert paired_test([(ONE, NONE)] * 9, single=True).p == 0.00390625
    assert paired_test([(ONE, NONE)] * 9, single=False).p == 0.00390625  # every assignment but two is less extreme
    assert paired_test([(HALF, NONE)] * 5 + [(ONE, ONE)] * 3, single=False).p == 2 / 32


def test_a_permutation_counts_ties_as_at_least_as_extreme() -> None:
    thirds = [Fraction(1, 3), Fraction(1, 3), Fraction(-2, 3)]
    assert sign_flip(thirds).p == 1.0
    assert sign_flip([]).p == 1.0
    assert sign_flip([Fraction(1, 3), Fraction(2, 3)]).p == 0.5


def test_draws_are_the_same_every_time_and_near_the_exact_answer() -> None:
    differences = [HALF] * 14 + [-HALF] * 4
    seen = sign_flip(differences)
    assert seen == sign_flip(differences)
    assert seen.seed == SEED
    assert seen.p == pytest.approx(sign_test(14, 4), abs=0.006)
    assert sign_flip([ONE] * 40).p == 1 / (DRAWS + 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10))
def test_a_permutation_does_not_care_which_side_is_first(pairs: list[tuple[int, int]]) -> None:
    there = sign_flip([Fraction(a - b, 3) for a, b in pairs])
    back = sign_flip([Fraction(b - a, 3) for a, b in pairs])
    assert there.p == back.p
    assert (there.better, there.worse) == (back.worse, back.better)
