"""Attempts: their evidence as it is stored, their logs and what was kept of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from proctor.agents.trajectory import Step
from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.attempt_documents import AttemptDocument
from proctor.api.threads import slowly
from proctor.engine.step_reading import MOST_FOUND, MOST_STEPS, StepIndex, StepsFound
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


class StepDocument(BaseModel):
    """One step (ATIF) with its number. `cut`: characters that were left out of the middle of long texts."""

    number: int
    step: Step
    cut: int


class StepsOfAttempt(BaseModel):
    """Steps one after the other, how many there are in all, and whether there may be more later."""

    items: list[StepDocument]
    steps: int
    running: bool


_After = Annotated[int, Query(ge=0, le=1 << 31, description="Only steps numbered above it.")]
LONGEST_WAIT_SEC: float = 30.0
"""Under the idle cut-offs of common proxies (30 s and more)."""
_LOOK_SEC: float = 1.0
"""Steps come in segments, one a second."""


@slowly
def _index(asked: Asked, attempt: str, after: int) -> StepIndex:
    client = asked.client
    return client.trajectories.index(client.attempt(attempt), after=after)


@router.get("/attempts/{attempt}/steps/index", response_model=StepIndex)
async def index_steps(
    request: Request,
    asked: _Looks,
    attempt: AttemptReference,
    after: _After = 0,
    wait: Annotated[
        float,
        Query(ge=0, le=LONGEST_WAIT_SEC, description="While it runs: seconds to wait at the most for a step above it."),
    ] = 0,
) -> Response:
    """What there is to know of the steps before they are read, in columns: kinds, times, tokens, sizes, what failed."""
    until = time.monotonic() + wait
    while True:
        index = await _index(asked, attempt, after)
        left = until - time.monotonic()
        if index.steps > after or not index.running or left <= 0 or await request.is_disconnected():
            return answered(index)
        await anyio.sleep(min(_LOOK_SEC, left))


@router.get("/attempts/{attempt}/steps", response_model=StepsOfAttempt)
@slowly
def list_steps(
    asked: _Looks,
    attempt: AttemptReference,
    first: Annotated[int, Query(ge=1, le=1 << 31, description="The number of the first.")] = 1,
    limit: Annotated[int, Query(ge=1, le=MOST_STEPS, description="Fewer where they are large.")] = MOST_STEPS,
) -> Response:
    """Steps from a number on. Of texts of more than 256 Ki characters the middle is left out; see `cut`."""
    client = asked.client
    return answered(client.trajectories.page(client.attempt(attempt), first=first, limit=limit))


@router.get("/attempts/{attempt}/steps/find", response_model=StepsFound)
@slowly
def find_steps(
    asked: _Looks,
    attempt: AttemptReference,
    text: Annotated[str, Query(min_length=1, max_length=200, description="Letters A to Z in either case.")],
    after: _After = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_FOUND)] = MOST_FOUND,
) -> Response:
    """Steps that hold a text in what was said, thought, called or answered."""
    client = asked.client
    return answered(client.trajectories.find(client.attempt(attempt), text, after=after, limit=limit))


@router.get("/attempts/{attempt}/steps/{step}", response_model=Step)
@slowly
def read_step(
    asked: _Looks,
    attempt: AttemptReference,
    step: Annotated[int, Path(ge=1, le=1 << 31, description="Its number.")],
) -> Response:
    """One whole step (ATIF), however large."""
    client = asked.client
    found = client.trajectories.step(client.attempt(attempt), step)
    return answered(found, headers={"Content-Disposition": "attachment"})


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
