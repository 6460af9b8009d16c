"""A suite's leaderboard over all its run sets: the newest row of each configuration, ranked where it may be.

Rows that are not comparable stand apart with their reasons and never get a rank. Ranks are intervals, as within one run
set: neighbours that the data can't tell apart share them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from proctor.engine.leaderboards import LeaderboardRow
from proctor.engine.numbers import Difference, TaskTally, compare, rank_intervals
from proctor.engine.planning import RunSetRow

__all__ = ["BoardRow", "Neighbours", "SuiteBoard", "suite_board"]


@dataclass(frozen=True, kw_only=True)
class BoardRow:
    """A row with the run set that it is from. ``row.rank``: among the ranked rows of the suite."""

    run_set: RunSetRow
    row: LeaderboardRow


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Two ranked rows that stand one below the other, by their places from 0; ``difference``: of upper minus lower."""

    upper: int
    lower: int
    difference: Difference | None
    distinguishable: bool


@dataclass(frozen=True, kw_only=True)
class SuiteBoard:
    """The rows that may be ranked, best first, the differences of neighbours, and the rows that may not."""

    suite_id: str
    run_sets: int
    """How many run sets were read: those that have the newest row of some configuration."""
    ranked: tuple[BoardRow, ...]
    neighbours: tuple[Neighbours, ...]
    others: tuple[BoardRow, ...]


def suite_board(suite_id: str, boards: Sequence[tuple[RunSetRow, Sequence[LeaderboardRow]]]) -> SuiteBoard:
    """Of each run set's rows, the newest run set first."""
    newest: dict[tuple[str, str], BoardRow] = {}
    for run_set, rows in boards:
        for row in rows:
            newest.setdefault((row.profile, row.configuration), BoardRow(run_set=run_set, row=row))
    ranked = _ranked([one for one in newest.values() if one.row.comparable])
    return SuiteBoard(
        suite_id=suite_id,
        run_sets=len(boards),
        ranked=tuple(ranked),
        neighbours=tuple(_neighbours(ranked)),
        others=tuple(_best_first(one for one in newest.values() if not one.row.comparable)),
    )


def _ranked(rows: Sequence[BoardRow]) -> list[BoardRow]:
    ordered = _best_first(rows)
    ranks = rank_intervals({str(place): _means(one.row) for place, one in enumerate(ordered)})
    return [replace(one, row=replace(one.row, rank=ranks[str(place)])) for place, one in enumerate(ordered)]


def _best_first(rows: Iterable[BoardRow]) -> list[BoardRow]:
    return sorted(rows, key=lambda one: (-(one.row.rates.strict or 0.0), one.row.profile, one.row.configuration))


def _neighbours(ranked: Sequence[BoardRow]) -> list[Neighbours]:
    found = []
    for (upper, one), (lower, other) in pairwise(enumerate(ranked)):
        seen = compare(_means(one.row), _means(other.row))
        apart = seen is not None and seen.distinguishable
        found.append(Neighbours(upper=upper, lower=lower, difference=seen, distinguishable=apart))
    return found


def _means(row: LeaderboardRow) -> dict[str, float]:
    return {task: _share(tally) for task, tally in row.tasks.items() if tally.expected}


def _share(tally: TaskTally) -> float:
    return tally.passed / tally.expected
