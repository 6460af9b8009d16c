"""What the routes of run sets answer, where it is not a dataclass of the engine's."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from proctor.api.lists import Chosen
from proctor.engine.pairs import TaskCells, TaskKey
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow

__all__ = ["CellsOfRunSet", "ProfileDocument", "RevisionDocument", "RunningAttempt", "SideDocument"]


class CellsOfRunSet(BaseModel):
    """A page of cells with what their numbers and digests stand for."""

    run_set: RunSetRow
    items: list[CellRow | Chosen]
    next: str | None = Field(description="The cursor of the next page; null at the end.")
    profiles: dict[int, str]
    tasks: dict[str, str] = Field(description="Names by content digest, of this page's tasks.")


class SideDocument(BaseModel):
    """One profile of a run set with its tasks, each by its agent-visible and its verifier digest."""

    reference: str
    run_set: UUID
    name: str
    profile: str
    configuration: str
    document: dict[str, Any]
    policy_version: str
    tasks: list[tuple[TaskKey, TaskCells]]
    cells: str


class ProfileDocument(BaseModel):
    """A profile of a run set."""

    position: int = Field(description="Its number in the run set's file, from 0.")
    name: str
    series: str
    configuration: str = Field(description="The hash of `document`: the same configuration has the same cells.")
    routing: dict[str, Any] = Field(description="What runs it and changes no result.")
    document: dict[str, Any] = Field(description="What its results depend on.")


class RunningAttempt(BaseModel):
    """An attempt that runs now."""

    id: UUID
    cell_id: UUID
    content_digest: str = Field(description="Its task's.")
    started_at: datetime
    phase: str
    profile: int = Field(description="Its profile's position.")


class RevisionDocument(BaseModel):
    """What a leaderboard said of a profile's series at a time."""

    created_at: datetime
    profile: str
    series: str
    suite_id: str
    configuration: str
    revision: int = Field(description="Counted for the configuration and the suite, from 1.")
    policy_version: str
    counts: dict[str, Any]
    comparable: bool
    reasons: list[str] = Field(description="Why it is not comparable.")
    run_set_id: UUID
    run_set: str = Field(description="Its name.")
