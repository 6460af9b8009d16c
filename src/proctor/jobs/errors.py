"""What can go wrong with evaluation jobs.

ProctorError
├── UsageError
│   ├── JobUnknown        there is no such job
│   ├── JobEnded          it can't be paused, resumed or cancelled any more
│   ├── JobRunning        it can't be deleted yet
│   ├── JobHeld           a legal hold keeps it
│   ├── JobInvalid        what was asked for can't be done
│   ├── StreamClosed      rows can't be added to it
│   ├── StreamTaken       a stream of that name is open
│   ├── SamplesUnknown    there are no such outputs
│   ├── SamplesInvalid    outputs can't be read, or are of no example
│   ├── SamplesUsed       jobs refer to the outputs
│   ├── TargetInvalid     what is to make the outputs can't be asked
│   ├── PromptUnknown     there is no such version of a prompt
│   └── PromptInvalid     a prompt can't be kept
"""

from __future__ import annotations

from proctor.kernel.errors import UsageError

__all__ = [
    "JobEnded",
    "JobHeld",
    "JobInvalid",
    "JobRunning",
    "JobUnknown",
    "PromptInvalid",
    "PromptUnknown",
    "SamplesInvalid",
    "SamplesUnknown",
    "SamplesUsed",
    "StreamClosed",
    "StreamTaken",
    "TargetInvalid",
]


class JobUnknown(UsageError):
    """There is no such evaluation job."""

    code = "job-unknown"
    remedy = "`proctor job list` names those there are."


class JobEnded(UsageError):
    """The job has ended."""

    code = "job-ended"
    remedy = "`proctor job show JOB` says how; submit it again for other results."


class JobRunning(UsageError):
    """The job has not ended."""

    code = "job-running"
    remedy = "`proctor job cancel JOB` ends it; its last chunks take a moment more."


class JobHeld(UsageError):
    """A legal hold keeps the job."""

    code = "job-held"
    remedy = "An owner may release it: `proctor job release JOB`."


class JobInvalid(UsageError):
    """The job can't be done as it is asked for."""

    code = "job-invalid"
    remedy = "Correct the field that is named."


class StreamClosed(UsageError):
    """It is no open stream."""

    code = "stream-closed"
    remedy = "`proctor stream open NAME --evaluator EVALUATOR` opens one."


class StreamTaken(UsageError):
    """A stream of that name is open."""

    code = "stream-taken"
    remedy = "Close it first, `proctor stream close NAME`, or choose another name."


class SamplesUnknown(UsageError):
    """There are no such outputs."""

    code = "samples-unknown"
    remedy = "`proctor samples list` names those there are."


class SamplesInvalid(UsageError):
    """The outputs can't be taken."""

    code = "samples-invalid"
    remedy = "Each row names an example of the dataset version by its id, and holds its output."


class TargetInvalid(UsageError):
    """The target can't be asked so."""

    code = "target-invalid"
    remedy = "Correct the field that is named; docs/how-to/judge-outputs.md has an example."


class SamplesUsed(UsageError):
    """A job refers to the outputs."""

    code = "samples-used"
    remedy = "Delete the job first: `proctor job delete JOB`."


class PromptUnknown(UsageError):
    """There is no such version of a prompt."""

    code = "prompt-unknown"
    remedy = "`proctor prompts list` names those there are."


class PromptInvalid(UsageError):
    """The prompt can't be kept."""

    code = "prompt-invalid"
    remedy = "Change what is named, and add it again."
