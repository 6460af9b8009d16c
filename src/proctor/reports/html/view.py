"""A board made ready to draw: profiles and tasks in the order they are shown in, and the cells between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.engine.leaderboards import LeaderboardRow
from proctor.engine.numbers import TaskTally
from proctor.engine.reading import CellRow
from proctor.reports.html.markup import link
from proctor.reports.html.palette import css_class
from proctor.reports.summary import Board

__all__ = ["ProfileView", "TaskView", "View", "kind_of", "standing", "view_of"]


@dataclass(frozen=True, kw_only=True)
class ProfileView:
    """A profile: its position in the run set is its anchor, its row is there if the leaderboard has one."""

    position: int
    name: str
    row: LeaderboardRow | None
    cells: Mapping[str, Sequence[CellRow]]
    """Its cells by content digest, in the order of trials."""

    @property
    def anchor(self) -> str:
        """The id of its cells in the page."""
        return f"p{self.position}"


@dataclass(frozen=True, kw_only=True)
class TaskView:
    """A task with its tally over all profiles."""

    number: int
    digest: str
    name: str
    tally: TaskTally

    @property
    def anchor(self) -> str:
        """The id of its cells in the page."""
        return f"t{self.number}"


@dataclass(frozen=True, kw_only=True)
class View:
    """Everything a page is drawn from."""

    board: Board
    profiles: Sequence[ProfileView]
    tasks: Sequence[TaskView]
    drawn: int
    total: int
    """Cells there are, withdrawn ones too: above ``drawn`` where the page shows only some."""
    anchors: frozenset[str]
    """Ids that the page has: what a number may link to."""

    def link(self, target: str, label: str) -> str:
        """A link to cells if the page shows them, else the label alone."""
        return link(target, label) if target in self.anchors else label


def view_of(board: Board, cells: Sequence[CellRow], profiles: Mapping[int, str], tasks: Mapping[str, str]) -> View:
    """Profiles as the leaderboard ranks them; tasks from the easiest to the hardest."""
    withdrawn = sum(row.rates.counts.withdrawn for row in board.rows)
    shown = _tasks(board.rows, cells, tasks)
    return View(
        board=board,
        profiles=_profiles(board.rows, cells, profiles),
        tasks=shown,
        anchors=_anchors(cells, shown),
        drawn=len(cells),
        total=max(len(cells), board.progress.expected + withdrawn),
    )


def kind_of(cell: CellRow) -> str:
    """The class that a cell is drawn in: its outcome's, or what it is instead of one."""
    if cell.withdrawn is not None:
        return "withdrawn"
    return cell.outcome or "not_started"


def standing(cell: CellRow) -> str:
    """``decided``, ``owed`` or ``withdrawn``."""
    if cell.withdrawn is not None:
        return "withdrawn"
    return "owed" if cell.verdict is None else "decided"


def _anchors(cells: Sequence[CellRow], tasks: Sequence[TaskView]) -> frozenset[str]:
    numbers = {task.digest: task.anchor for task in tasks}
    found: set[str] = set()
    for cell in cells:
        kinds = (css_class(kind_of(cell)), standing(cell))
        found.update(f"{scope}-{kind}" for scope in ("only", f"p{cell.profile}") for kind in kinds)
        found.update((f"p{cell.profile}", numbers[cell.content_digest]))
    return frozenset(found)


def _profiles(rows: Sequence[LeaderboardRow], cells: Sequence[CellRow], names: Mapping[int, str]) -> list[ProfileView]:
    groups: dict[int, dict[str, list[CellRow]]] = defaultdict(lambda: defaultdict(list))
    for cell in sorted(cells, key=lambda one: one.trial):
        groups[cell.profile][cell.content_digest].append(cell)
    ranks = {row.profile: rank for rank, row in enumerate(rows)}
    named = {position: names.get(position, f"profile {position}") for position in {*names, *groups}}
    order = sorted(named, key=lambda position: (ranks.get(named[position], len(ranks)), position))
    by_name = {row.profile: row for row in rows}
    return [
        ProfileView(
            position=position,
            name=named[position],
            row=by_name.get(named[position]),
            cells=groups.get(position, {}),
        )
        for position in order
    ]


def _tasks(rows: Sequence[LeaderboardRow], cells: Sequence[CellRow], names: Mapping[str, str]) -> list[TaskView]:
    tallies = {digest: TaskTally(expected=0, decided=0, passed=0) for digest in {cell.content_digest for cell in cells}}
    for row in rows:
        for digest, tally in row.tasks.items():
            tallies[digest] = _plus(tallies.get(digest, TaskTally(expected=0, decided=0, passed=0)), tally)
    named = [(names.get(digest, digest[:12]), digest, tally) for digest, tally in tallies.items()]
    named.sort(key=lambda one: (-(one[2].passed / one[2].expected) if one[2].expected else 1, one[0], one[1]))
    return [
        TaskView(number=number, digest=digest, name=name, tally=tally)
        for number, (name, digest, tally) in enumerate(named)
    ]


def _plus(one: TaskTally, other: TaskTally) -> TaskTally:
    return TaskTally(
        expected=one.expected + other.expected,
        decided=one.decided + other.decided,
        passed=one.passed + other.passed,
    )
