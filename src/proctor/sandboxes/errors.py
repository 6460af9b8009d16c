"""What can go wrong with a sandbox.

SandboxError
├── UnsupportedByBackend    the spec asks for what this backend or machine can't do
├── ImagePullFailed         its image did not come: infrastructure
├── SandboxStartError       it did not start: infrastructure
├── ExecChannelError        the way to its first process broke: infrastructure
├── HostDiskFull            the host's disk had no room while it ran: infrastructure
├── SandboxGone             it was destroyed or died
├── ServiceStopped          the program of a service beside it has ended
├── ServiceFailed           a service beside it did not become ready: the task's, where that is sure
├── NodeLost                it went with its machine: infrastructure, elsewhere at once
└── TransferRefused         what came out was hostile or too large
    ├── NothingThere        there is nothing at that path
    └── LeftBroken          what an agent left can't be started again
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from proctor.kernel.errors import ProctorError

if TYPE_CHECKING:
    from proctor.kernel.canonical import Json

__all__ = [
    "ExecChannelError",
    "HostDiskFull",
    "ImagePullFailed",
    "LeftBroken",
    "NodeLost",
    "NothingThere",
    "SandboxError",
    "SandboxGone",
    "SandboxStartError",
    "ServiceFailed",
    "ServiceFault",
    "ServiceStopped",
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


class ImagePullFailed(SandboxError):
    """The image could not be pulled."""

    code = "image-pull"
    remedy = "Look at the registry and the network; it is tried again."

    def __init__(
        self,
        message: str = "",
        *,
        engine_exit: int | None = None,
        http_status: int | None = None,
        registry: str | None = None,
        where: str | None = None,
    ) -> None:
        """``engine_exit``: how the engine's CLI ended; ``http_status``: what the registry itself answered, if it did;
        ``registry``: the one that failed, where it is known to be the registry and not the image.

        The docker CLI exits 18 when a registry drops the connection in mid-pull: that says nothing of credentials.
        """
        super().__init__(message, where=where)
        self.engine_exit, self.http_status, self.registry = engine_exit, http_status, registry

    def facts(self) -> Mapping[str, Json]:
        """The fields of its evidence."""
        known: dict[str, Json] = {
            "engine_exit": self.engine_exit,
            "http_status": self.http_status,
            "registry": self.registry,
        }
        return {name: value for name, value in known.items() if value is not None}


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


class ServiceStopped(SandboxError):
    """The service does not run any more."""

    code = "sandbox-service-stopped"


class ServiceFault(StrEnum):
    """What a service did instead of becoming ready."""

    NO_PROGRAM = "no_program"
    """Its image has no program of the name that it is started with."""
    EXITED = "exited"
    """Its program ended by itself."""
    KILLED = "killed"
    """Its program was ended by somebody: the kernel, the engine or its machine."""
    UNHEALTHY = "unhealthy"
    """Nothing ended, and it was not ready in the time that the task gives it."""


class ServiceFailed(SandboxError):
    """A service of the task did not become ready."""

    code = "sandbox-service-failed"
    remedy = "Its image, command and healthcheck are the task's own."

    def __init__(
        self,
        message: str = "",
        *,
        service: str,
        fault: ServiceFault,
        ended_with: int | None = None,
        repeated: bool = False,
    ) -> None:
        """``ended_with``: its exit code; ``repeated``: an earlier attempt met the same, and none any better."""
        super().__init__(message, where=f"services.{service}")
        self.service, self.fault, self.ended_with, self.repeated = service, fault, ended_with, repeated

    @property
    def is_the_tasks(self) -> bool:
        """A busy machine can make a service slow, and a lost connection can end it, so that once proves little."""
        return self.fault is ServiceFault.NO_PROGRAM or (self.repeated and self.fault is not ServiceFault.KILLED)

    def again(self) -> ServiceFailed:
        """The same, met for another time."""
        return ServiceFailed(
            self.message, service=self.service, fault=self.fault, ended_with=self.ended_with, repeated=True
        )

    def facts(self) -> Mapping[str, Json]:
        """The fields of its evidence."""
        return {
            "service": self.service,
            "service_fault": self.fault.value,
            "service_exit": self.ended_with,
            "repeated": self.repeated,
        }


class NodeLost(SandboxError):
    """The machine under the sandbox was taken away."""

    code = "node-lost"

    def __init__(self, message: str = "", *, kube_reason: str, where: str | None = None) -> None:
        """``kube_reason`` in Kubernetes' words: ``Evicted``, ``NodeLost``, ``Preempting``, ``NodeShutdown``."""
        super().__init__(message, where=where)
        self.kube_reason = kube_reason

    def facts(self) -> Mapping[str, Json]:
        """The fields of its evidence."""
        return {"kube_reason": self.kube_reason}


class TransferRefused(SandboxError):
    """Files from the sandbox were refused."""

    code = "sandbox-transfer"


class NothingThere(TransferRefused):
    """There is nothing at that path of the sandbox."""

    code = "sandbox-nothing-there"


class LeftBroken(TransferRefused):
    """What commands left in the sandbox can't be started again."""

    code = "sandbox-left-broken"
