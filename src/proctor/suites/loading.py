"""Read a suite from a folder: one task, or a folder of task folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from proctor.suites.digests import suite_digest
from proctor.suites.errors import DuplicateTask, LinkBroken, SuitePathInvalid
from proctor.suites.files import printable
from proctor.suites.formats.harbor import CONFIG_FILE, INSTRUCTION_FILE, load_task
from proctor.suites.formats.terminal_bench import TASK_FILE, load_terminal_bench_task
from proctor.suites.loaded import LoadedSuite, LoadedTask
from proctor.suites.tasks import TaskNote

__all__ = ["is_task_folder", "load_folder", "load_suite", "load_tasks", "suite_of", "tasks_further_down"]


def load_suite(path: Path) -> LoadedSuite:
    """The suite at a path, its tasks in the order of their folders' names.

    A malformed task stays in the suite with its problems. Two folders with the same content are one task,
    with a note. Raises ``SuitePathInvalid`` if there is no task, ``LinkBroken`` for a link that leads nowhere,
    and ``DuplicateTask`` if two different usable tasks have one name or are the same exam.
    """
    if not path.is_dir():
        raise SuitePathInvalid("There is no such folder.", where=str(path))
    if not _readable(path):
        raise SuitePathInvalid("This folder can't be read.", where=str(path), remedy="Let this user read it.")
    tasks, notes = load_tasks(path)
    if not tasks:
        raise SuitePathInvalid(_where_tasks_are(path), where=str(path))
    return suite_of(path, tasks, notes)


def load_tasks(path: Path) -> tuple[list[LoadedTask], list[TaskNote]]:
    """Every task folder at a path, and a note for each folder that is none. Raises ``LinkBroken``."""
    folders, notes = _task_folders(path)
    if not is_task_folder(path):
        _refuse_broken_links(path)
    return [load_folder(folder) for folder in folders], notes


def load_folder(folder: Path) -> LoadedTask:
    """One task folder of either format; where files of both are there, it is Harbor's."""
    is_harbor = any(os.path.lexists(folder / name) for name in (CONFIG_FILE, INSTRUCTION_FILE))
    return load_task(folder) if is_harbor else load_terminal_bench_task(folder)


def suite_of(path: Path, loaded: Iterable[LoadedTask], notes: Iterable[TaskNote] = ()) -> LoadedSuite:
    """A suite of these tasks. Raises ``DuplicateTask`` as ``load_suite`` does."""
    tasks, repeated = _distinct(loaded)
    _refuse_ambiguity(tasks)
    return LoadedSuite(
        path=path,
        suite_id=suite_digest(task.content_digest for task in tasks),
        tasks=tuple(tasks),
        notes=(*notes, *repeated),
    )


def is_task_folder(path: Path) -> bool:
    """Whether a folder means to be a task: it has a task.toml, an instruction.md or a task.yaml, good or bad."""
    return any(os.path.lexists(path / name) for name in (CONFIG_FILE, INSTRUCTION_FILE, TASK_FILE))


def tasks_further_down(path: Path) -> str:
    """What to tell of folders beside tasks that hold tasks themselves and are not read; empty where none does."""
    if is_task_folder(path):
        return ""
    entries = [one for one in sorted(path.iterdir()) if one.is_dir() and not one.name.startswith(".")]
    groups = [one for one in entries if _readable(one) and not is_task_folder(one) and _task_folders(one)[0]]
    names = ", ".join(printable(one.name) for one in groups[:5]) + (", ..." if len(groups) > 5 else "")
    return f"tasks in {names} are not read: a suite's tasks are the folders directly below it" if groups else ""


def _task_folders(path: Path) -> tuple[list[Path], list[TaskNote]]:
    if is_task_folder(path):
        return [path], []
    folders: list[Path] = []
    notes: list[TaskNote] = []
    for entry in sorted(path.iterdir()):
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        if is_task_folder(entry) or not _readable(entry):  # what is closed may be a task: it counts, as malformed
            folders.append(entry)
        else:
            notes.append(
                TaskNote(file=entry.name, text="has neither task.toml nor instruction.md nor task.yaml: no task")
            )
    return folders, notes


def _refuse_broken_links(path: Path) -> None:
    for entry in sorted(path.iterdir()):
        if entry.is_symlink() and not entry.exists() and not entry.name.startswith("."):
            raise LinkBroken(where=str(entry))


def _readable(path: Path) -> bool:
    return os.access(path, os.R_OK | os.X_OK)


def _where_tasks_are(path: Path) -> str:
    for entry in sorted(path.iterdir()):
        if entry.name.startswith(".") or not entry.is_dir() or not _readable(entry):
            continue
        if _task_folders(entry)[0]:
            return f"There is no task in it; did you mean {entry}?"
    return "There is no task in it."


def _distinct(tasks: Iterable[LoadedTask]) -> tuple[list[LoadedTask], list[TaskNote]]:
    first: dict[str, LoadedTask] = {}
    notes: list[TaskNote] = []
    for task in tasks:
        same = first.setdefault(task.content_digest, task)
        if same is not task:
            text = f"has the same content as {same.folder.name} and is counted once"
            notes.append(TaskNote(file=task.folder.name, text=text))
    return list(first.values()), notes


def _refuse_ambiguity(tasks: Sequence[LoadedTask]) -> None:
    """Results are shown by name and keyed by what agent and verifier see; each must lead to one task."""
    names: dict[str, LoadedTask] = {}
    exams: dict[tuple[str, str], LoadedTask] = {}
    for task in (task for task in tasks if not task.problems):
        other = names.setdefault(task.name, task)
        if other is not task:
            raise DuplicateTask(
                f"{other.folder.name} and {task.folder.name} are both named {task.name}.", where=str(task.folder)
            )
        twin = exams.setdefault((task.agent_digest, task.verifier_digest), task)
        if twin is not task:
            raise DuplicateTask(
                f"{twin.folder.name} and {task.folder.name} differ in nothing that an agent or verifier sees.",
                where=str(task.folder),
            )
