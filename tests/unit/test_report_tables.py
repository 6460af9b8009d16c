"""Tables of history and of moves: what is told of policies, and that long names take no number's place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich.console import Console, RenderableType

from proctor.engine.reclassifying import ClassMove
from proctor.reports.tables import history_table, moves_table


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
