"""Many p values together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from proctor.analysis.errors import ScoresInvalid
from proctor.analysis.multiple import benjamini_hochberg, holm

PS = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_holms_own_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@settings(deadline=None)
@given(PS)
def test_holm_keeps_the_order_and_never_lowers_a_p(ps: list[float]) -> None:
    adjusted = holm(ps)
    assert all(p <= q <= 1 for p, q in zip(ps, adjusted, strict=True))
    in_order = [adjusted[place] for place in sorted(range(len(ps)), key=ps.__getitem__)]
    assert in_order == sorted(in_order)


@settings(deadline=None)
@given(PS)
def test_the_step_up_is_that_of_statsmodels(ps: list[float]) -> None:
    """Its Holm is asked in the foreign tier."""
    assert benjamini_hochberg(ps) == pytest.approx(multipletests(ps, method="fdr_bh")[1], abs=1e-12)


def test_benjamini_and_hochbergs_own_table() -> None:
    """Of their 15 p values (1995, section 3.1) four are found at 0.05, where Bonferroni's correction finds three."""
    ps = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1,
    ]
    assert sum(p <= 0.05 for p in benjamini_hochberg(ps)) == 4
    assert sum(p <= 0.05 for p in holm(ps)) == 3


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_is_refused(p: float) -> None:
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(ScoresInvalid) as refused:
            adjust([0.5, p])
        assert refused.value.where == "ps[1]"
