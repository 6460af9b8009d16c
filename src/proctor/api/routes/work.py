"""Asking for long work: each is answered with 202 and its receipt."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import IO, Annotated, Any
from uuid import UUID

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.receipts import ACCEPTED, accepted
from proctor.api.routes.run_sets import RunSetReference, named
from proctor.api.routes.suites import SuiteReference
from proctor.api.threads import slowly
from proctor.api.uploads import kept, receive
from proctor.engine.auditing import rules_of_stranger
from proctor.engine.planning import RunSetRow
from proctor.engine.regrading.candidates import Candidate, PassedOver
from proctor.identity.permissions import Permission
from proctor.operations.service import Operation
from proctor.sdk.checking import tasks_to_check
from proctor.sdk.work import (
    UPLOAD_BYTES,
    AuditWork,
    CheckWork,
    ExportWork,
    ImportWork,
    ReclassifyWork,
    RegradeWork,
    WorkKind,
    plan_regrade,
)

__all__ = ["router"]

router = APIRouter(tags=["operations"], route_class=Repeatable)
_Reads = Annotated[Asked, needs(Permission.RUNS_READ)]
_Exports = Annotated[Asked, needs(Permission.EVIDENCE_READ)]
_Writes = Annotated[Asked, needs(Permission.RESULTS_WRITE)]
Suite = Annotated[str | None, Field(min_length=1, max_length=200, description="A label or an id.")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ExportWanted(_Body):
    """How a run set is to be exported: as a job directory of Harbor's."""

    folder: str = Field(
        default="/proctor-export",
        max_length=4000,
        pattern="^/",
        description="Where it will be, as its files are to say.",
    )


class RegradeWanted(_Body):
    """Which attempts are to be graded again, and by what."""

    suite: Suite = Field(default=None, description="With the changed verifiers; the run set's file names one without.")
    task: str | None = Field(default=None, max_length=200, description="Only tasks whose name fits.")
    recheck: bool = Field(default=False, description="Ask the same verifiers again.")
    concurrency: int = Field(default=2, ge=1, le=1024, description="Gradings at once; the server has a limit too.")


class ReclassifyWanted(_Body):
    """By which outcome policy evidence is to be classified."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"policy": 'version = "mine-1"', "move_pin": False}]})

    policy: str = Field(min_length=1, max_length=500_000, description="An outcome policy file's text.")
    source: str = Field(default="policy", max_length=500, description="What errors call it.")
    move_pin: bool = Field(default=False, description="Let the run set count by it from then on.")


class AuditWanted(_Body):
    """What is to be reconciled with the table of expected cells."""

    run_set: str | None = Field(default=None, min_length=1, max_length=200, description="All without.")
    rules: dict[str, JsonValue] = Field(default={}, description="Names that are declared to mean others.")
    rules_file: str = Field(default="--rules", max_length=500, description="What errors call them.")
    profile_list: str | None = Field(default=None, max_length=500, description="What a list of profiles is called.")
    listed: list[Annotated[str, Field(max_length=200)]] = Field(default=[], max_length=10_000, description="Its names.")
    apply: bool = Field(default=False, description="Repair what is found.")
    checksums: bool = Field(default=False, description="Also read and hash every object.")


class CheckWanted(_Body):
    """Which tasks of a suite are to be certified, on the server's machine."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"task": "sort-*", "oracle_runs": 5}]})

    task: str | None = Field(default=None, max_length=200, description="Only tasks whose name fits.")
    concurrency: int = Field(default=4, ge=1, le=1024, description="Attempts at once; the server has a limit too.")
    oracle_runs: int = Field(default=5, ge=5, le=1000, description="How often the solution is run.")
    again: bool = Field(default=False, description="Also where a certificate is there already.")


class CandidateDocument(BaseModel):
    """An attempt that qualifies."""

    cell: UUID
    profile: str
    task: str
    trial: int
    attempt: UUID
    before: bool | None


class RegradePlanDocument(BaseModel):
    """Which attempts qualify for a regrade."""

    run_set: RunSetRow
    suite_id: str
    cells: list[list[CandidateDocument]]
    decided: int
    passed_over: list[PassedOver]


@router.post("/run-sets/{run_set}/exports", status_code=202, responses=ACCEPTED, response_model=Operation)
def create_export(asked: _Exports, run_set: RunSetReference, body: ExportWanted) -> Response:
    """Export a run set; the operation's download is the job directory as a gzipped tar."""
    return accepted(asked, WorkKind.EXPORT, ExportWork(run_set=_id(asked, run_set), folder=body.folder))


