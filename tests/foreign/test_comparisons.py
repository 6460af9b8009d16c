"""McNemar, Holm and permutations computed again by statsmodels and scipy; JUnit reports read by junitparser."""

from __future__ import annotations

from fractions import Fraction

import pytest

from proctor.analysis.multiple import holm
from proctor.analysis.significance import EXACT_BELOW, mcnemar, mcnemar_chi_square, sign_flip, sign_test
from proctor.engine.pairs import Tally
from proctor.reports.formats import one_line
from proctor.reports.junit import junit
from tests.foreign.conftest import Ask
from tests.foreign.environments import JUNITPARSER, STATSMODELS
from tests.unit.test_comparing import cells, side
from tests.unit.test_report_gate import HOSTILE, made

DISCORDANT = [(86, 150), (9, 0), (30, 20), (1, 0), (12, 12), (13, 12), (3, 21), (40, 12), (700, 600)]
PS = [[0.01, 0.04, 0.03, 0.005], [0.2], [0.5, 0.5, 0.5], [0.04, 0.001, 0.9, 0.0499, 0.02, 0.02]]
FEW = [
    [(1, 3), (1, 3), (-2, 3), (1, 2), (1, 1)],
    [(1, 1)] * 9,
    [(1, 3), (2, 3), (1, 3), (0, 1), (-1, 3), (1, 1), (2, 3), (1, 5), (-1, 5), (3, 5)],
]
MANY = [[(1, 3)] * 14 + [(-1, 3)] * 6, [(1, 4)] * 10 + [(-1, 2)] * 10 + [(0, 1)] * 30]
"""Numerators and denominators of differences of tasks' means."""


def test_the_paired_tests_are_those_of_statsmodels_and_scipy(ask: Ask) -> None:
    floats = {name: [[a / b for a, b in one] for one in given] for name, given in (("few", FEW), ("many", MANY))}
    question = {"mcnemar": DISCORDANT, "holm": PS, "exact_flips": floats["few"], "drawn_flips": floats["many"]}
    theirs = ask(STATSMODELS, "paired_tests", question)
    for (better, worse), their in zip(DISCORDANT, theirs["mcnemar"], strict=True):
        assert sign_test(better, worse) == pytest.approx(their["exact"], rel=1e-9)
        assert sign_test(better, worse) == pytest.approx(their["binomial"], rel=1e-9)
        assert mcnemar_chi_square(better, worse) == pytest.approx((their["statistic"], their["p"]), rel=1e-9)
        chosen = their["exact"] if better + worse < EXACT_BELOW else their["p"]
        assert mcnemar(better, worse).p == pytest.approx(chosen, rel=1e-9)
    for ps, adjusted in zip(PS, theirs["holm"], strict=True):
        assert holm(ps) == pytest.approx(adjusted, abs=1e-12)
    for few, p in zip(FEW, theirs["exact_flips"], strict=True):
        assert sign_flip([Fraction(a, b) for a, b in few]).p == pytest.approx(p, abs=1e-12)
    for many, p in zip(MANY, theirs["drawn_flips"], strict=True):
        assert sign_flip([Fraction(a, b) for a, b in many]).p == pytest.approx(p, abs=0.02)


def test_agrestis_table_and_the_sign_tests_as_published(ask: Ask) -> None:
    theirs = ask(
        STATSMODELS,
        "paired_tests",
        {"mcnemar": [(86, 150), (9, 0), (30, 20)], "holm": [], "exact_flips": [], "drawn_flips": []},
    )["mcnemar"]
    assert (theirs[0]["statistic"], theirs[0]["p"]) == pytest.approx((17.3559, 3.10e-5), abs=5e-5)
    assert theirs[0]["exact"] == pytest.approx(3.72e-5, abs=5e-8)
    assert theirs[1]["exact"] == pytest.approx(0.00390625)
    assert theirs[2]["exact"] == pytest.approx(0.2026, abs=5e-5)


def test_a_report_is_read_by_junitparser_as_it_was_meant(ask: Ask) -> None:
    run_set, sides = made()
    owed = Tally(outcome="provider_error", owner="provider", verdict=None, cells=1)
    hostile = {str(place): cells(name, owed) for place, name in enumerate(HOSTILE)}
    read = ask(JUNITPARSER, "junit", junit(run_set, [*sides, side("nightly", hostile, profile="loop")]))
    first, second = read["suites"]
    assert first["counts"] == read["counted"][0] == [5, 1, 2, 1]
    assert second["counts"] == read["counted"][1] == [len(HOSTILE), 0, len(HOSTILE), 0]
    assert first["properties"]["strict"] == "0.25"
    cases = {name: (classname, results) for classname, name, results in first["cases"]}
    assert cases["no"] == ("nightly.loop", [["failure", "failed", "0 of 1 passed: failed (model) 1"]])
    assert cases["yes"] == ("nightly.loop", [])
    assert {name for _, name, _ in second["cases"]} == {one_line(name) for name in HOSTILE}
