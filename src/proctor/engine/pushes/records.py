"""What is sent of a run set. Everything in it is a stranger's word: shapes and sizes are checked here, sense later."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from proctor.engine.evidence import Phase
from proctor.engine.imports.records import UsageRecord, storable
from proctor.engine.spec import Policy

__all__ = [
    "ConfigurationDocument",
    "PushManifest",
    "PushedArtifact",
    "PushedAttempt",
    "PushedCell",
    "PushedEvidence",
    "PushedGrading",
    "PushedOutcome",
    "PushedProfile",
]

ATTEMPTS: int = 100
"""Of one cell: policies allow a handful."""


Document = Annotated[dict[str, Any], AfterValidator(storable)]
Text = Annotated[str, Field(max_length=200), AfterValidator(storable)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(storable)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Number = Annotated[int, Field(ge=1, le=1_000_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Agent(_Strict):
    name: Name
    version: Text
    layer: Text | None


class _Sandbox(_Strict):
    backend: Name
    environment: Annotated[dict[str, str], AfterValidator(storable)]


class ConfigurationDocument(_Strict):
    """What a configuration hash is taken over, of a profile that ran where it is sent from."""

    agent: _Agent
    model: Text | None
    thinking: Text | None
    variant: Text | None
    sampling: Document
    fallbacks: Annotated[list[Any], AfterValidator(storable)]
    options: Document
    policies: Policy
    sandbox: _Sandbox
    fault_plan: Document | None
    origin: Literal["own"]


class PushedProfile(_Strict):
    """A profile. ``document``: as ``ConfigurationDocument`` has it, its other half of the hash."""

    name: Name
    series: Name
    provider: Text
    document: Document


class PushManifest(_Strict):
    """A run set. ``source``: the random name of the one that is sent, by which a repeat is known."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "nightly",
                    "source": "0" * 32,
                    "suite": "0" * 64,
                    "policy_version": "outcomes-1",
                    "spec": {"name": "nightly", "suite": "basics", "profiles": [{"name": "noop", "agent": "noop"}]},
                    "profiles": [{"name": "noop", "series": "noop", "provider": "", "document": {}}],
                }
            ]
        }
    )

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    source: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    suite: Digest
    policy_version: Name
    policy: Annotated[str, Field(max_length=500_000)] | None = None
    spec: Document
    profiles: Annotated[list[PushedProfile], Field(min_length=1, max_length=1000)]


class PushedArtifact(_Strict):
    """A file that was kept of an attempt; its bytes are sent by digest."""

    name: Name
    sha256: Digest
    size: Annotated[int, Field(ge=0, le=1 << 40)]


class PushedEvidence(_Strict):
    """One phase."""

    phase: Phase
    seq: Number
    started_at: AwareDatetime
    ended_at: AwareDatetime
    detail: Document


class PushedGrading(_Strict):
    """One run of the cell's own verifier."""

    number: Number
    mode: Name
    backend: Name
    forgeable: bool
    rewards: Annotated[dict[str, float], AfterValidator(storable)] | None
    detail: Document
    graded_at: AwareDatetime


class PushedOutcome(_Strict):
    """What was made of an attempt where it is sent from. It is derived again here, and has to be the same."""

    grading: Annotated[int, Field(ge=0, le=1_000_000)]
    outcome: Name
    owner: Name
    verdict: bool | None


class PushedAttempt(_Strict):
    """One attempt that ended. ``log``: all that it printed, as one object."""

    number: Annotated[int, Field(ge=1, le=ATTEMPTS)]
    started_at: AwareDatetime
    ended_at: AwareDatetime
    backend: Name
    limits: Document
    usage: UsageRecord | None
    log: PushedArtifact | None = None
    artifacts: Annotated[list[PushedArtifact], Field(max_length=500)]
    evidence: Annotated[list[PushedEvidence], Field(max_length=1000)]
    gradings: Annotated[list[PushedGrading], Field(max_length=100)]
    outcomes: Annotated[list[PushedOutcome], Field(max_length=200)]

    @property
    def last_moment(self) -> datetime:
        """The latest that it says of itself."""
        return max([self.ended_at, *(one.ended_at for one in self.evidence)])


class PushedCell(_Strict):
    """A cell by its profile, its task and its place among the trials of both."""

    profile: Name
    task: Digest
    place: Annotated[int, Field(ge=1, le=1000)]
    attempts: Annotated[list[PushedAttempt], Field(max_length=ATTEMPTS)]
