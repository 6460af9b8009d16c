"""What can go wrong with a sandbox.

SandboxError
├── UnsupportedByBackend    the spec asks for what this backend or machine can't do
├── SandboxStartError       it did not start: infrastructure
├── ExecChannelError        the way to its first process broke: infrastructure
├── HostDiskFull            the host's disk had no room while it ran: infrastructure
├── SandboxGone             it was destroyed or died
└── TransferRefused         what came out was hostile or too large
"""

from __future__ import annotations

from proctor.kernel.errors import ProctorError

__all__ = [
    "ExecChannelError",
    "HostDiskFull",
    "SandboxError",
    "SandboxGone",
    "SandboxStartError",
    "TransferRefused",
    "UnsupportedByBackend",
]


class SandboxError(ProctorError):
    """A sandbox failed."""

    code = "sandbox"


class UnsupportedByBackend(SandboxError):
    """This sandbox backend can't give what the task asks for."""

    code = "sandbox-unsupported"
    exit_code = 2
    remedy = "Run the task with another backend, or on a machine that has what is named."


class SandboxStartError(SandboxError):
    """The sandbox did not start."""

    code = "sandbox-start"
    remedy = "Run `proctor doctor`."


class ExecChannelError(SandboxError):
    """The channel to the sandbox broke."""

    code = "sandbox-channel"


class HostDiskFull(SandboxError):
    """The disk that sandboxes are on was full while a command ran."""

    code = "sandbox-host-disk-full"
    remedy = "Free some space there, or name another disk with PROCTOR_SANDBOX_ROOT."


class SandboxGone(SandboxError):
    """The sandbox is no longer there."""

    code = "sandbox-gone"


class TransferRefused(SandboxError):
    """Files from the sandbox were refused."""

    code = "sandbox-transfer"
