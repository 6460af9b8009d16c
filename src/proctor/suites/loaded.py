"""What reading a folder gives: tasks with their digests, the malformed ones with what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from proctor.suites.files import TaskFile
from proctor.suites.tasks import Task, TaskNote, TaskProblem

__all__ = ["LoadedSuite", "LoadedTask"]


@dataclass(frozen=True, kw_only=True)
class LoadedTask:
    """One task folder. ``task`` is ``None`` exactly where there are problems."""

    folder: Path
    name: str
    content_digest: str
    agent_digest: str
    verifier_digest: str
    task: Task | None
    problems: tuple[TaskProblem, ...] = ()
    notes: tuple[TaskNote, ...] = ()
    files: tuple[TaskFile, ...] = ()
    laid_out: bool = False
    """Whether ``files`` have other places than in the folder: a runner needs them where the files say."""


@dataclass(frozen=True, kw_only=True)
class LoadedSuite:
    """A folder of tasks, or one task, in the order of their folders' names."""

    path: Path
    suite_id: str
    tasks: tuple[LoadedTask, ...]
    notes: tuple[TaskNote, ...] = ()

    @property
    def malformed(self) -> tuple[LoadedTask, ...]:
        """The tasks that can't be run, each with its problems."""
        return tuple(task for task in self.tasks if task.problems)
