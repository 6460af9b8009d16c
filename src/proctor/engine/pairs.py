"""What is compared, and what a comparison says: the two sides with their cells, a pair, all pairs. Plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from proctor.analysis.intervals import Interval
from proctor.analysis.significance import PairedTest
from proctor.kernel.canonical import Json

__all__ = [
    "CellCounts",
    "Comparison",
    "Cost",
    "Extreme",
    "FieldDifference",
    "KeptTasks",
    "Pair",
    "PairSegments",
    "PairedTasks",
    "Segment",
    "SegmentField",
    "Side",
    "SideSummary",
    "StrictDifference",
    "Tally",
    "TaskCells",
    "TaskCost",
    "TaskCounts",
    "TaskKey",
    "TaskOfPair",
    "Unpaired",
]

TaskKey = tuple[str, str]
"""A task's agent-visible digest and its verifier digest."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Cells of one task that ended alike. ``withdrawn``: why they no longer count; ``verdict`` ``None``: none yet."""

    outcome: str
    owner: str
    verdict: bool | None
    cells: int
    withdrawn: str | None = None


@dataclass(frozen=True)
class CellCounts:
    """Cells of one task on one side: those that count, those with a verdict, those that passed."""

    expected: int
    decided: int
    passed: int

    @property
    def whole(self) -> bool:
        """Whether it has cells, and each has a verdict."""
        return 0 < self.expected == self.decided


@dataclass(frozen=True, kw_only=True)
class TaskCells:
    """One task's cells on one side. ``cost_nano``: of all attempts behind them, ``None`` unless all told it."""

    name: str
    tallies: tuple[Tally, ...]
    cost_nano: int | None = None
    seconds: float | None = None

    @property
    def expected(self) -> int:
        """Cells that count."""
        return sum(one.cells for one in self.tallies if one.withdrawn is None)

    @property
    def decided(self) -> int:
        """Cells with a verdict."""
        return sum(one.cells for one in self.tallies if one.withdrawn is None and one.verdict is not None)

    @property
    def passed(self) -> int:
        """Cells that passed."""
        return sum(one.cells for one in self.tallies if one.withdrawn is None and one.verdict)

    @property
    def counts(self) -> CellCounts:
        """All three."""
        return CellCounts(self.expected, self.decided, self.passed)

    @property
    def gaps(self) -> tuple[Tally, ...]:
        """Cells that have no verdict, or were withdrawn."""
        return tuple(one for one in self.tallies if one.withdrawn is not None or one.verdict is None)


@dataclass(frozen=True, kw_only=True)
class Side:
    """One profile of one run set, ready to be compared. ``reference``: what the user called it."""

    reference: str
    run_set: UUID
    name: str
    profile: str
    configuration: str
    document: Mapping[str, Json]
    policy_version: str
    tasks: Mapping[TaskKey, TaskCells]
    cells: str
    """The same for two sides only if they stand for the very same cells."""
    position: int = 0
    """Of its profile in the run set's file."""
    kept: KeptTasks | None = None
    """Its tasks where they are stored, if they were not read."""


@dataclass(frozen=True, kw_only=True)
class TaskCost:
    """What a task costs a profile with all attempts behind its cells, in nano-dollars: the mean over tasks that are
    known, with its 95 % interval."""

    tasks: int
    """Of which every attempt told its cost."""
    unknown: int
    """Of which some attempt did not: they are no part of the mean."""
    mean_nano: float | None
    interval: Interval | None
    """``None`` from under two tasks."""


@dataclass(frozen=True, kw_only=True)
class KeptTasks:
    """A side's tasks, counted and kept where they are stored."""

    id: UUID
    cost: TaskCost


@dataclass(frozen=True, kw_only=True)
class PairedTasks:
    """Two sides' tasks put together, as the statistics need them. What is paired has a verdict on both sides."""

    groups: Mapping[tuple[CellCounts | None, CellCounts | None], int]
    """How many tasks have these counts on one side and these on the other; ``None``: it is not there."""
    ordered: Callable[[], Sequence[tuple[CellCounts, CellCounts]]]
    """The counts of the tasks that are expected on both sides, in the order of their keys: signs are drawn in it."""
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    cost: tuple[int | None, int | None]
    """Of the paired tasks; ``None`` unless all told it."""
    by_task: tuple[TaskCost | None, TaskCost | None]
    """Of all tasks of each side."""
    unpaired: tuple[Unpaired, ...]
    unpaired_cells: int
    """Of all of them, also those that are not listed."""


@dataclass(frozen=True, kw_only=True)
class SideSummary:
    """A side as a comparison names it; its means are over the paired tasks."""

    title: str
    run_set: UUID
    name: str
    """Of the run set."""
    profile: str
    configuration: str
    policy_version: str
    mean: float | None
    decided: int
    """Cells with a verdict on the paired tasks."""
    interval: Interval | None = None
    """95 % interval of the rate over those cells, clustered by task."""
    cost: TaskCost | None = None
    """Of all tasks of this side, paired or not; ``None`` where nobody asked."""


