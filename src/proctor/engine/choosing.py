"""Which owed cells of a run set somebody means, to have just these tried again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from uuid import UUID

from sqlalchemy import Connection

from proctor.engine import reading
from proctor.engine.errors import SpecInvalid
from proctor.engine.planning import RunSetRow
from proctor.engine.task_names import task_digests
from proctor.engine.tries import standing_of
from proctor.suites.service import TaskName, names_of

__all__ = ["CellChoice", "owed_cells", "position_of"]

_PAGE: int = 10_000


@dataclass(frozen=True, kw_only=True)
class CellChoice:
    """Of a run set's owed cells those that fit all that is said here; nothing said: all."""

    outcomes: tuple[str, ...] = ()
    """The classes of their last attempts, ``not_started`` among them."""
    profiles: tuple[str, ...] = ()
    """Those of any of these."""
    tasks: tuple[str, ...] = ()
    """Shell patterns of tasks' names: those that one of them fits."""
    cell: str | None = None
    """An id, or the beginning of one."""


def owed_cells(connection: Connection, tenant: UUID, row: RunSetRow, choice: CellChoice) -> frozenset[UUID]:
    """The ids of the owed cells that are meant. Raises ``CellUnknown``, ``NoTaskFits``, ``SpecInvalid`` (a profile)."""
    named = None if choice.cell is None else standing_of(connection, tenant, row, choice.cell).cell
    found = _owed(connection, tenant, row, choice)
    return frozenset(one.cell for one in found if named is None or one.cell == named.cell)


def _owed(connection: Connection, tenant: UUID, row: RunSetRow, choice: CellChoice) -> Iterator[reading.CellRow]:
    profiles = reading.profile_names(connection, tenant, row.id)
    positions = [position_of(profiles, name) for name in dict.fromkeys(choice.profiles)]
    tasks = _digests(names_of(connection, tenant, row.suite_id), choice.tasks) if choice.tasks else None
    for outcome, profile in product(choice.outcomes or (None,), positions or (None,)):
        after = None
        while True:
            page = reading.cells(
                connection, tenant, row, outcome_class=outcome, profile=profile, tasks=tasks, after=after, limit=_PAGE
            )
            yield from (one for one in page.cells if one.verdict is None and one.withdrawn is None)
            if (after := page.cursor) is None:
                break


def _digests(names: Sequence[TaskName], patterns: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(digest for pattern in patterns for digest in task_digests(names, pattern)))


def position_of(profiles: Mapping[int, str], name: str | None) -> int | None:
    """Where a profile of that name stands; ``None`` without one. Raises ``SpecInvalid``."""
    if name is None:
        return None
    for position, known in profiles.items():
        if known == name:
            return position
    raise SpecInvalid(f"There is no profile {name!r}; there are {', '.join(profiles.values())}.", where="profile")
