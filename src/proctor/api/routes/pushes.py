"""Run sets of other installations, taken over: begun, their objects sent by digest, their cells, completed."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path as FilePath
from typing import Annotated, Any
from uuid import UUID

import anyio.to_thread
from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.threads import slowly
from proctor.engine.planning import RunSetRow
from proctor.engine.pushes.records import Digest, PushedCell, PushManifest
from proctor.engine.pushes.taking import PushContradicts
from proctor.identity.audit_log import Action
from proctor.identity.permissions import Permission
from proctor.sdk import pushes
from proctor.sdk.pushes import TakenPage

__all__ = ["router"]

router = APIRouter(tags=["pushes"], route_class=Repeatable)
_Writes = Annotated[Asked, needs(Permission.RESULTS_WRITE)]
_OCTETS = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": _OCTETS}}


class ObjectsAsked(BaseModel):
    """Objects by digest."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"sha256": ["0" * 64]}]})

    sha256: list[Digest] = Field(max_length=1000)


class ObjectsMissing(BaseModel):
    """Those that have to be sent."""

    missing: list[str]


class CellsPushed(BaseModel):
    """A page of cells with their attempts."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"cells": [{"profile": "noop", "task": "0" * 64, "place": 1, "attempts": []}]}]
        },
    )

    cells: list[PushedCell] = Field(min_length=1, max_length=1000)


@router.post("/pushes", status_code=201)
@slowly
def create_push(asked: _Writes, body: PushManifest) -> RunSetRow:
    """Find or make the run set that this push fills. The same push again is the same run set."""
    return pushes.begin_push(asked.platform, asked.principal.name, body)


@router.post("/pushes/objects")
def list_missing_objects(asked: _Writes, body: ObjectsAsked) -> ObjectsMissing:
    """Which objects are not here yet."""
    return ObjectsMissing(missing=pushes.missing_objects(asked.platform, list(body.sha256)))


@router.put("/pushes/objects/{sha256}", openapi_extra=_BODY)
async def put_object(
    request: Request, asked: _Writes, sha256: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
) -> ObjectsMissing:
    """Send one object. It is kept where it hashes to what it is called."""
    hasher = hashlib.sha256()
    with tempfile.NamedTemporaryFile() as file:
        async for piece in request.stream():
            hasher.update(piece)
            await anyio.to_thread.run_sync(file.write, piece)
        file.flush()
        if hasher.hexdigest() != sha256:
            raise PushContradicts("It does not hash to that.", where=sha256)
        key = pushes.object_key(asked.tenant, sha256)
        await anyio.to_thread.run_sync(asked.server.objects.put_file, key, FilePath(file.name))
    return ObjectsMissing(missing=[])


@router.post("/pushes/{run_set}/cells")
@slowly
def put_cells(asked: _Writes, run_set: UUID, body: CellsPushed) -> TakenPage:
    """Send cells with their attempts. Classes are derived here; what contradicts them is refused, all of the page."""
    return pushes.take_cells(asked.platform, asked.principal.name, run_set, body.cells)


@router.post("/pushes/{run_set}/complete")
@slowly
def complete_push(asked: _Writes, run_set: UUID) -> RunSetRow:
    """Let what was sent count for the pushed run set. Its rows are never comparable."""
    row = pushes.complete_push(asked.platform, asked.principal.name, run_set)
    return asked.noted(row, Action.IMPORTED, str(row.id), kind="push")
