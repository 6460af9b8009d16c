"""Evaluation jobs: outputs that are kept, jobs that judge them, and their results."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from datetime import datetime
from typing import IO, Annotated
from uuid import UUID

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import Page, Paging, WordsOfName
from proctor.api.receipts import ACCEPTED
from proctor.api.threads import slowly
from proctor.api.uploads import kept, receive
from proctor.identity.audit_log import Action, replaced
from proctor.identity.permissions import Permission
from proctor.jobs.asking import EvaluationRequest, HoldRequest, ResultChoice
from proctor.jobs.summaries import JobStanding
from proctor.jobs.values import Job, JobState, SampleSet
from proctor.operations.service import Operation
from proctor.results.retention import LONGEST_DAYS, Retention
from proctor.sdk.dataset_work import DATASET_BYTES
from proctor.sdk.sample_work import SamplesImportWork
from proctor.sdk.work import WorkKind

__all__ = ["router"]

router = APIRouter(tags=["evaluation jobs"], route_class=Repeatable)
JobReference = Annotated[
    str, Path(min_length=1, max_length=100, description="An id, its first 8 characters or more, or a name: the newest.")
]
SamplesReference = Annotated[
    str, Path(min_length=1, max_length=100, description="An id, its first 8 characters or more, or a name: the newest.")
]
_Reads = Annotated[Asked, needs(Permission.EVALUATORS_READ)]
_Runs = Annotated[Asked, needs(Permission.RUNS_WRITE)]
_Owns = Annotated[Asked, needs(Permission.TENANT_WRITE)]
_Writes = Annotated[Asked, needs(Permission.DATASETS_WRITE)]


class ListedResult(BaseModel):
    """One result; docs/reference/results-schema.md says what each column is."""

    job: str
    dataset_version: str | None
    row: int
    example: str
    sample: str | None
    target: str | None
    model: str | None
    evaluator: str
    evaluator_version: str
    repeat: int
    score: float | None
    label: str | None
    status: str
    error: str | None
    seconds: float
    cost_nano: int | None
    probability: float
    trace_id: str
    time: datetime


class RetentionChange(BaseModel):
    """For how many days a tenant keeps results of jobs that are not kept, and their daily sums."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"result_days": 30, "rollup_days": 365}]})

    result_days: int = Field(ge=1, le=LONGEST_DAYS, strict=True)
    rollup_days: int = Field(ge=1, le=LONGEST_DAYS, strict=True, description="No fewer than of results.")


@router.get("/samples", response_model=Page[SampleSet])
def list_samples(asked: _Reads, paging: Paging) -> Response:
    """Outputs that are kept, the newest first."""
    (before,) = paging.place(UUID) or (None,)
    found = asked.client.evaluations.sample_sets(before=before, limit=paging.limit)
    return answered(paging.page(found, lambda one: [one.id]))


@router.get("/samples/{samples}", response_model=SampleSet)
def show_samples(asked: _Reads, samples: SamplesReference) -> Response:
    """Outputs that are kept: of which dataset version, how many, and where."""
    return answered(asked.client.evaluations.samples(samples))


@router.delete("/samples/{samples}", response_model=SampleSet)
@slowly
def delete_samples(asked: _Writes, samples: SamplesReference) -> Response:
    """Delete outputs for good, at once; refused while a job that judged them is there."""
    gone = asked.client.evaluations.delete_samples(samples)
    return asked.noted(answered(gone), Action.SAMPLES_DELETED, str(gone.id), name=gone.name)


