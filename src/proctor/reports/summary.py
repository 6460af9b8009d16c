"""A run set's end on one screen: its state, the leaderboard, classes, spend, and why rows are not comparable."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Protocol

from rich.text import Text

from proctor.engine.numbers import Rates, compare
from proctor.kernel.words import counted
from proctor.reports.formats import ago, percent, policy_words, spend
from proctor.reports.tables import classes_line, leaderboard_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rich.console import RenderableType

    from proctor.engine.gates import GateResult
    from proctor.engine.leaderboards import LeaderboardRow
    from proctor.engine.planning import RunSetRow
    from proctor.engine.reading import Progress

__all__ = ["Board", "spend_words", "summary"]

ALL_PAIRS: int = 5
"""Up to so many profiles every pair is compared; of more, neighbours only, as a page can't hold them all."""


class Board(Protocol):
    """What a summary is made of."""

    @property
    def run_set(self) -> RunSetRow:
        """The run set."""
        ...

    @property
    def rows(self) -> Sequence[LeaderboardRow]:
        """Its leaderboard."""
        ...

    @property
    def rates(self) -> Rates:
        """Of all its rows together."""
        ...

    @property
    def progress(self) -> Progress:
        """Its counts."""
        ...

    @property
    def reused(self) -> int:
        """Cells decided before it asked."""
        ...

    @property
    def oldest_reused(self) -> datetime | None:
        """When the oldest of those was decided."""
        ...

    @property
    def gate(self) -> GateResult:
        """What is known of its gate."""
        ...


def summary(board: Board) -> list[RenderableType]:
    """Everything, in the order a reader asks for it."""
    row, progress = board.run_set, board.progress
    state = f"{row.name} {row.state.replace('_', ' ')}" + (f": {row.reason}" if row.reason else "")
    verdicts = f"{progress.decided:,} of {counted(progress.expected, 'cell')} have a verdict"
    return [
        Text(" · ".join(filter(None, (state, verdicts, policy_words(row.policy_version))))),
        leaderboard_table(board.rows),
        classes_line(board.rows),
        *_spend(board),
        *_remarks(board.rows),
        *_gate(board.gate),
    ]


def _gate(gate: GateResult) -> list[Text]:
    """The gate in one word, a line for each check that is not met, and what came of each comparison."""
    if not gate.checks:
        return [Text(f"gate: {line}", style="yellow") for line in gate.lines]
    style = {True: "", False: "yellow"}
    shown = [check for check in gate.checks if check.line in gate.lines or check.measure == "against"]
    return [
        Text(f"gate {gate.state.value}", style=style[gate.state.value == "met"]),
        *(Text(f"gate: {check.line}", style=style[check.state.value == "met"]) for check in shown),
    ]


def spend_words(rows: Sequence[LeaderboardRow]) -> str:
    """New spend and what all results shown cost, for whoever shows a board."""
    used = [row.usage for row in rows]
    new = spend(
        [one.own_cost_nano for one in used],
        priced=sum(one.own_priced for one in used),
        attempts=sum(one.own_attempts for one in used),
    )
    shown = spend(
        [one.cost_nano for one in used],
        priced=sum(one.priced for one in used),
        attempts=sum(one.attempts for one in used),
    )
    return f"new spend {new}; all results shown cost {shown}"


def _spend(board: Board) -> list[Text]:
    if not board.reused:
        return []
    oldest = f", the oldest {ago(board.oldest_reused)}" if board.oldest_reused else ""
    cells = f"{board.reused:,} of {counted(board.progress.expected, 'cell')} decided earlier{oldest}"
    return [Text(f"{cells}; {spend_words(board.rows)}")]


def _remarks(rows: Sequence[LeaderboardRow]) -> list[Text]:
    lines = []
    for reason in dict.fromkeys(reason for row in rows for reason in row.reasons):
        who = [row.profile for row in rows if reason in row.reasons]
        names = "all profiles" if len(who) == len(rows) and len(rows) > 1 else ", ".join(who)
        lines.append(Text(f"not comparable ({names}): {reason}", style="yellow", no_wrap=False))
    lines.extend(
        Text(
            f"{row.profile}: {counted(row.other_trials, 'other complete trial')} of this configuration, "
            f"mean {percent(row.other_trials_mean)}",
            no_wrap=False,
        )
        for row in rows
        if row.other_trials
    )
    ties = _ties(rows)
    if ties:
        lines.append(Text(f"not distinguishable: {'; '.join(ties)}", no_wrap=False))
    return lines


def _ties(rows: Sequence[LeaderboardRow]) -> list[str]:
    """Pairs whose difference could be chance: all of few profiles, of many each with the next."""
    chosen = combinations(rows, 2) if len(rows) <= ALL_PAIRS else pairwise(rows)
    return [f"{one.profile} and {other.profile}" for one, other in chosen if _could_be_chance(one, other)]


def _could_be_chance(one: LeaderboardRow, other: LeaderboardRow) -> bool:
    found = compare(_means(one), _means(other))
    return found is None or not found.distinguishable


def _means(row: LeaderboardRow) -> dict[str, float]:
    return {task: tally.passed / tally.expected for task, tally in row.tasks.items() if tally.expected}
