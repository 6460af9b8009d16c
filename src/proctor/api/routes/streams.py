"""Streams: evaluation jobs whose rows are sent while they run. Their results are asked for as those of any job."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated
from uuid import UUID

import anyio.to_thread
from fastapi import APIRouter, Header, Path, Request, Response

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import KEY, KeyMalformed, Repeatable
from proctor.api.lists import Page, Paging
from proctor.identity.audit_log import Action
from proctor.identity.permissions import Permission
from proctor.jobs.values import Job
from proctor.streaming.asking import StreamRequest
from proctor.streaming.gathering import answer
from proctor.streaming.rows import read_entries
from proctor.streaming.values import Appended, Fate, KeptRefusal, Stream

__all__ = ["router", "rows"]

router = APIRouter(tags=["streams"], route_class=Repeatable)
rows = APIRouter(tags=["streams"])
"""Apart: that rows are there already is looked up in the very transaction that adds them, many requests' in one."""
StreamReference = Annotated[
    str, Path(min_length=1, max_length=100, description="An id, its first 8 characters or more, or a name: the newest.")
]
_Reads = Annotated[Asked, needs(Permission.EVALUATORS_READ)]
_Runs = Annotated[Asked, needs(Permission.RUNS_WRITE)]


@router.post("/streams", status_code=201, response_model=Job)
def open_stream(asked: _Runs, body: StreamRequest) -> Response:
    """Open a stream: a job whose rows are judged as they come, until it is closed."""
    job = asked.client.streams.open(body, creator=asked.principal.user)
    return asked.noted(answered(job, 201), Action.STREAM_OPENED, str(job.id), name=job.name)


@router.get("/streams/{stream}", response_model=Stream)
def show_stream(asked: _Reads, stream: StreamReference) -> Response:
    """Its job, and how many rows were refused; the job's own route has its numbers."""
    return answered(asked.client.streams.stream(stream))


@router.get("/streams/{stream}/refusals", response_model=Page[KeptRefusal])
def list_refusals(asked: _Reads, paging: Paging, stream: StreamReference) -> Response:
    """Rows that were refused, with their reasons, the newest first; of each stream the first 10,000 are kept."""
    (before,) = paging.place(UUID) or (None,)
    found = asked.client.streams.refusals(stream, before=before, limit=paging.limit)
    return answered(paging.page(found, lambda one: [one.id]))


@router.post("/streams/{stream}/close", response_model=Job)
def close_stream(asked: _Runs, stream: StreamReference) -> Response:
    """Take no more rows; the job ends with the last of those that came."""
    job = asked.client.streams.close(stream)
    return asked.noted(answered(job), Action.STREAM_CLOSED, str(job.id), name=job.name)


@rows.post(
    "/streams/{stream}/rows",
    response_model=Appended,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/x-ndjson": {
                    "schema": {
                        "type": "string",
                        "description": "JSON objects, a line each: id and output; where they are known input, "
                        "expected, model, metadata and time; key, where a row has its own.",
                    }
                }
            },
        }
    },
)
async def append_rows(
    request: Request,
    asked: _Runs,
    stream: StreamReference,
    idempotency_key: Annotated[
        str | None, Header(description="Sent again with it, the same rows change nothing and are answered the same.")
    ] = None,
) -> Response:
    """Add rows; they are durable when this answers. What is no row is told, and the others are added."""
    if idempotency_key is not None and re.fullmatch(KEY, idempotency_key) is None:
        raise KeyMalformed(where="Idempotency-Key")
    key = None if idempotency_key is None else f"{asked.principal.user}\0{idempotency_key}"
    entries = await anyio.to_thread.run_sync(read_entries, await request.body(), key)
    fates = await asyncio.wrap_future(asked.gatherer.submit(asked.tenant, stream, entries))
    replayed = {"Idempotency-Replayed": "true"} if set(fates) == {Fate.KNOWN} else None
    return answered(answer(entries, fates), headers=replayed)
