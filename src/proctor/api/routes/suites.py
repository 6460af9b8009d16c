"""Suites: immutable sets of tasks, and the labels that stand for them."""

from __future__ import annotations

import tempfile
from typing import IO, Annotated

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import Page, Paging
from proctor.api.threads import slowly
from proctor.engine.certificates.certificate import CheckVerdict
from proctor.engine.certificates.standing import Standing
from proctor.engine.suite_boards import SuiteBoard
from proctor.engine.task_names import matches
from proctor.identity.audit_log import Action
from proctor.identity.permissions import Permission
from proctor.suites.references import check_label
from proctor.suites.service import Alias, SuiteDetail, SuiteRow
from proctor.suites.uploads import loaded_upload

__all__ = ["router"]

router = APIRouter(tags=["suites"], route_class=Repeatable)
SuiteReference = Annotated[
    str, Path(min_length=1, max_length=200, description="An id, its first eight characters or more, or a label.")
]
_Reads = Annotated[Asked, needs(Permission.SUITES_READ)]
_Label = Annotated[str | None, Query(max_length=100, description="Only the one that this label stands for.")]


class SuiteLabelMove(BaseModel):
    """What the label stands for from now on."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"suite": "0a1b2c3d"}]})

    suite: str = Field(min_length=1, max_length=200)


@router.get("/suites", response_model=Page[SuiteRow])
def list_suites(asked: _Reads, paging: Paging, label: _Label = None) -> Response:
    """The newest first."""
    rows = [row for row in asked.client.suites() if label is None or label in row.aliases]
    return answered(paging.cut(rows, lambda row: row.suite_id))


@router.post(
    "/suites",
    status_code=201,
    response_model=SuiteDetail,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/x-tar": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def create_suite(
    request: Request,
    asked: Annotated[Asked, needs(Permission.SUITES_WRITE)],
    label: Annotated[str | None, Query(min_length=1, max_length=100, description="What stands for it.")] = None,
    source: Annotated[str, Query(max_length=500, description="Where it is from, for a reader.")] = "upload",
) -> Response:
    """Import a folder of tasks, sent as a tar. A suite is its content: the same again changes nothing."""
    with tempfile.TemporaryFile() as file:
        async for piece in request.stream():
            await anyio.to_thread.run_sync(file.write, piece)
        return await anyio.to_thread.run_sync(_imported, asked, file, label, source)


def _imported(asked: Asked, file: IO[bytes], label: str | None, source: str) -> Response:
    if label is not None:
        check_label(label)
    file.seek(0)
    client, tenant = asked.client, asked.tenant
    with loaded_upload(file) as loaded:
        suite_id = asked.platform.suites.import_suite(tenant, loaded, source=f"{asked.principal.name}: {source}")
    if label is not None:
        client.set_alias(label, suite_id)
    detail = answered(client.suite(suite_id), 201)
    return asked.noted(detail, Action.IMPORTED, suite_id, kind="suite", label=label)


@router.get("/suites/{suite}", response_model=SuiteDetail)
def show_suite(asked: _Reads, suite: SuiteReference) -> Response:
    """A suite with its tasks."""
    return answered(asked.client.suite(suite))


@router.get("/suites/{suite}/certificates", response_model=Page[Standing])
@slowly
def list_certificates(
    asked: _Reads,
    suite: SuiteReference,
    paging: Paging,
    task: Annotated[str | None, Query(max_length=200, description="Only those of tasks whose name fits.")] = None,
    verdict: Annotated[CheckVerdict | None, Query(description="Only those of this verdict.")] = None,
) -> Response:
    """What certificates say of its tasks on this machine, in the suite's order."""
    standings = asked.client.standings(asked.client.suite(suite).row.suite_id).values()
    found = [one for one in standings if verdict in (None, one.verdict) and (task is None or matches(one.name, task))]
    return answered(paging.cut(found, lambda one: one.content_digest))


@router.get("/suites/{suite}/leaderboard", response_model=SuiteBoard)
@slowly
def show_suite_leaderboard(asked: Annotated[Asked, needs(Permission.RUNS_READ)], suite: SuiteReference) -> Response:
    """The newest row of each configuration of the suite, ranked where they are comparable."""
    return answered(asked.client.suite_board(suite))


@router.get("/labels/suites", response_model=Page[Alias])
def list_suite_labels(
    asked: _Reads,
    paging: Paging,
    name: Annotated[str | None, Query(max_length=100, description="Only this label.")] = None,
) -> Response:
    """Every label of a suite with its history."""
    found = [one for one in asked.client.aliases() if name in (None, one.name)]
    return answered(paging.cut(found, lambda one: f"{one.name} {one.valid_from.isoformat()}"))


@router.put("/labels/suites/{label}")
def move_suite_label(
    asked: Annotated[Asked, needs(Permission.SUITES_WRITE)],
    label: Annotated[str, Path(min_length=1, max_length=100)],
    body: SuiteLabelMove,
) -> list[Alias]:
    """Let a label stand for a suite from now on."""
    client = asked.client
    client.set_alias(label, body.suite)
    return [alias for alias in client.aliases() if alias.name == label]
