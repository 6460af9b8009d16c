"""Suites: immutable sets of tasks, and the labels that stand for them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import DEFAULT_PAGE, Fields, Limit, Page, PageCursor, page_of, place_of
from proctor.identity.permissions import Permission
from proctor.sdk.documents import document
from proctor.suites.service import Alias, SuiteDetail, SuiteRow

__all__ = ["router"]

router = APIRouter(tags=["suites"], route_class=Repeatable)
SuiteReference = Annotated[
    str, Path(min_length=1, max_length=200, description="An id, its first eight characters or more, or a label.")
]
_Reads = Annotated[Asked, needs(Permission.SUITES_READ)]


class SuiteLabelMove(BaseModel):
    """What the label stands for from now on."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"suite": "0a1b2c3d"}]})

    suite: str = Field(min_length=1, max_length=200)


@router.get("/suites", response_model=Page[SuiteRow])
def list_suites(
    asked: _Reads, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None, fields: Fields = None
) -> Response:
    """The newest first."""
    (after,) = place_of(cursor, str) or ("",)
    rows = asked.client.suites()
    ids = [row.suite_id for row in rows]
    begin = ids.index(after) + 1 if after in ids else 0
    found = rows[begin : begin + limit]
    return JSONResponse(page_of(found, limit=limit, place=lambda row: [row.suite_id], fields=fields))


@router.get("/suites/{suite}", response_model=SuiteDetail)
def show_suite(asked: _Reads, suite: SuiteReference) -> Response:
    """A suite with its tasks."""
    return JSONResponse(document(asked.client.suite(suite)))


@router.get("/labels/suites")
def list_suite_labels(asked: _Reads) -> list[Alias]:
    """Every label of a suite with its history."""
    return asked.client.aliases()


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
