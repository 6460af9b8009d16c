"""A dataset file and a folder of tasks become a suite of exactly the tasks that the file names, or nothing does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.suites.checkouts import open_checkout
from proctor.suites.digests import content_digest
from proctor.suites.errors import CheckoutMismatch, DatasetInvalid, DatasetMismatch
from proctor.suites.files import printable
from proctor.suites.formats.dataset_files import DatasetToml, RegistryDataset, read_dataset, read_registry
from proctor.suites.loaded import LoadedSuite, LoadedTask
from proctor.suites.loading import is_task_folder, load_folder, load_tasks, suite_of

__all__ = ["ResolvedDataset", "resolve_dataset"]

_SHOWN: int = 10
"""Tasks that are named one by one; the rest is counted."""


@dataclass(frozen=True, kw_only=True)
class ResolvedDataset:
    """A dataset with its tasks found. ``hash`` is Harbor's, where it has one; ``files`` are named and never run."""

    name: str
    version: str | None
    hash: str | None
    files: tuple[str, ...]
    suite: LoadedSuite

    @property
    def label(self) -> str:
        """``NAME@VERSION``, as the field writes it."""
        return self.name if self.version is None else f"{self.name}@{self.version}"


def resolve_dataset(file: Path, tasks: Path, *, dataset: str | None = None) -> ResolvedDataset:
    """The tasks that a ``dataset.toml`` or ``registry.json`` names, found below ``tasks``.

    Raises ``DatasetInvalid`` for the file, ``DatasetMismatch`` where a task is missing or differs in digest, and
    ``CheckoutMismatch`` where it is not that of its commit.
    """
    if not tasks.is_dir():
        raise DatasetInvalid("There is no such folder of tasks.", where=str(tasks))
    if file.suffix == ".json":
        return _of_registry(read_registry(file, dataset), file, tasks)
    if dataset is not None:
        raise DatasetInvalid("--dataset chooses from a registry.json; a dataset.toml is one dataset.", where=str(file))
    return _of_digests(read_dataset(file), file, tasks)


# --- dataset.toml: by digest --------------------------------------------------------------------------------------


def _of_digests(wanted: DatasetToml, file: Path, folder: Path) -> ResolvedDataset:
    found, _ = load_tasks(folder)
    by_digest = {_plain_digest(task): task for task in reversed(found)}
    missing = [one for one in wanted.tasks if one.digest not in by_digest]
    if missing:
        raise DatasetMismatch(_listed(_difference(one.name, one.digest, found) for one in missing), where=str(folder))
    other = [(one, task) for one in wanted.tasks if not _named(task := by_digest[one.digest], one.name)]
    if other:
        raise DatasetMismatch(
            _listed(f"{one.name}: its digest is that of {task.name}" for one, task in other), where=str(file)
        )
    return ResolvedDataset(
        name=wanted.dataset.name,
        version=wanted.dataset.version,
        hash=wanted.hash,
        files=tuple(printable(one.path) for one in wanted.files),
        suite=suite_of(file, [by_digest[one.digest] for one in wanted.tasks]),
    )


def _plain_digest(task: LoadedTask) -> str:
    """The field's own digest; of a malformed task too, which has another one here."""
    return f"sha256:{content_digest(task.files) if task.problems else task.content_digest}"


def _named(task: LoadedTask, name: str) -> bool:
    """Whether a task can be meant by a name: its own, or its folder's where it gives itself none."""
    return name == task.name or ("/" not in task.name and name.partition("/")[2] in (task.name, task.folder.name))


def _difference(name: str, digest: str, found: Sequence[LoadedTask]) -> str:
    short = name.partition("/")[2]
    named = [task for task in found if name == task.name or short in (task.name, task.folder.name)]
    there = " or ".join(_plain_digest(task) for task in named)
    return f"{name}: wanted {digest}, found {there or 'no task of that name'}"


# --- registry.json: by commit -------------------------------------------------------------------------------------


def _of_registry(wanted: RegistryDataset, file: Path, folder: Path) -> ResolvedDataset:
    missing = [f"{one.name}: no task at {one.path}" for one in wanted.tasks if not is_task_folder(folder / one.path)]
    if missing:
        raise DatasetMismatch(_listed(missing), where=str(folder))
    first = wanted.tasks[0]
    checkout = open_checkout(folder, url=first.git_url, commit=first.git_commit_id)
    loaded = [load_folder(checkout.root / one.path) for one in wanted.tasks]
    compared = [
        (one, checkout.difference(one.git_commit_id, one.path, task))
        for one, task in zip(wanted.tasks, loaded, strict=True)
    ]
    differing = [(one, how) for one, how in compared if how is not None]
    if differing:
        commits = sorted({one.git_commit_id for one, _ in differing})
        remedy = f"git -C {folder} fetch origin && git -C {folder} checkout {commits[0]}, without changes of your own."
        if len({one.git_commit_id for one in wanted.tasks}) > 1:
            remedy += " The dataset names several commits: bring each path from its own (git checkout COMMIT -- PATH)."
        raise CheckoutMismatch(
            _listed(f"{one.name}: {how}" for one, how in differing), where=str(folder), remedy=remedy
        )
    return ResolvedDataset(
        name=printable(wanted.name),
        version=printable(wanted.version),
        hash=None,
        files=(),
        suite=suite_of(file, loaded),
    )


def _listed(lines: Iterable[str]) -> str:
    told = [printable(line) for line in lines]
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more + "."
