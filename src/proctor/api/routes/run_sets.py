"""Run sets: what there is, how far it is, what came out."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import DEFAULT_PAGE, Fields, Limit, Page, PageCursor, page_of, place_of
from proctor.engine.pairs import Comparison
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow, RunSetStatus, Stall
from proctor.engine.spec import Gate
from proctor.identity.audit_log import Action, note
from proctor.identity.permissions import Permission
from proctor.sdk.client import Leaderboard
from proctor.sdk.documents import document
from proctor.suites.service import Alias

__all__ = ["router"]

router = APIRouter(tags=["run sets"], route_class=Repeatable)
RunSetReference = Annotated[str, Path(min_length=1, max_length=200, description="A name, an id, or its beginning.")]
_Reads = Annotated[Asked, needs(Permission.RUNS_READ)]
_Writes = Annotated[Asked, needs(Permission.RUNS_WRITE)]


class CellsOfRunSet(BaseModel):
    """A page of cells with what their numbers and digests stand for."""

    run_set: RunSetRow
    items: list[CellRow]
    next: str | None = Field(description="The cursor of the next page; null at the end.")
    profiles: dict[int, str]
    tasks: dict[str, str] = Field(description="Names by content digest, of this page's tasks.")


class LabelMove(BaseModel):
    """What the label stands for from now on."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"run_set": "nightly"}]})

    run_set: str = Field(min_length=1, max_length=200)


@router.get("/run-sets", response_model=Page[RunSetRow])
def list_run_sets(
    asked: _Reads,
    state: Annotated[str | None, Query(max_length=40, description="Only those in this state.")] = None,
    name: Annotated[str | None, Query(max_length=100, description="Only those of this name.")] = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
    fields: Fields = None,
) -> Response:
    """The newest first."""
    before = place_of(cursor, UUID)
    found = asked.client.run_sets(state=state, name=name, before=before[0] if before else None, limit=limit)
    return JSONResponse(page_of(found, limit=limit, place=lambda row: [row.id], fields=fields))


@router.get("/run-sets/{run_set}")
def show_run_set(asked: _Reads, run_set: RunSetReference) -> RunSetStatus:
    """One run set: its progress and what its cells wait for."""
    return asked.client.status(run_set)


@router.get("/run-sets/{run_set}/leaderboard", response_model=Leaderboard)
def show_leaderboard(
    asked: _Reads,
    run_set: RunSetReference,
    strict: Annotated[float | None, Query(ge=0, le=1, description="Judge by this gate instead of the file's.")] = None,
) -> Response:
    """Strict, graded, coverage and bounds of each profile, with all that it takes to believe them."""
    gate = None if strict is None else Gate(strict=strict)
    return JSONResponse(document(asked.client.leaderboard(run_set, gate=gate)))


@router.get("/run-sets/{run_set}/cells", response_model=CellsOfRunSet)
def list_cells(
    asked: _Reads,
    run_set: RunSetReference,
    outcome: Annotated[str | None, Query(max_length=60, description="Only those of this class.")] = None,
    profile: Annotated[str | None, Query(max_length=100, description="Only those of this profile.")] = None,
    task: Annotated[str | None, Query(max_length=200, description="Only those whose task's name fits.")] = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
    fields: Fields = None,
) -> Response:
    """The run set's cells."""
    after = place_of(cursor, int, str, int, UUID)
    row, page, profiles, tasks = asked.client.cells(
        run_set, outcome=outcome, profile=profile, task=task, after=after, limit=limit
    )
    told = page_of(page.cells, limit=limit, place=_place, fields=fields)
    named = {cell.content_digest: tasks[cell.content_digest] for cell in page.cells}
    return JSONResponse({"run_set": document(row), **told, "profiles": document(profiles), "tasks": named})


def _place(cell: CellRow) -> list[object]:
    return [cell.profile, cell.content_digest, cell.trial, cell.cell]


@router.get("/run-sets/{run_set}/profiles", response_model=list[dict[str, Any]])
def list_profiles(asked: _Reads, run_set: RunSetReference) -> Response:
    """The run set's profiles with their configuration documents."""
    return JSONResponse(document(asked.client.profiles(run_set)))


@router.get("/run-sets/{run_set}/running", response_model=list[dict[str, Any]])
def list_running(asked: _Reads, run_set: RunSetReference) -> Response:
    """Attempts that run now, the longest-running first."""
    return JSONResponse(document(asked.client.running(asked.client.find(run_set))))


@router.get("/run-sets/{run_set}/stalled")
def list_stalled(asked: _Reads, run_set: RunSetReference) -> list[Stall]:
    """Attempts that have made no progress for the time that the settings say."""
    return asked.client.stalled(asked.client.find(run_set))


@router.get("/run-sets/{run_set}/gate", response_model=Gate)
def show_gate(asked: _Reads, run_set: RunSetReference) -> Gate:
    """The gate of the run set's file."""
    return asked.client.gate(run_set)


@router.post("/run-sets/{run_set}/pause")
def pause_run_set(asked: _Writes, run_set: RunSetReference) -> RunSetRow:
    """Start no more of its cells; running ones finish."""
    return _controlled(asked, asked.client.pause(run_set), "pause")


@router.post("/run-sets/{run_set}/cancel")
def cancel_run_set(asked: _Writes, run_set: RunSetReference) -> RunSetRow:
    """End it; its cells stay owed."""
    return _controlled(asked, asked.client.cancel(run_set), "cancel")


def _controlled(asked: Asked, row: RunSetRow, how: str) -> RunSetRow:
    asked.server.database.as_tenant(
        asked.tenant,
        lambda c: note(c, asked.tenant, asked.actor, Action.RUN_SET_CONTROLLED, str(row.id), how=how),
    )
    return row


@router.get("/series/{series}/history", response_model=list[dict[str, Any]])
def show_history(asked: _Reads, series: Annotated[str, Path(min_length=1, max_length=200)]) -> Response:
    """Every leaderboard revision of a series, oldest first."""
    return JSONResponse(document(asked.client.history(series)))


@router.get("/comparisons", response_model=Comparison)
def compare(
    asked: _Reads,
    side: Annotated[list[str], Query(min_length=1, max_length=20, description="RUN_SET[:PROFILE] or label:NAME.")],
    alpha: Annotated[float, Query(gt=0, lt=1)] = 0.05,
) -> Response:
    """Profiles or run sets, task by task: the differences with their intervals."""
    return JSONResponse(document(asked.client.compare(side, alpha=alpha)))


@router.get("/labels/run-sets")
def list_run_set_labels(asked: _Reads) -> list[Alias]:
    """Every label of a run set with its history."""
    return asked.client.labels()


@router.put("/labels/run-sets/{label}")
def move_run_set_label(
    asked: _Writes, label: Annotated[str, Path(min_length=1, max_length=100)], body: LabelMove
) -> RunSetRow:
    """Let a label stand for a run set from now on."""
    return asked.client.label(body.run_set, label)
