"""Long work by its receipt: how far it is, what came of it, what it made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs, only_known, server_of
from proctor.api.idempotency import Repeatable
from proctor.api.lists import Page, Paging
from proctor.app import Server
from proctor.identity.permissions import Permission
from proctor.objects.store import StoredObject
from proctor.operations import service as operations
from proctor.operations.errors import DownloadUnknown
from proctor.operations.links import LONGEST_SEC, Link, read_link, sign_link
from proctor.operations.service import Operation, Receipt
from proctor.sdk.work import WorkKind

__all__ = ["router"]

router = APIRouter(tags=["operations"], route_class=Repeatable)
_Reads = Annotated[Asked, needs(Permission.RUNS_READ)]
_Fetches = Annotated[Asked, needs(Permission.EVIDENCE_READ)]
_BYTES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/gzip": {}}, "description": "A gzipped tar."}}


class LinkWanted(BaseModel):
    """For how long a link is to work."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"seconds": 600}]})

    seconds: int = Field(default=600, ge=1, le=LONGEST_SEC)


class DownloadLink(BaseModel):
    """A link that needs no key: whoever has it may fetch this download."""

    url: str = Field(description="Its path on this server.")
    expires_at: datetime


@router.get("/operations", response_model=Page[Receipt])
def list_operations(
    asked: _Reads,
    paging: Paging,
    state: Annotated[operations.State | None, Query(description="Only those in this state.")] = None,
    kind: Annotated[WorkKind | None, Query(description="Only work of this kind.")] = None,
) -> Response:
    """The newest first, without what was asked for and what came of it."""
    (before,) = paging.place(UUID) or (None,)
    found = asked.server.database.as_tenant(
        asked.tenant,
        lambda c: operations.list_operations(
            c, asked.tenant, state=state, kind=kind, before=before, limit=paging.limit
        ),
    )
    return answered(paging.page(found, lambda one: [one.id]))


@router.get("/operations/{operation}")
def show_operation(asked: _Reads, operation: UUID) -> Operation:
    """How far it is. `state` ends as done, failed or cancelled; ask again until then."""
    return asked.server.database.as_tenant(asked.tenant, lambda c: operations.find(c, asked.tenant, operation))


@router.post("/operations/{operation}/cancel")
def cancel_operation(asked: _Reads, operation: UUID) -> Operation:
    """End it: one's own, or anybody's for whoever may change results. What it did so far stays."""

    def work(connection: Connection) -> Operation:
        if operations.find(connection, asked.tenant, operation).actor != asked.principal.user:
            asked.principal.require(Permission.RESULTS_WRITE)
        return operations.cancel(connection, asked.tenant, operation)

    return asked.once(work)


@router.get("/operations/{operation}/download", response_class=StreamingResponse, responses=_BYTES)
def read_download(asked: _Fetches, operation: UUID) -> Response:
    """What it made. It is kept for a week."""
    return _sent(asked.server, operation, _download(asked.server, asked.tenant, operation))


@router.post("/operations/{operation}/download-link", status_code=201)
def create_download_link(asked: _Fetches, operation: UUID, body: LinkWanted) -> DownloadLink:
    """A link to it for a browser, which needs no key and works for an hour at the most."""
    _download(asked.server, asked.tenant, operation)
    until = (datetime.now(UTC) + timedelta(seconds=body.seconds)).replace(microsecond=0)
    link = Link(tenant=asked.tenant, operation=operation, until=until)
    return DownloadLink(url=f"/api/v1/downloads/{sign_link(link, asked.server.secret)}", expires_at=until)


links = APIRouter(tags=["open"])
"""What needs no key."""


@links.get("/downloads/{link}", response_class=StreamingResponse, responses=_BYTES, dependencies=[Depends(only_known)])
def read_linked_download(request: Request, link: Annotated[str, Path(max_length=200)]) -> Response:
    """What a link opens; whatever else it may be, the answer is the same 404."""
    server = server_of(request)
    opened = read_link(link, server.secret, now=datetime.now(UTC))
    return _sent(server, opened.operation, _download(server, opened.tenant, opened.operation))


def _download(server: Server, tenant: UUID, operation: UUID) -> StoredObject:
    """Raises ``DownloadUnknown``."""
    found = server.database.as_tenant(tenant, lambda c: operations.files_of(c, tenant, operation))
    if found is None:
        raise DownloadUnknown()
    return found


def _sent(server: Server, operation: UUID, stored: StoredObject) -> Response:
    headers = {
        "Content-Disposition": f'attachment; filename="proctor-{operation}.tar.gz"',
        "Content-Length": str(stored.size),
        "X-Content-SHA256": stored.sha256,
        "Cache-Control": "private, no-store",
    }
    return StreamingResponse(server.objects.stream(stored.key), media_type="application/gzip", headers=headers)
