"""Tables of history, moves and usage: what is told of policies, of costs not known, and long names of no number."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console, RenderableType

from proctor.cli.usage import _tell_allowance
from proctor.engine.reclassifying import ClassMove
from proctor.engine.usage import UsageRow, Used
from proctor.identity.quotas import Quota
from proctor.reports.tables import history_table, moves_table, usage_table
from proctor.sdk.usage import Allowance


def shown(what: RenderableType, width: int) -> str:
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(what)
    return captured.get()


def revision(policy: str) -> dict[str, Any]:
    return {
        "suite_id": "e9ae7ffd11",
        "configuration": "cbd55fd2aa",
        "policy_version": policy,
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        "run_set": "june",
        "profile": "p0",
        "counts": {"expected": 12, "passed": 6, "decided": 12},
        "comparable": True,
        "reasons": [],
    }


def test_history_names_policies_where_one_is_not_the_usual() -> None:
    assert "policy" not in shown(history_table([revision("outcomes-1")]), 200)
    told = shown(history_table([revision("outcomes-1"), revision("team@0123456789ab")]), 200)
    assert [line.split()[6] for line in told.splitlines() if line.startswith(" 2026")] == [
        "outcomes-1",
        "team@0123456789ab",
    ]


def test_a_long_policys_name_takes_no_numbers_place() -> None:
    for width in (80, 100, 160):
        told = shown(history_table([revision("n" * 60 + "@0123456789ab")]), width)
        assert "50.0%" in told
        assert "100.0%" in told
        assert "".join(told.split()).count("n" * 15) >= 1


def test_a_move_shows_owners_and_verdicts() -> None:
    move = ClassMove(
        profile="p",
        before="out_of_memory",
        before_owner="model",
        before_verdict=False,
        after="out_of_memory",
        after_owner="infrastructure",
        after_verdict=None,
        cells=3,
    )
    told = shown(moves_table([move]), 120)
    assert "out_of_memory (model, fail)" in told
    assert "out_of_memory (infrastructure, no verdict)" in told


@pytest.mark.parametrize(
    ("unpriced", "nano", "told"),
    [
        (24, 0, ["24", "0.00", "—", "0.0%", "0/24"]),
        (18, 20_000_000, ["24", "0.00", "≥", "0.02", "USD", "25.0%", "6/24"]),
        (0, 0, ["24", "0.00", "0.00", "USD", "100.0%", "24/24"]),
    ],
)
def test_usage_tells_no_sum_of_costs_for_the_whole_where_some_are_not_known(
    unpriced: int, nano: int, told: list[str]
) -> None:
    row = UsageRow(key="opus", name="opus", attempts=24, sandbox_sec=0, cost_nano=nano, unpriced=unpriced)
    *_, line = shown(usage_table("profile", [row]), 100).strip().splitlines()
    assert line.split() == ["opus", *told]


@pytest.mark.parametrize(
    ("nano", "uncounted", "told"), [(0, 3, "≥ 0.00 USD"), (10**9, 3, "≥ 1.00 USD"), (0, 0, "0.00 USD")]
)
def test_a_quota_tells_a_month_of_costs_not_known_as_at_least_what_is(
    nano: int, uncounted: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    used = Used(evaluations_today=3, cost_month_nano=nano, sandboxes=0)
    _tell_allowance(Allowance(quota=Quota(), used=used, stored_bytes=None, over=(), uncounted=uncounted))
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines() if "a month" in line]
    assert [[part.strip() for part in line if part][1] for line in lines] == [told, told]
