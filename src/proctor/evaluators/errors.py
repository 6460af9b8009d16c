"""What can go wrong with evaluators.

ProctorError
├── UsageError
│   ├── EvaluatorUnknown        a reference leads nowhere
│   ├── TypeUnknown             there is no such type of evaluator
│   ├── EvaluatorNameInvalid    a name can't be given to an evaluator
│   ├── ConfigurationInvalid    a type can't be configured so
│   ├── EvaluatorForbidden      the installation's administrator forbids it to the tenant
│   ├── EvaluatorOutdated       it was registered for an implementation that this program has not
│   ├── EvaluatorsFull          a tenant has as many versions as it may have
│   ├── EvaluatorFileInvalid    a file to register can't be read
│   └── EvaluatorNotHere        it needs what this process does not have
└── EmbeddingFailed             no vectors came back
"""

from __future__ import annotations

from proctor.evaluators.statuses import Status
from proctor.kernel.errors import ProctorError, UsageError

__all__ = [
    "ConfigurationInvalid",
    "EmbeddingFailed",
    "EvaluatorFileInvalid",
    "EvaluatorForbidden",
    "EvaluatorNameInvalid",
    "EvaluatorNotHere",
    "EvaluatorOutdated",
    "EvaluatorUnknown",
    "EvaluatorsFull",
    "TypeUnknown",
]


class EvaluatorUnknown(UsageError):
    """There is no such evaluator."""

    code = "evaluator-unknown"
    remedy = "`proctor evaluators list` names those there are."


class TypeUnknown(UsageError):
    """There is no such type of evaluator."""

    code = "evaluator-type"
    remedy = "docs/reference/evaluators.md lists the types."


class EvaluatorNameInvalid(UsageError):
    """An evaluator can't be named so."""

    code = "evaluator-name"
    remedy = "Begin with a letter or digit; then letters, digits, '.', '_' and '-', at most 100 in all."


class ConfigurationInvalid(UsageError):
    """An evaluator can't be configured so."""

    code = "evaluator-configuration"
    remedy = "Correct what is named; docs/reference/evaluators.md lists what each type takes."


class EvaluatorForbidden(UsageError):
    """This tenant may not use the evaluator."""

    code = "evaluator-forbidden"
    remedy = "Choose another, or ask an administrator of the installation to allow it."


class EvaluatorOutdated(UsageError):
    """The evaluator was registered for another implementation of its type; its numbers would not be comparable."""

    code = "evaluator-outdated"
    remedy = "Register it again: it becomes a new version."


class EvaluatorsFull(UsageError):
    """There are as many versions of evaluators as a tenant may have."""

    code = "evaluators-full"
    remedy = "Use versions that are there: the same definition under the same name is no new one."


class EvaluatorFileInvalid(UsageError):
    """The file of an evaluator can't be read."""

    code = "evaluator-file"
    remedy = "Correct it; docs/reference/evaluators.md has an example."


class EvaluatorNotHere(UsageError):
    """The evaluator needs what is not to be had here."""

    code = "evaluator-not-here"
    remedy = "Choose another evaluator."


class EmbeddingFailed(ProctorError):
    """No vectors came back."""

    code = "embedding-failed"

    def __init__(self, message: str, *, status: Status) -> None:
        """``status``: what the rows that needed them get."""
        super().__init__(message)
        self.status = status
