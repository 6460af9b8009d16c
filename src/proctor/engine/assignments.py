"""What a worker is given to run, and what it hands back to be recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from uuid import UUID

from proctor.engine.evidence import Evidence, GradingFacts
from proctor.kernel.canonical import Json
from proctor.objects.store import StoredObject
from proctor.suites.tasks import Task, TaskProblem

__all__ = ["Assignment", "Finished", "LoadedTask", "TaskLibrary"]


@dataclass(frozen=True, kw_only=True)
class LoadedTask:
    """A task ready to run: what it says and where its files are, or what is wrong with it."""

    content_digest: str
    agent_digest: str
    verifier_digest: str
    name: str
    task: Task | None
    folder: Path | None
    problem: TaskProblem | None = None


class TaskLibrary(Protocol):
    """Where a runner gets tasks from."""

    def load(self, tenant: UUID, content_digest: str) -> LoadedTask:
        """A task by its content digest, its files on this machine."""
        ...


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """One attempt of one cell, claimed."""

    tenant: UUID
    cell: UUID
    attempt: UUID
    number: int
    token: int
    tries: int
    run_set: UUID
    content_digest: str
    configuration: Mapping[str, Json]
    provider: str
    trace_id: str
    policy_version: str
    profile: str = ""
    """The profile's name in its run set."""
    worker: UUID | None = None
    node: str = ""
    """The machine that it runs on, as breakers know it."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What an attempt left. Its evidence is whole; nothing of it was recorded yet but what heartbeats carried."""

    assignment: Assignment
    evidence: Sequence[Evidence]
    gradings: Sequence[GradingFacts] = ()
    usage: Mapping[str, Json] | None = None
    limits: Mapping[str, Json] = field(default_factory=dict)
    artifacts: Mapping[str, StoredObject] = field(default_factory=dict)
    last_segment: int = 0
    retry_after: float | None = None
    metered: bool = False
    """Whether its calls went through the gateway, so that the ledger has a line for each already."""
