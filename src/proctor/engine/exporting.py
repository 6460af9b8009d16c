"""What an export tells of each cell: the attempt it stands on, its evidence and the grading behind it. Reads only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.evidence import Evidence, Phase
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow, cells
from proctor.kernel.canonical import Json
from proctor.objects.store import StoredObject

__all__ = ["AttemptFacts", "Cursor", "ExportPage", "GradingRow", "OutcomeRow", "Try", "export_page"]

PAGE: int = 500
"""Cells of a page: with the most evidence that an attempt can have they take some 50 MB, usually a hundredth of it."""

Cursor = tuple[int, str, int, UUID]

_run = partial(run_query, "proctor.engine")


@dataclass(frozen=True, kw_only=True)
class OutcomeRow:
    """The class of an attempt under the run set's policy. ``verdict``: ``None`` is no verdict, which is not a fail."""

    outcome: str
    owner: str
    rule: str
    verdict: bool | None
    limit: str


@dataclass(frozen=True, kw_only=True)
class GradingRow:
    """The run of the verifier that an outcome rests on."""

    number: int
    mode: str
    forgeable: bool
    rewards: Mapping[str, float] | None
    detail: Mapping[str, Any]
    graded_at: datetime


@dataclass(frozen=True, kw_only=True)
class Try:
    """One ended attempt at a cell, in a line; ``outcome`` is ``None`` where the policy has said nothing of it."""

    attempt: UUID
    number: int
    outcome: str | None
    owner: str | None
    rule: str | None


@dataclass(frozen=True, kw_only=True)
class AttemptFacts:
    """The attempt that a cell stands on: the one its verdict rests on, else its last that ended."""

    id: UUID
    number: int
    started_at: datetime
    ended_at: datetime
    backend: str
    last_segment: int
    limits: Mapping[str, Json]
    usage: Mapping[str, int | None] | None
    artifacts: Mapping[str, StoredObject]
    outcome: OutcomeRow
    grading: GradingRow | None
    evidence: tuple[Evidence, ...]
    tries: tuple[Try, ...]


@dataclass(frozen=True, kw_only=True)
class ExportPage:
    """Cells in order, withdrawn ones too, with the attempt of each that has one; ``cursor`` as of ``CellPage``."""

    cells: tuple[tuple[CellRow, AttemptFacts | None], ...]
    cursor: Cursor | None


def export_page(
    connection: Connection, tenant: UUID, row: RunSetRow, *, after: Cursor | None = None, limit: int = PAGE
) -> ExportPage:
    """A page of a run set's cells with all that is to be told of each."""
    page = cells(connection, tenant, row, after=after, limit=limit)
    found = _attempts(connection, tenant, row, page.cells)
    return ExportPage(cells=tuple((cell, found.get(cell.cell)) for cell in page.cells), cursor=page.cursor)


def _attempts(
    connection: Connection, tenant: UUID, row: RunSetRow, page: Sequence[CellRow]
) -> dict[UUID, AttemptFacts]:
    tried = [(cell.cell, cell.attempt) for cell in page if cell.attempt is not None]
    rows = _run(
        connection,
        "attempts_to_export",
        tenant=tenant,
        policy=row.policy_version,
        cells=[cell for cell, _ in tried],
        attempts=[attempt for _, attempt in tried],
    )
    return {one.cell_id: _facts(one) for one in rows}


def _facts(row: Any) -> AttemptFacts:
    names: Mapping[str, Any] = row._mapping
    outcome = OutcomeRow(
        outcome=names["class"], owner=row.owner, rule=row.rule, verdict=row.verdict, limit=names["limit"]
    )
    return AttemptFacts(
        id=row.id,
        number=row.number,
        started_at=row.started_at,
        ended_at=row.ended_at,
        backend=row.backend,
        last_segment=row.last_segment,
        limits=row.limits,
        usage=row.usage,
        artifacts={one["name"]: _stored(one) for one in row.artifacts},
        outcome=outcome,
        grading=_grading(row),
        evidence=tuple(_evidence(one) for one in json.loads(row.evidence or "[]")),
        tries=tuple(_try(one) for one in row.tries),
    )


def _stored(artifact: Mapping[str, Any]) -> StoredObject:
    return StoredObject(key=artifact["key"], sha256=artifact["sha256"], size=artifact["size"])


def _grading(row: Any) -> GradingRow | None:
    if row.grading is None:
        return None
    return GradingRow(
        number=row.grading,
        mode=row.mode,
        forgeable=row.forgeable,
        rewards=row.rewards,
        detail=row.detail,
        graded_at=row.graded_at,
    )


def _evidence(item: Mapping[str, Any]) -> Evidence:
    return Evidence(
        phase=Phase(item["phase"]),
        seq=item["seq"],
        started_at=datetime.fromisoformat(item["started_at"]),
        ended_at=datetime.fromisoformat(item["ended_at"]),
        detail=item["detail"],
    )


def _try(item: Mapping[str, Any]) -> Try:
    return Try(
        attempt=UUID(item["attempt"]),
        number=item["number"],
        outcome=item["class"],
        owner=item["owner"],
        rule=item["rule"],
    )
