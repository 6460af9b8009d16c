"""What the routes of attempts answer: rows as they are stored, with what each of their fields is."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from proctor.agents.interfaces import Usage
from proctor.engine.evidence import Phase
from proctor.engine.outcomes import OutcomeClass, Owner

__all__ = ["AttemptDocument"]


class KeptArtifact(BaseModel):
    """A file that was kept of an attempt; `GET /attempts/{attempt}/artifacts/{name}` answers it."""

    name: str
    key: str = Field(description="Where the server keeps it.")
    sha256: str
    size: int


class AttemptRow(BaseModel):
    """An attempt."""

    tenant_id: UUID
    id: UUID
    cell_id: UUID
    number: int = Field(description="Among its cell's, from 1.")
    run_set_id: UUID = Field(description="The run set that pays.")
    content_digest: str = Field(description="Its task's.")
    token: int = Field(description="Its claim's, which every write of its worker carries; 0: it did not run here.")
    worker_id: UUID
    backend: str
    trace_id: str
    started_at: datetime
    ended_at: datetime | None
    last_segment: int = Field(description="Of its log.")
    phase: str = Field(description="The one it is in, as its worker last said; empty: it has not.")
    progressed_at: datetime = Field(description="When its evidence, log or trajectory last grew.")
    limits: dict[str, str] = Field(description="How strongly each limit of its sandbox was held.")
    usage: Usage | None = Field(description="Null: unknown.")
    waited_sec: float | None = Field(description="Its cell was ready so long before it started.")
    artifacts: list[KeptArtifact]


class EvidenceRow(BaseModel):
    """A phase: when it ran, and what Proctor itself saw of it."""

    tenant_id: UUID
    attempt_id: UUID
    seq: int
    phase: Phase
    started_at: datetime
    ended_at: datetime
    detail: dict[str, Any] = Field(
        description="By name, as far as it applies: `failed`, `source`, `reason`, `exception`, `message`, `exit_code`,"
        " `signal`, `oom`, `exec_limit`, `limit`, `refused`, `http_status`, `stderr_tail`, `step` and others."
    )


class GradingRow(BaseModel):
    """One run of a verifier over what the attempt left."""

    tenant_id: UUID
    attempt_id: UUID
    verifier_digest: str
    number: int
    mode: str
    backend: str
    forgeable: bool = Field(description="Whether what it judges could have written its verdict.")
    rewards: dict[str, float] | None = Field(description="Null: the verifier left none.")
    detail: dict[str, Any] = Field(description="As of a phase; `problem` where there is no reward to read.")
    graded_at: datetime


class OutcomeRow(BaseModel):
    """What evidence and a grading come to under one policy."""

    model_config = ConfigDict(populate_by_name=True)

    tenant_id: UUID
    attempt_id: UUID
    grading: int = Field(description="0: it was not graded.")
    policy_version: str
    outcome: OutcomeClass = Field(alias="class")
    owner: Owner
    rule: str
    verdict: bool | None = Field(description="Null: none, which is not a fail.")
    limit: str = Field(description="Which one the agent reached; empty: none.")
    decided_at: datetime


class AttemptDocument(BaseModel):
    """An attempt with all its evidence, gradings and outcomes, as they are stored."""

    attempt: AttemptRow
    evidence: list[EvidenceRow] = Field(description="In the order of what happened.")
    gradings: list[GradingRow] = Field(description="The oldest first.")
    outcomes: list[OutcomeRow] = Field(description="The oldest first, by every policy that it was ever judged by.")
