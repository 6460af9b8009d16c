"""What can go wrong with evaluation jobs.

ProctorError
├── UsageError
│   ├── JobUnknown        there is no such job
│   ├── JobEnded          it can't be paused, resumed or cancelled any more
│   ├── JobInvalid        what was asked for can't be done
│   ├── SamplesUnknown    there are no such outputs
│   ├── SamplesInvalid    outputs can't be read, or are of no example
│   └── TargetInvalid     what is to make the outputs can't be asked
"""

from __future__ import annotations

from proctor.kernel.errors import UsageError

__all__ = ["JobEnded", "JobInvalid", "JobUnknown", "SamplesInvalid", "SamplesUnknown", "TargetInvalid"]


class JobUnknown(UsageError):
    """There is no such evaluation job."""

    code = "job-unknown"
    remedy = "`proctor job list` names those there are."


class JobEnded(UsageError):
    """The job has ended."""

    code = "job-ended"
    remedy = "`proctor job show JOB` says how; submit it again for other results."


class JobInvalid(UsageError):
    """The job can't be done as it is asked for."""

    code = "job-invalid"
    remedy = "Correct the field that is named."


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
