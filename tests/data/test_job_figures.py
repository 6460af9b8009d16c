"""What stands under a figure is what was stored, and what follows from a difference is what its rule says."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.findings import Finding, Rule
from proctor.analysis.intervals import Interval
from proctor.analysis.power import Design
from proctor.jobs.analyses.planning import planned
from proctor.jobs.analyses.telling import literal, where_rows
from proctor.reports.job_report.markdown import number


@settings(deadline=None)
@given(st.text(max_size=40) | st.text("'\\\n`\x00\u202e;-\x1b", max_size=20))
def test_a_literal_is_its_text_and_one_line_of_what_can_be_printed(said: str) -> None:
    expression = literal(said)
    assert expression.isprintable()
    assert duckdb.sql(f"SELECT {expression}").fetchall() == [(said,)]


def test_rows_are_a_condition() -> None:
    condition = where_rows([(1, 1), (3, 5)])
    rows = duckdb.sql(f"SELECT row FROM range(8) t(row) WHERE {condition}").fetchall()
    assert rows == [(1,), (3,), (4,), (5,)]


@pytest.mark.parametrize(
    ("margin", "difference", "low", "p", "finding"),
    [
        (0.0, 0.1, 0.05, 0.01, Finding.BETTER),
        (0.0, -0.1, -0.2, 0.01, Finding.WORSE),
        (0.0, -0.1, -0.2, 0.05, Finding.OPEN),
        (0.3, -0.1, -0.2, 0.01, Finding.NO_WORSE),
        (0.2, -0.1, -0.2, 0.01, Finding.WORSE),
        (0.3, 0.1, 0.05, 0.01, Finding.BETTER),
    ],
)
def test_what_follows_from_a_difference(
    margin: float, difference: float, low: float, p: float, finding: Finding
) -> None:
    assert Rule(margin=margin).finding(difference, Interval(low, 2 * difference - low), p) is finding


@pytest.mark.parametrize("wrong", [{"margin": -1.0}, {"margin": float("nan")}, {"alpha": 0.0}, {"alpha": 1.0}])
def test_a_rule_that_can_not_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ScoresInvalid):
        Rule(**wrong)


@pytest.mark.parametrize("difference", [1e-10, -1e10, 0.0, float("inf"), float("nan")])
def test_a_plan_is_of_a_difference_that_can_be_seen(difference: float) -> None:
    with pytest.raises((ScoresInvalid, StatisticUndefined)) as error:
        planned(Design(between=1.0), difference=difference, items=None)
    assert error.value.where == "difference"


def test_a_plan_is_of_so_many_examples_as_there_can_be() -> None:
    with pytest.raises(ScoresInvalid, match="at most"):
        planned(Design(between=1.0), difference=None, items=10**400)


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "—"), (0, "0"), (1.0, "1.0000"), (1198, "1,198"), (0.81216, "0.8122")]
)
def test_numbers_are_written_as_they_are_read(value: float | None, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize("beyond", [0.0, 1e-308, 1 - 1e-16, 1.0, float("nan")])
def test_a_probability_next_to_0_or_1_is_refused(beyond: float) -> None:
    with pytest.raises(ScoresInvalid, match="between 0 and 1"):
        planned(Design(between=1.0, alpha=beyond), difference=0.1, items=None)
    with pytest.raises(ScoresInvalid, match="between 0 and 1"):
        planned(Design(between=1.0), difference=0.1, items=9, power=beyond)
