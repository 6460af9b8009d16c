"""What can go wrong with run sets.

EngineError
├── SpecInvalid             the run-set file
├── PolicyInvalid           an outcome policy file
├── RunSetUnknown           no such run set, or several
├── RunSetEnded             nothing of it is left to pause or cancel
├── RunSetStopped           it was paused or cancelled, with all its cells
├── RunSetImported          results of others can't be gone on with
├── RunSetRuns              attempts of it are running
├── RunSetMoved             what the file resolves to has changed since
├── SecretMissing           a secret that the file names is not set
├── SecretsClosed           secrets that are kept can't be opened on this machine
├── AttemptUnknown          no such attempt or cell
├── CellUnknown             no such cell in a run set
├── LabelUnknown            no run set has that label
├── ReferenceInvalid        not a run set, profile or label as compare and gate take them
├── NothingToCompare        no two profiles are left to compare
└── GateInvalid             a threshold that can't be one, or no gate at all
├── SeriesUnknown           no such series
└── NoTaskFits              no task has a name of that pattern
"""

from __future__ import annotations

from proctor.kernel.errors import ProctorError, UsageError

__all__ = [
    "AttemptUnknown",
    "CellUnknown",
    "EngineError",
    "GateInvalid",
    "LabelUnknown",
    "NoTaskFits",
    "NothingToCompare",
    "PolicyInvalid",
    "ReferenceInvalid",
    "RunSetEnded",
    "RunSetImported",
    "RunSetMoved",
    "RunSetRuns",
    "RunSetStopped",
    "RunSetUnknown",
    "SecretMissing",
    "SecretsClosed",
    "SeriesUnknown",
    "SpecInvalid",
]


class EngineError(ProctorError):
    """The engine failed."""

    code = "engine"


class SpecInvalid(UsageError):
    """The run-set file is not right."""

    code = "run-set-file"
    remedy = "Correct the field that is named; `proctor init` writes a commented example."


class PolicyInvalid(UsageError):
    """The outcome policy file is not right."""

    code = "outcome-policy"
    remedy = "Correct the place that is named; docs/how-to/reclassify.md says what a policy may say."


class RunSetUnknown(UsageError):
    """There is no such run set."""

    code = "run-set-unknown"
    remedy = "`proctor status` lists the run sets."


class RunSetEnded(UsageError):
    """This run set has ended; there is nothing to pause or cancel."""

    code = "run-set-ended"
    remedy = "`proctor resume` goes on with one that was cancelled or has gaps."


class RunSetStopped(UsageError):
    """This run set was stopped as a whole; some of its cells can't go on alone."""

    code = "run-set-stopped"
    remedy = "`proctor resume` without a choice of cells goes on with all that it owes."


class RunSetRuns(UsageError):
    """Attempts of this run set are running; their outcomes would be of the policy that it leaves."""

    code = "run-set-runs"
    remedy = "Wait for them, or `proctor pause` and wait for those that run."


class RunSetImported(UsageError):
    """These are results that others made; what they owe can't be run here."""

    code = "run-set-imported"
    remedy = "Run its suite with profiles of your own; `proctor audit` tells what can be linked."


class RunSetMoved(UsageError):
    """What this file resolves to has changed since it was last run; nothing was started."""

    code = "run-set-moved"
    remedy = "Choose --continue to go on with what was resolved then, or --new for a new run set."


class AttemptUnknown(UsageError):
    """There is no such attempt."""

    code = "attempt-unknown"
    remedy = "`proctor cells` lists cells with their attempts."


class CellUnknown(UsageError):
    """There is no such cell in this run set."""

    code = "cell-unknown"
    remedy = "`proctor cells` lists its cells."


class SeriesUnknown(UsageError):
    """There is no such series."""

    code = "series-unknown"
    remedy = "A series is a profile's `series`, or its name: `proctor profile list RUN_SET`."


class NoTaskFits(UsageError):
    """No task of the suite has a name of that pattern; nothing was started."""

    code = "no-task-fits"
    remedy = "`proctor suite show SUITE` lists a suite's tasks; a pattern is of a whole name, such as '*orders*'."


class SecretMissing(UsageError):
    """A secret that the run-set file names is not set."""

    code = "secret-missing"
    remedy = "Set the variable that is named, or take it out of [secrets]."


class SecretsClosed(EngineError):
    """The secrets of the run set can't be opened on this worker's machine."""

    code = "secrets-closed"
    remedy = "An administrator of the installation finds the reason in the worker's log."


class LabelUnknown(UsageError):
    """No run set has that label."""

    code = "label-unknown"
    remedy = "`proctor label RUN_SET NAME` sets one; `proctor label` lists them."


class ReferenceInvalid(UsageError):
    """That is not a run set or a profile of one."""

    code = "comparison-reference"
    remedy = "Write RUN_SET, RUN_SET:PROFILE, label:NAME or label:NAME:PROFILE."


class NothingToCompare(UsageError):
    """There are no two profiles to compare."""

    code = "nothing-to-compare"
    remedy = "Name two run sets with profiles of the same name, or two profiles as RUN_SET:PROFILE."


class GateInvalid(UsageError):
    """The gate can't be one."""

    code = "gate"
    remedy = "Write --fail-under strict=0.8 or graded=0.7 (0 to 1), or --against REF; or set [gate] in the file."
