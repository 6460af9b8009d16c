"""Attempts: their evidence as it is stored, their logs and what was kept of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.attempt_documents import AttemptDocument
from proctor.identity.permissions import Permission
from proctor.kernel.errors import UsageError

__all__ = ["router"]

router = APIRouter(tags=["attempts"])
AttemptReference = Annotated[
    str, Path(min_length=1, max_length=64, description="An attempt's id, its beginning, or a cell's.")
]
_Looks = Annotated[Asked, needs(Permission.EVIDENCE_READ)]


class ArtifactUnknown(UsageError):
    """The attempt has no such artifact."""

    code = "artifact-unknown"
    remedy = "`artifacts` of the attempt names those there are."


@router.get("/attempts/{attempt}", response_model=AttemptDocument)
def show_attempt(asked: Annotated[Asked, needs(Permission.RUNS_READ)], attempt: AttemptReference) -> Response:
    """An attempt with its evidence, gradings and outcomes."""
    return answered(asked.client.attempt(attempt))


@router.get(
    "/attempts/{attempt}/log",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/plain": {}}, "description": "What was printed, as it was."}},
)
def read_log(
    asked: _Looks,
    attempt: AttemptReference,
    after: Annotated[int, Query(ge=0, le=1 << 31, description="Only segments numbered above it.")] = 0,
) -> Response:
    """What the attempt's commands printed. X-Last-Segment is where the next call may go on."""
    client = asked.client
    identity = client.attempt(attempt).attempt["id"]
    segments = list(client.log_segments(identity, after=after))
    last = segments[-1][0] if segments else after
    pieces: Iterator[bytes] = (piece for _, piece in segments)
    headers = {"X-Last-Segment": str(last), "Content-Disposition": "attachment"}
    return StreamingResponse(pieces, media_type="text/plain; charset=utf-8", headers=headers)


@router.get(
    "/attempts/{attempt}/trajectory",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {}}, "description": "A step of ATIF a line."}},
)
def read_steps(
    asked: _Looks,
    attempt: AttemptReference,
    after: Annotated[int, Query(ge=0, le=1 << 31, description="Only steps numbered above it.")] = 0,
) -> Response:
    """The steps of its trajectory, as far as it has come; the whole document is its artifact once it has ended."""
    client = asked.client
    steps = client.steps(client.attempt(attempt), after=after)
    lines: Iterator[bytes] = (json.dumps(step).encode() + b"\n" for step in steps)
    return StreamingResponse(lines, media_type="application/x-ndjson", headers={"Content-Disposition": "attachment"})


@router.get(
    "/attempts/{attempt}/artifacts/{name:path}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "Its bytes."}},
)
def read_artifact(
    asked: _Looks, attempt: AttemptReference, name: Annotated[str, Path(min_length=1, max_length=500)]
) -> Response:
    """One artifact's bytes. They are a stranger's: a browser gets them as a download and never as a page."""
    client = asked.client
    detail = client.attempt(attempt)
    artifact = _artifact(detail.attempt["artifacts"], name)
    headers = {"Content-Disposition": "attachment", "X-Content-SHA256": artifact["sha256"]}
    return Response(client.artifact(detail, artifact), media_type="application/octet-stream", headers=headers)


def _artifact(artifacts: list[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    for artifact in artifacts:
        if artifact["name"] == name:
            return artifact
    raise ArtifactUnknown(where="name")
