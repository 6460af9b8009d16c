"""What jobs and outputs are, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Row

from proctor.datasets.problems import Problem
from proctor.jobs.chunks import Cut
from proctor.jobs.orders import Judge
from proctor.jobs.routing import Route
from proctor.jobs.targets import Target
from proctor.kernel.canonical import Json
from proctor.objects.parquet import Part
from proctor.results.batches import Counts

__all__ = [
    "Deletion",
    "Hold",
    "Job",
    "JobState",
    "NewJob",
    "SampleSet",
    "cut_of",
    "job_of",
    "judges_of",
    "sample_set_of",
]


class JobState(StrEnum):
    """How far a job is. ``complete_with_gaps``: some chunks failed every time; they are listed, and may be resumed."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETE = "complete"
    COMPLETE_WITH_GAPS = "complete_with_gaps"
    CANCELLED = "cancelled"
    DELETED = "deleted"
    """Its results are gone; that it was there is not."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes of it by itself."""
        return self not in (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED)


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A legal hold: since when nothing of a job may be removed, by whom and why."""

    at: datetime
    by: UUID | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """When a job's results were deleted, and by whom."""

    at: datetime
    by: UUID | None


@dataclass(frozen=True, kw_only=True)
class SampleSet:
    """Outputs that are kept. ``rows``: of the dataset version; ``outputs``: of all rows and repeats, those with one."""

    id: UUID
    name: str
    dataset_version: UUID
    rows: int
    repeats: int
    outputs: int
    parts: tuple[Part, ...]
    content_hash: str
    model: str | None
    source: str
    creator: UUID | None
    created_at: datetime
    left_out: int = 0
    """Rows of the source that were no outputs of an example."""
    problems: tuple[Problem, ...] = ()
    """What was wrong with the first of them."""


@dataclass(frozen=True, kw_only=True)
class NewJob:
    """What is asked for, with every reference resolved. ``dataset``: as it is called, for a reader."""

    name: str
    dataset: str | None
    version: UUID | None
    """``None``: a stream, whose rows are of no dataset."""
    samples: SampleSet | None
    """Outputs that are kept, or"""
    target: Target | None
    """what is to make them."""
    budget_nano: int | None
    judges: tuple[Judge, ...]
    cut: Cut
    band: int
    creator: UUID | None
    trace_id: str
    kept: bool = True

    def document(self) -> dict[str, Json]:
        """As it is kept."""
        document: dict[str, Json] = {"evaluators": [_told(one) for one in self.judges]}
        if self.dataset is not None:
            document["dataset"] = self.dataset
        if self.samples is not None:
            document["samples"] = self.samples.name
        if self.target is not None:
            document["target"] = self.target.model_dump(mode="json", exclude_defaults=True)
        return document


@dataclass(frozen=True, kw_only=True)
class Job:
    """An evaluation job as it stands. ``counts``: results so far by evaluator and status.

    ``kept``: until it is deleted by name; otherwise its results go when they are as old as the tenant says. ``stream``:
    its rows came while it ran; ``open``: more may come.
    """

    id: UUID
    name: str
    state: JobState
    dataset: str | None
    """``None``: a stream's rows are of no dataset version."""
    dataset_version: UUID | None
    samples: str | None
    target: Mapping[str, Json] | None
    """What makes the outputs; ``None``: they are kept ones."""
    budget_nano: int | None
    sample_set: UUID | None
    judges: tuple[Judge, ...]
    band: int
    cut: Cut
    chunks_done: int
    counts: Counts
    creator: UUID | None
    trace_id: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    kept: bool = True
    hold: Hold | None = None
    deletion: Deletion | None = None
    stream: bool = False
    open: bool = False

    @property
    def expected(self) -> int:
        """Evaluations in all: every example in every repeat by every evaluator."""
        return self.cut.rows * self.cut.repeats * len(self.judges)

    @property
    def done(self) -> int:
        """Evaluations that have a result, whatever its status."""
        return sum(sum(statuses.values()) for statuses in self.counts.values())


def _told(judge: Judge) -> dict[str, Json]:
    told: dict[str, Json] = {
        "name": judge.name,
        "digest": judge.digest,
        "type": judge.type,
        "implementation": judge.implementation,
        "configuration": judge.configuration,
    }
    return told if judge.route is None else {**told, "route": asdict(judge.route)}


def judges_of(spec: Mapping[str, Any]) -> tuple[Judge, ...]:
    """The evaluators of a job as it is kept."""
    return tuple(
        Judge(**{**one, "route": None if one.get("route") is None else Route(**one["route"])})
        for one in spec["evaluators"]
    )


def job_of(row: Row[Any]) -> Job:
    """A job from its row."""
    spec: Mapping[str, Any] = row.spec
    return Job(
        id=row.id,
        name=row.name,
        state=JobState(row.state),
        dataset=spec.get("dataset"),
        dataset_version=row.dataset_version,
        samples=spec.get("samples"),
        target=spec.get("target"),
        budget_nano=row.budget_nano,
        sample_set=row.sample_set,
        judges=judges_of(spec),
        band=row.band,
        cut=cut_of(row),
        chunks_done=row.chunks_done,
        counts=row.counts,
        creator=row.creator,
        trace_id=row.trace_id,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        kept=row.kept,
        hold=None if row.held_at is None else Hold(at=row.held_at, by=row.held_by, reason=row.held_reason),
        deletion=None if row.deleted_at is None else Deletion(at=row.deleted_at, by=row.deleted_by),
        stream=row.stream,
        open=row.open,
    )


def cut_of(row: Row[Any]) -> Cut:
    """How a job is cut, from its row."""
    pieces = row.chunks if row.stream else None
    return Cut(rows=row.rows, repeats=row.repeats, size=row.chunk_rows, pieces=pieces)


def sample_set_of(row: Row[Any]) -> SampleSet:
    """Outputs from their row."""
    fields = {name: value for name, value in row._mapping.items() if name != "tenant_id"}
    parts, problems = (tuple(Part(**one) for one in row.parts), tuple(Problem(**one) for one in row.problems))
    return SampleSet(**{**fields, "parts": parts, "problems": problems, "model": row.model or None})
