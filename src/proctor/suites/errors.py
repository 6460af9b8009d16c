"""What can go wrong with suites.

UsageError
├── SuitePathInvalid    the path holds no tasks
├── LinkBroken          a link of a suite leads nowhere, and may have been a task
├── DuplicateTask       two folders of a suite cannot be told apart
├── SuiteUnknown        no suite has that id, prefix or label
├── AliasInvalid        a label that cannot be one
├── TaskUnknown         no task has that digest
├── TaskChanged         a file changed while it was imported
├── DatasetInvalid      a dataset file says nothing that can be resolved
├── DatasetMismatch     tasks of a dataset are missing or differ
├── CheckoutMismatch    files are not those of the commit that is named
├── TaskExists          a new task would overwrite a folder
└── VariableMissing     a task names a variable that nobody gave
OwnFault
└── ArchiveInvalid      a stored task is not what was stored

A malformed task is no error: it is a row with its ``TaskProblem`` and never stops its neighbours.
"""

from __future__ import annotations

from proctor.kernel.errors import OwnFault, UsageError

__all__ = [
    "AliasInvalid",
    "ArchiveInvalid",
    "CheckoutMismatch",
    "DatasetInvalid",
    "DatasetMismatch",
    "DuplicateTask",
    "LinkBroken",
    "SuitePathInvalid",
    "SuiteUnknown",
    "TaskChanged",
    "TaskExists",
    "TaskUnknown",
    "VariableMissing",
]


class SuitePathInvalid(UsageError):
    """There are no tasks at that path."""

    code = "suite-path"
    remedy = "Give a task folder (with task.toml or task.yaml), or a folder of task folders."


class LinkBroken(UsageError):
    """A link leads nowhere. It may have been a task, and a suite without it would be another exam."""

    code = "suite-link"
    remedy = "Mend the link or remove it; `cp -rL` copies what links lead to."


class DuplicateTask(UsageError):
    """Two folders of a suite cannot be told apart."""

    code = "suite-duplicate-task"
    remedy = "Rename one of them in its [task] table, or remove it."


class SuiteUnknown(UsageError):
    """No suite has that id, prefix or label."""

    code = "suite-unknown"
    remedy = "List the known ones with `proctor suite list`."


class AliasInvalid(UsageError):
    """That label can't be used."""

    code = "suite-alias"
    remedy = "Use letters, digits and . _ / @ - (at most 100), not a hexadecimal number that looks like an id."


class TaskUnknown(UsageError):
    """No task has that digest."""

    code = "task-unknown"
    remedy = "Import its suite first."


class TaskChanged(UsageError):
    """A task's file changed while the suite was being imported."""

    code = "task-changed"
    remedy = "Import the suite again when nothing writes to it."


class DatasetInvalid(UsageError):
    """The dataset file can't be resolved as it stands."""

    code = "dataset-invalid"
    remedy = "Correct what is named; docs/reference/task-format.md says what is read of a dataset."


class DatasetMismatch(UsageError):
    """The folder does not hold the tasks that the dataset names."""

    code = "dataset-mismatch"
    remedy = "Bring the folder to the state that was published; nothing was imported."


class CheckoutMismatch(UsageError):
    """The files are not those of the commit that the dataset names."""

    code = "dataset-checkout"
    remedy = "Check that commit out without changes of your own; nothing was imported."


class TaskExists(UsageError):
    """There is something at that path already."""

    code = "task-exists"
    remedy = "Choose another name, or remove what is there."


class VariableMissing(UsageError):
    """The task needs a variable that was not given."""

    code = "task-variable"
    remedy = "Name it under [secrets] in the run-set file and set it."


class ArchiveInvalid(OwnFault):
    """The stored archive of a task is not what was stored."""

    code = "task-archive"
    remedy = "Restore the object store from its backup."