@router.post("/run-sets/{run_set}/regrade-plan", response_model=RegradePlanDocument)
@slowly
def show_regrade_plan(asked: _Reads, run_set: RunSetReference, body: RegradeWanted) -> Response:
    """Which attempts a regrade would grade; nothing is graded."""
    plan = plan_regrade(asked.platform, _regrade(asked, run_set, body))
    return answered(
        {
            "run_set": plan.run_set,
            "suite_id": plan.suite_id,
            "cells": [_candidates(cell) for cell in plan.regrade.cells],
            "decided": plan.regrade.decided,
            "passed_over": plan.regrade.passed_over,
        }
    )


@router.post("/run-sets/{run_set}/regrades", status_code=202, responses=ACCEPTED, response_model=Operation)
@slowly
def create_regrade(asked: _Writes, run_set: RunSetReference, body: RegradeWanted) -> Response:
    """Grade a run set's attempts again, from the states that were kept. Agents are not run."""
    return accepted(asked, WorkKind.REGRADE, _regrade(asked, run_set, body))


@router.post("/run-sets/{run_set}/reclassifications", status_code=202, responses=ACCEPTED, response_model=Operation)
def create_reclassification(asked: _Writes, run_set: RunSetReference, body: ReclassifyWanted) -> Response:
    """Derive a run set's outcomes again from its evidence, under another policy."""
    work = ReclassifyWork(run_set=_id(asked, run_set), **body.model_dump())
    return accepted(asked, WorkKind.RECLASSIFY, work)


@router.post("/audits", status_code=202, responses=ACCEPTED, response_model=Operation)
def create_audit(asked: _Writes, body: AuditWanted) -> Response:
    """Reconcile what is stored with what was expected, and repair it where that is asked for."""
    rules_of_stranger(body.rules, where=body.rules_file)
    run_set = None if body.run_set is None else _id(asked, body.run_set)
    return accepted(asked, WorkKind.AUDIT, AuditWork(**{**body.model_dump(), "run_set": run_set}))


@router.post("/suites/{suite}/checks", status_code=202, responses=ACCEPTED, response_model=Operation)
@slowly
def create_check(
    asked: Annotated[Asked, needs(Permission.SUITES_WRITE)], suite: SuiteReference, body: CheckWanted
) -> Response:
    """Certify a suite's tasks: the solution passes every time; nothing, a wrong solution and forgeries never do."""
    suite_id = _suite(asked, suite)
    tasks_to_check(asked.platform, suite_id, body.task)
    return accepted(asked, WorkKind.CHECK, CheckWork(suite=suite_id, **body.model_dump()))


@router.post(
    "/imports",
    status_code=202,
    responses=ACCEPTED,
    response_model=Operation,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/x-tar": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def create_import(
    request: Request,
    asked: _Writes,
    suite: Annotated[
        str | None, Query(min_length=1, max_length=200, description="The suite that the manifest names.")
    ] = None,
) -> Response:
    """Import results that others made: a tar with results.toml and attempts.jsonl."""
    if suite is not None:
        suite = await anyio.to_thread.run_sync(_suite, asked, suite)
    with tempfile.NamedTemporaryFile() as file:
        await receive(request, file, UPLOAD_BYTES)
        return await anyio.to_thread.run_sync(_import, asked, file, suite)


def _import(asked: Asked, file: IO[bytes], suite: str | None) -> Response:
    return kept(asked, file, WorkKind.IMPORT, ImportWork, {"suite": suite})


def _suite(asked: Asked, reference: str) -> str:
    return asked.platform.suites.resolve(asked.tenant, reference)


def _id(asked: Asked, run_set: str) -> UUID:
    return asked.client.find(named(run_set)).id


def _regrade(asked: Asked, run_set: str, body: RegradeWanted) -> RegradeWork:
    suite = None if body.suite is None else _suite(asked, body.suite)
    return RegradeWork(run_set=_id(asked, run_set), **{**body.model_dump(), "suite": suite})


def _candidates(cell: Sequence[Candidate]) -> list[Any]:
    names = ("cell", "profile", "trial", "attempt", "before")
    return [{**{name: getattr(one, name) for name in names}, "task": one.task.name} for one in cell]
