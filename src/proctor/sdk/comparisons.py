"""Comparisons, labels of run sets, and gates that look at another run set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import Connection

from proctor.engine.comparing import compare_groups, couples_of
from proctor.engine.errors import NothingToCompare
from proctor.engine.gates import Against
from proctor.engine.kept_sides import with_tasks_kept
from proctor.engine.pair_segments import segments_of_pair
from proctor.engine.pairing import TasksAsked, paired_tasks, tasks_of_pair
from proctor.engine.pairs import Comparison, PairSegments, Side, TaskOfPair
from proctor.engine.sides import Reference, find_reference, read_heads, read_sides
from proctor.kernel.errors import UsageError
from proctor.suites import labels
from proctor.suites.labels import Alias

if TYPE_CHECKING:
    from proctor.app import Platform
    from proctor.engine.planning import RunSetRow
    from proctor.engine.spec import Gate

__all__ = [
    "against",
    "compare_references",
    "find",
    "label_run_set",
    "run_set_labels",
    "segments_of_comparison",
    "sides_of",
    "tasks_of_comparison",
]


def compare_references(
    platform: Platform, references: Sequence[str], *, alpha: float, base_only: bool, listed: int | None
) -> Comparison:
    """Every reference compared with every later one; ``base_only``: the first with each of the others.

    ``listed``: as of ``paired_tasks``.

    Raises ``NothingToCompare`` and what a reference can raise.
    """
    groups = platform.engine.read(lambda c: [_heads(c, platform.tenant, text) for text in references])
    kept = iter(with_tasks_kept(platform.engine.read, platform.tenant, [side for group in groups for side in group]))
    together = partial(paired_tasks, platform.engine.read, platform.tenant, listed=listed)
    sides = [[next(kept) for _ in group] for group in groups]
    return compare_groups(sides, alpha=alpha, together=together, base_only=base_only)


def _heads(connection: Connection, tenant: UUID, text: str) -> list[Side]:
    return read_heads(connection, tenant, find_reference(connection, tenant, text))


def tasks_of_comparison(platform: Platform, base: str, other: str, which: TasksAsked) -> list[TaskOfPair]:
    """Tasks of the first pair that two references make. Raises as ``compare_references`` does."""
    sides = _first_pair(platform, base, other)
    return platform.engine.read(lambda connection: tasks_of_pair(connection, platform.tenant, sides, which))


def segments_of_comparison(platform: Platform, base: str, other: str, *, alpha: float) -> PairSegments:
    """The segments of the first pair that two references make. Raises as ``compare_references`` does."""
    sides = _first_pair(platform, base, other)
    return platform.engine.read(lambda connection: segments_of_pair(connection, platform.tenant, sides, alpha=alpha))


def _first_pair(platform: Platform, base: str, other: str) -> tuple[Side, Side]:
    groups = platform.engine.read(lambda c: [_heads(c, platform.tenant, text) for text in (base, other)])
    couples, alone = couples_of(*groups)
    if not couples:
        raise NothingToCompare("; ".join(alone))
    a, b = with_tasks_kept(platform.engine.read, platform.tenant, couples[0])
    return a, b


def find(platform: Platform, text: str) -> Reference:
    """What a reference leads to. Raises ``LabelUnknown``, ``RunSetUnknown`` and ``ReferenceInvalid``."""
    return platform.engine.read(lambda connection: find_reference(connection, platform.tenant, text))


def sides_of(platform: Platform, row: RunSetRow) -> list[Side]:
    """All profiles of a run set with their tasks."""
    return _sides(platform, Reference(text=row.name, run_set=row, profile=None))


def _sides(platform: Platform, reference: Reference) -> list[Side]:
    tasks = {one.content_digest: one for one in platform.suites.tasks(platform.tenant, reference.run_set.suite_id)}
    return platform.engine.read(lambda connection: read_sides(connection, platform.tenant, reference, tasks))


def against(platform: Platform, row: RunSetRow, gate: Gate) -> Against | None:
    """What comes of a gate's ``against``; what stands in its way is said, not raised: a gate it leaves open."""
    if gate.against is None:
        return None
    try:
        theirs = find(platform, gate.against)
        if theirs.run_set.id == row.id and theirs.profile is None:
            return Against(same_run_set=True)
        mine = [side for side in sides_of(platform, row) if not gate.profiles or side.profile in gate.profiles]
        return Against(comparison=compare_groups([mine, _sides(platform, theirs)], alpha=gate.alpha))
    except NothingToCompare as error:
        return Against(problem=f"nothing to compare ({error.message.rstrip('.')})")
    except UsageError as error:
        return Against(problem=error.message.rstrip("."))


def label_run_set(platform: Platform, row: RunSetRow, name: str) -> None:
    """Let a label stand for a run set from now on; what it stood for before is kept. Raises ``AliasInvalid``."""

    def work(connection: Connection) -> None:
        labels.point(connection, platform.tenant, labels.RUN_SET, name, str(row.id), source="cli")

    platform.engine.read(work)


def run_set_labels(platform: Platform) -> list[Alias]:
    """Every label of a run set with its whole history."""
    return platform.engine.read(lambda c: labels.history(c, platform.tenant, labels.RUN_SET))
