"""Cells of a run set: all at once for a picture, and one with every attempt at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from proctor.app import Platform
from proctor.engine import matrices, reading
from proctor.engine.planning import RunSetRow
from proctor.engine.tries import CellStanding, Tried, standing_of, tries_at
from proctor.reports.why import why

__all__ = ["CellAttempt", "CellCalls", "CellDetail"]


@dataclass(frozen=True, kw_only=True)
class CellAttempt:
    """An attempt at a cell, and why it came to what it came to."""

    id: UUID
    number: int
    run_set: UUID
    """The one that pays for it: a cell is shared by all run sets that ask for it."""
    cell: UUID
    """Another one where the verdict was taken over from it by a regrade."""
    outcome: str | None
    owner: str | None
    rule: str | None
    verdict: bool | None
    limit: str | None
    why: str
    phase: str
    """Which it has come to, where it runs."""
    backend: str
    started_at: datetime
    ended_at: datetime | None
    seconds: float | None
    cost_nano: int | None


@dataclass(frozen=True, kw_only=True)
class CellDetail(CellStanding):
    """A cell as a run set sees it, with every attempt at it."""

    run_set: RunSetRow
    attempts: Sequence[CellAttempt]
    """The oldest first."""


class CellCalls:
    """What the client answers of cells."""

    _platform: Platform

    def matrix(self, reference: str | None) -> matrices.Matrix:
        """All cells of a run set as columns, with the event from which on to follow them."""
        tenant = self._platform.tenant
        return self._platform.engine.read(lambda c: matrices.matrix(c, tenant, reference))

    def matrix_ids(self, reference: str | None) -> matrices.MatrixIds:
        """The ids of the cells of a run set's matrix, in its order."""
        tenant = self._platform.tenant
        return self._platform.engine.read(lambda c: matrices.matrix_ids(c, tenant, reference))

    def cell(self, reference: str | None, cell: str) -> CellDetail:
        """A cell of a run set by its id or the beginning of one, with all attempts at it. Raises ``CellUnknown``."""
        tenant = self._platform.tenant

        def work(connection: Connection) -> CellDetail:
            row = reading.find_run_set(connection, tenant, reference)
            standing = standing_of(connection, tenant, row, cell)
            attempts = [_attempt(one) for one in tries_at(connection, tenant, row, standing.cell.cell)]
            running = any(one.ended_at is None for one in attempts)
            told = {**vars(standing), "given_up": standing.given_up and not running}
            return CellDetail(run_set=row, attempts=attempts, **told)

        return self._platform.engine.read(work)


def _attempt(one: Tried) -> CellAttempt:
    return CellAttempt(
        id=one.id,
        number=one.number,
        run_set=one.run_set_id,
        cell=one.cell_id,
        outcome=one.outcome,
        owner=one.owner,
        rule=one.rule,
        verdict=one.verdict,
        limit=one.limit,
        why=_why(one),
        phase=one.phase if one.ended_at is None else "",
        backend=one.backend,
        started_at=one.started_at,
        ended_at=one.ended_at,
        seconds=None if one.ended_at is None else (one.ended_at - one.started_at).total_seconds(),
        cost_nano=(one.usage or {}).get("cost_nano"),
    )


def _why(one: Tried) -> str:
    if one.ended_at is not None and one.outcome is None:
        return "no outcome by this run set's policy"
    return why(one.outcome, one.rule, one.phase, one.evidence, one.graded, one.rewards)