@dataclass(frozen=True, kw_only=True)
class StrictDifference:
    """a minus b of the strict rates, over the tasks expected on both sides: what has no verdict did not pass."""

    tasks: int
    a: float
    """The mean over these tasks of the share of expected cells that passed."""
    b: float
    difference: float
    interval: Interval | None
    """95 %; ``None`` for under two tasks."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What the paired tasks cost on both sides, in nano-dollars; unknown stays unknown."""

    a_nano: int | None
    b_nano: int | None
    difference_nano: int | None
    a_cells: int
    b_cells: int


@dataclass(frozen=True, kw_only=True)
class FieldDifference:
    """A configuration field that is not the same on both sides; ``field`` is its path."""

    field: str
    a: Json
    b: Json


@dataclass(frozen=True, kw_only=True)
class Unpaired:
    """Cells of one task that stand on one side only, and why. ``side`` is the one that lacks something."""

    task: str
    side: str
    cells: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Extreme:
    """What the comparison becomes if every missing verdict falls one way."""

    difference: float
    p: float


@dataclass(frozen=True, kw_only=True)
class TaskCounts:
    """How many tasks a pair has of each kind. Where a cell has no verdict, or a side no cell, nothing is compared."""

    better: int = 0
    """b passes a larger share of its trials."""
    worse: int = 0
    both_pass: int = 0
    both_fail: int = 0
    mixed: int = 0
    """The same share on both sides, neither all nor none."""
    owed: int = 0
    """A verdict is missing, or the task is on one side only."""


@dataclass(frozen=True, kw_only=True)
class TaskOfPair:
    """One task on both sides. ``difference``: of the shares that passed, b minus a; ``None`` unless both are whole."""

    task: str
    content: str
    """Its content digest, the base's where both sides have it."""
    kind: str
    a: CellCounts | None
    b: CellCounts | None
    difference: float | None
    cost_nano: int | None
    """b minus a, of all attempts; ``None`` unless all told it."""
    seconds: float | None

    @property
    def place(self) -> tuple[float, str, str]:
        """Where it stands among them all: the largest difference first, then by name."""
        return abs(self.difference or 0.0), self.task, self.content


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two profiles compared. ``difference`` is a minus b of the graded rates; ``finding`` says what follows from it."""

    a: SideSummary
    b: SideSummary
    tasks: int
    difference: float | None
    interval: Interval | None
    test: PairedTest | None
    p_adjusted: float | None
    strict: StrictDifference | None
    """``None`` where no task is expected on both sides."""
    worst: Extreme | None
    """Missing verdicts of a failing and of b passing; ``None`` where no task is on both sides."""
    best: Extreme | None
    finding: str
    claim: str
    fields: tuple[FieldDifference, ...]
    only_a: tuple[str, ...]
    """Tasks that a solves (more than half of its trials) and b does not; as many as were asked for, by name."""
    only_b: tuple[str, ...]
    cost: Cost
    unpaired: tuple[Unpaired, ...]
    """Cells that were left out; of each side as many entries as were asked for, by the names of their tasks."""
    unpaired_cells: int
    """All that were left out, listed or not."""
    kinds: TaskCounts
    same_cells: bool = False
    """One side shows again what the other has: no test, and no part in the adjustment of the others' p."""


SegmentField = Literal["difficulty", "category"]
"""What a task's author says of it in its metadata, and tasks are put together by."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """The tasks of a pair of which ``field`` says ``label``, compared. ``difference`` is a minus b, as a pair's."""

    field: SegmentField
    label: str
    tasks: int
    """With a verdict on both sides: what the means, the difference and the test are over."""
    a: float | None
    b: float | None
    difference: float | None
    interval: Interval | None
    test: PairedTest | None
    p_adjusted: float | None
    """After Holm over all segments of the answer."""
    finding: str
    kinds: TaskCounts


@dataclass(frozen=True, kw_only=True)
class PairSegments:
    """A pair by what its tasks' authors say of them, the largest segments of each field first."""

    a: str
    b: str
    alpha: float
    segments: tuple[Segment, ...]
    unlabelled: Mapping[SegmentField, int]
    """Tasks of which the field says nothing."""
    left_out: Mapping[SegmentField, int]
    """Segments beyond the most that are compared."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Every pair that was compared, its p values adjusted together, and the profiles that had no partner."""

    alpha: float
    pairs: tuple[Pair, ...]
    without_partner: tuple[str, ...] = ()

    @property
    def tests(self) -> int:
        """How many pairs were tested, and so adjusted together."""
        return sum(pair.test is not None for pair in self.pairs)