@router.post(
    "/samples",
    status_code=202,
    responses=ACCEPTED,
    response_model=Operation,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def create_samples(
    request: Request,
    asked: _Writes,
    dataset: Annotated[str, Query(min_length=1, max_length=200, description="The version whose outputs they are.")],
    name: Annotated[str, Query(min_length=1, max_length=100, description="A label.")],
    file: Annotated[
        str,
        Query(
            min_length=1,
            max_length=200,
            pattern=r"^[^/\x00-\x1f]+$",
            description="Its name, ending in .jsonl, .json, .csv or .parquet.",
        ),
    ],
    model: Annotated[str | None, Query(min_length=1, max_length=300, description="What made them.")] = None,
    id_field: Annotated[str, Query(min_length=1, max_length=200, description="Names the example.")] = "id",
    output_field: Annotated[str, Query(min_length=1, max_length=200, description="Holds the output.")] = "output",
    skip_malformed: Annotated[bool, Query(description="Leave out rows that are no outputs of an example.")] = False,
) -> Response:
    """Keep the outputs of a file, a row each. The same again changes nothing."""
    with tempfile.NamedTemporaryFile() as received:
        await receive(request, received, DATASET_BYTES)
        work: dict[str, object] = {
            "dataset": dataset,
            "name": name,
            "model": model,
            "creator": asked.principal.user,
            "file": file,
            "id_field": id_field,
            "output_field": output_field,
            "skip_malformed": skip_malformed,
        }
        return await anyio.to_thread.run_sync(_import, asked, received, work)


def _import(asked: Asked, file: IO[bytes], work: dict[str, object]) -> Response:
    asked.platform.datasets.find(asked.tenant, str(work["dataset"]))  # one that there is not is told at once
    return kept(asked, file, WorkKind.SAMPLES_IMPORT, SamplesImportWork, work)


@router.get("/jobs", response_model=Page[Job])
def list_jobs(
    asked: _Reads,
    paging: Paging,
    state: Annotated[JobState | None, Query(description="Only those in this state.")] = None,
    words: WordsOfName = None,
) -> Response:
    """The newest first."""
    (before,) = paging.place(UUID) or (None,)
    found = asked.client.evaluations.jobs(state=state, words=words, before=before, limit=paging.limit)
    return answered(paging.page(found, lambda one: [one.id]))


@router.post("/jobs", status_code=201, response_model=Job)
def create_job(asked: _Runs, body: EvaluationRequest) -> Response:
    """Judge kept outputs by evaluators. It is durable when this answers; evaluators of the server do it."""
    job = asked.client.evaluations.submit(body, creator=asked.principal.user)
    return asked.noted(answered(job, 201), Action.JOB_SUBMITTED, str(job.id), name=job.name)


@router.get("/jobs/{job}", response_model=JobStanding)
@slowly
def show_job(asked: _Reads, job: JobReference) -> Response:
    """How far it is, with its numbers so far: mean, error, interval, coverage and bounds of each evaluator."""
    return answered(asked.client.evaluations.standing(job))


@router.get("/jobs/{job}/results", response_model=Page[ListedResult])
@slowly
def list_job_results(
    asked: _Reads,
    paging: Paging,
    job: JobReference,
    status: Annotated[str | None, Query(max_length=50, description="Only results of this status.")] = None,
    evaluator: Annotated[str | None, Query(max_length=300, description="Only results of this evaluator.")] = None,
    at_least: Annotated[float | None, Query(allow_inf_nan=False, description="A score from here on.")] = None,
    below: Annotated[float | None, Query(allow_inf_nan=False, description="A score under this one.")] = None,
) -> Response:
    """Single results, in the order of evaluator, repeat and row."""
    (after,) = paging.place(_number) or (-1,)
    choice = ResultChoice(status=status, evaluator=evaluator, at_least=at_least, below=below)
    found = asked.client.evaluations.results(job, choice, after=after, limit=paging.limit)
    return answered(paging.page(found, lambda _: [after + len(found)]))


@router.post("/jobs/{job}/pause", response_model=Job)
def pause_job(asked: _Runs, job: JobReference) -> Response:
    """No new chunks; running ones finish."""
    return _controlled(asked, asked.client.evaluations.pause(job), "pause")


@router.post("/jobs/{job}/resume", response_model=Job)
def resume_job(asked: _Runs, job: JobReference) -> Response:
    """Queue what has no results yet: of a paused job, one with gaps, or one that was cancelled."""
    return _controlled(asked, asked.client.evaluations.resume(job), "resume")


@router.post("/jobs/{job}/cancel", response_model=Job)
def cancel_job(asked: _Runs, job: JobReference) -> Response:
    """No new chunks, ever; the results that are there stay."""
    return _controlled(asked, asked.client.evaluations.cancel(job), "cancel")


@router.delete("/jobs/{job}", response_model=Job)
@slowly
def delete_job(asked: _Runs, job: JobReference) -> Response:
    """Delete its results for good, at once. What it was stays on record, with who deleted it and when."""
    gone = asked.client.evaluations.delete(job, by=asked.principal.user)
    return asked.noted(answered(gone), Action.JOB_DELETED, str(gone.id), name=gone.name)


@router.put("/jobs/{job}/hold", response_model=Job)
def hold_job(asked: _Owns, job: JobReference, body: HoldRequest) -> Response:
    """Put it under a legal hold: nothing removes it or its results until an owner releases it."""
    held = asked.client.evaluations.hold(job, body.reason, by=asked.principal.user)
    return asked.noted(answered(held), Action.JOB_HELD, str(held.id), name=held.name, reason=body.reason)


@router.delete("/jobs/{job}/hold", response_model=Job)
def release_job(asked: _Owns, job: JobReference) -> Response:
    """End its legal hold. Nothing is removed by that."""
    released = asked.client.evaluations.release(job)
    return asked.noted(answered(released), Action.JOB_RELEASED, str(released.id), name=released.name)


@router.get("/retention", response_model=Retention)
def show_retention(asked: _Reads) -> Response:
    """For how many days results of jobs that are not kept stay, and their daily sums."""
    return answered(asked.client.evaluations.retention())


@router.put("/retention", response_model=Retention)
def change_retention(asked: _Owns, body: RetentionChange) -> Response:
    """Set it for the tenant. What is older goes within a minute."""
    wanted = Retention(result_days=body.result_days, rollup_days=body.rollup_days)
    before = asked.client.evaluations.retention()
    made = asked.client.evaluations.set_retention(wanted)
    told = replaced(asdict(before), asdict(made))
    return asked.noted(answered(made), Action.RETENTION_SET, "retention", **told)


def _controlled(asked: Asked, job: Job, how: str) -> Response:
    return asked.noted(answered(job), Action.JOB_CONTROLLED, str(job.id), name=job.name, how=how)


def _number(part: object) -> int:
    if not isinstance(part, int) or part < 0:
        raise ValueError(part)
    return part
