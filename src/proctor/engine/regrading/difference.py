"""What a regrade changed, task by task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from proctor.engine.regrading.candidates import Candidate
from proctor.engine.regrading.grader import Regraded

__all__ = ["Flip", "RegradedTask", "by_task"]


@dataclass(frozen=True, kw_only=True)
class Flip:
    """A cell whose verdict is another now; ``before`` is ``None`` where it had none."""

    cell: UUID
    attempt: UUID
    profile: str
    trial: int
    before: bool | None
    after: bool | None
    """``None``: the verifier has no verdict for it now."""


@dataclass(frozen=True, kw_only=True)
class RegradedTask:
    """One task's difference, in cells. ``flips``: cells whose verdict is another now, passed first."""

    task: str
    cells: int
    passed_before: int
    passed_after: int
    undecided: int
    flips: tuple[Flip, ...]


def by_task(done: Sequence[Regraded]) -> list[RegradedTask]:
    """What changed, by the tasks' names."""
    grouped: dict[str, list[Regraded]] = defaultdict(list)
    for one in done:
        grouped[one.candidate.task.name].append(one)
    return [_task(name, grouped[name]) for name in sorted(grouped)]


def _task(name: str, done: Sequence[Regraded]) -> RegradedTask:
    flips = [_flip(one.candidate, one.after) for one in done if one.after is not one.candidate.before]
    return RegradedTask(
        task=name,
        cells=len(done),
        passed_before=sum(one.candidate.before is True for one in done),
        passed_after=sum(one.after is True for one in done),
        undecided=sum(one.after is None for one in done),
        flips=tuple(sorted(flips, key=lambda flip: (not flip.after, flip.profile, flip.trial))),
    )


def _flip(candidate: Candidate, after: bool | None) -> Flip:
    return Flip(
        cell=candidate.cell,
        attempt=candidate.attempt,
        profile=candidate.profile,
        trial=candidate.trial,
        before=candidate.before,
        after=after,
    )
