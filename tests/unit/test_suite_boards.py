"""A suite's leaderboard: newest rows, ranks as intervals, what is not comparable apart; rates of profiles together."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from proctor.engine.leaderboards import LeaderboardRow, together
from proctor.engine.numbers import TaskTally, rates
from proctor.engine.planning import RunSetRow
from proctor.engine.suite_boards import suite_board
from tests.unit.boards import RUN_SET, SILENT


def run_set(number: int) -> RunSetRow:
    return replace(RUN_SET, id=UUID(int=number), name=f"nightly-{number}")


def row(profile: str, passed: str, *, configuration: str = "c", comparable: bool = True) -> LeaderboardRow:
    """``passed``: a task a letter, ``1`` passed, ``0`` failed, ``-`` owed."""
    tasks = {
        f"t{at}": TaskTally(expected=1, decided=int(seen != "-"), passed=int(seen == "1"))
        for at, seen in enumerate(passed)
    }
    return LeaderboardRow(
        profile=profile,
        series=profile,
        configuration=configuration,
        rates=rates([*tasks.values()]),
        mean_reward=None,
        rank=(1, 1),
        usage=SILENT,
        classes=(),
        comparable=comparable,
        reasons=() if comparable else ("coverage: 1 of 40 cells has no verdict",),
        other_trials=0,
        other_trials_mean=None,
        tasks=tasks,
    )


def test_rows_that_the_data_tell_apart_have_ranks_of_their_own_and_others_share_them() -> None:
    good, also, bad = row("good", "1" * 30 + "0" * 10), row("also", "1" * 29 + "0" * 11), row("bad", "0" * 40)
    board = suite_board("s", [(run_set(1), [bad, also, good])])
    assert [(one.row.profile, one.row.rank) for one in board.ranked] == [
        ("good", (1, 2)),
        ("also", (1, 2)),
        ("bad", (3, 3)),
    ]
    assert [one.distinguishable for one in board.neighbours] == [False, True]
    assert board.neighbours[1].difference is not None
    assert board.neighbours[1].difference.mean == 29 / 40


def test_the_newest_row_of_a_configuration_stands_for_it() -> None:
    newest, older = row("codex", "1100"), row("codex", "1111")
    other = row("codex", "1111", configuration="d")
    board = suite_board("s", [(run_set(2), [newest]), (run_set(1), [older, other])])
    assert [(one.run_set.name, one.row.rates.strict) for one in board.ranked] == [
        ("nightly-1", 1.0),
        ("nightly-2", 0.5),
    ]


def test_what_is_not_comparable_has_no_place_among_the_ranked() -> None:
    owed = row("owed", "1" * 39 + "-", comparable=False)
    board = suite_board("s", [(run_set(1), [owed, row("low", "1" + "0" * 39)])])
    assert [one.row.profile for one in board.ranked] == ["low"]
    assert [one.row.reasons for one in board.others] == [owed.reasons]


def test_profiles_together_are_clustered_by_their_tasks() -> None:
    same = [row("a", "1100" * 10), row("b", "1100" * 10)]
    one, both = same[0].rates, together(same)
    assert (both.counts.expected, both.strict, both.coverage) == (80, 0.5, 1.0)
    assert one.interval is not None
    assert both.interval is not None
    width = both.interval.high - both.interval.low
    assert abs(width - (one.interval.high - one.interval.low)) < 0.01, "the same tasks again are no new evidence"
    withdrawn = replace(same[0], rates=replace(one, counts=replace(one.counts, withdrawn=2)))
    assert together([withdrawn, same[1]]).counts.withdrawn == 2
