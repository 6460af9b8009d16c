"""A sandbox backend that fails as real ones do, in the places where they do."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from proctor.engine.faults.hits import Hit
from proctor.engine.faults.plan import FaultKind
from proctor.sandboxes.errors import ImagePullFailed, NodeLost, SandboxStartError
from proctor.sandboxes.interfaces import (
    Capabilities,
    Check,
    ExecRequest,
    ExecResult,
    Footing,
    Labels,
    LimitKind,
    Reach,
    Sandbox,
    SandboxBackend,
    SandboxSpec,
    Service,
    Snapshot,
    Strength,
    TransferLimits,
)
from proctor.sandboxes.registries import registry_of

__all__ = ["FaultyBackend", "FaultySandbox"]

PULL_DROPPED: int = 18
"""What the docker CLI exits with when a registry drops the connection in mid-pull."""
_OUT_OF_MEMORY = ExecResult(exit_code=None, signal=int(signal.SIGKILL), oom=True, limit=LimitKind.MEMORY)
_CRASHED = ExecResult(exit_code=None, signal=int(signal.SIGSEGV))


class FaultyBackend:
    """Another backend but for the faults of one attempt: a dropped pull, a full disk, and those of its sandboxes."""

    def __init__(self, backend: SandboxBackend, hit: Hit) -> None:
        self._backend, self._hit = backend, hit

    @property
    def name(self) -> str:
        """The real one's."""
        return self._backend.name

    def capabilities(self) -> Capabilities:
        """The real one's."""
        return self._backend.capabilities()

    def environment_identity(self, tools: Sequence[str]) -> Mapping[str, str]:
        """The real one's."""
        return self._backend.environment_identity(tools)

    def footing(self) -> Footing | None:
        """The real one's."""
        return self._backend.footing()

    def doctor(self) -> Sequence[Check]:
        """The real one's."""
        return self._backend.doctor()

    async def has(self, image: str) -> bool:
        """As the backend."""
        return await self._backend.has(image)

    async def pull(self, image: str | None) -> str:
        """``pull_drop``: as the docker CLI ends when the connection drops in mid-pull."""
        if self._hit.makes(FaultKind.PULL_DROP):
            raise ImagePullFailed(
                "docker pull: unexpected EOF",
                engine_exit=PULL_DROPPED,
                registry=registry_of(image) if image else None,
                where=image,
            )
        return await self._backend.pull(image)

    async def build(self, folder: Path, timeout_sec: float, dockerfile: str = "Dockerfile") -> str:
        """``pull_drop``: as a build ends whose base image does not come."""
        if self._hit.makes(FaultKind.PULL_DROP):
            raise ImagePullFailed("docker build: unexpected EOF", engine_exit=PULL_DROPPED, where=str(folder))
        return await self._backend.build(folder, timeout_sec, dockerfile)

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """``full_disk``: the host has no room for the sandbox's files."""
        if self._hit.makes(FaultKind.FULL_DISK):
            words = os.strerror(errno.ENOSPC)
            raise SandboxStartError(words) from OSError(errno.ENOSPC, words)
        return FaultySandbox(await self._backend.create(spec), self._hit)

    async def leaked(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """As the backend."""
        return await self._backend.leaked(is_live)

    async def reap(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """The real one's."""
        return await self._backend.reap(is_live)


class FaultySandbox:
    """Another sandbox but for faults: its memory limit, its node's eviction, the verifier's crash."""

    def __init__(self, sandbox: Sandbox, hit: Hit) -> None:
        self._sandbox, self._hit = sandbox, hit

    @property
    def id(self) -> str:
        """The real one's."""
        return self._sandbox.id

    @property
    def strengths(self) -> Mapping[LimitKind, Strength]:
        """The real one's."""
        return self._sandbox.strengths

    @property
    def relay(self) -> Path | None:
        """The real one's."""
        return self._sandbox.relay

    @property
    def workdir(self) -> str:
        """The real one's."""
        return self._sandbox.workdir

    async def set_reach(self, reach: Reach) -> None:
        """The real one's."""
        await self._sandbox.set_reach(reach)

    async def exec(self, request: ExecRequest) -> ExecResult:
        """Run the command, unless its session is the one that a fault ends: then nothing of it runs."""
        if request.session == "agent":
            self._refuse_on_lost_node()
            if self._hit.makes(FaultKind.OOM_KILL):
                return _OUT_OF_MEMORY
        if request.session == "verifier" and self._hit.makes(FaultKind.VERIFIER_CRASH):
            return _CRASHED
        return await self._sandbox.exec(request)

    async def put(self, source: Path, destination: str, *, user: str | None = None) -> None:
        """The real one's."""
        await self._sandbox.put(source, destination, user=user)

    async def get(self, source: str, destination: Path, limits: TransferLimits | None = None) -> None:
        """The real one's."""
        await self._sandbox.get(source, destination, limits)

    async def read(self, path: str, max_bytes: int) -> bytes | None:
        """The real one's."""
        return await self._sandbox.read(path, max_bytes)

    async def snapshot(self, destination: Path, limits: TransferLimits | None = None) -> Snapshot:
        """The real one's."""
        return await self._sandbox.snapshot(destination, limits)

    async def kill_session(self, session: str) -> None:
        """The real one's; on an evicted node the agent's session is gone with everything else."""
        if session == "agent":  # an agent that ran no command is evicted here at the latest
            self._refuse_on_lost_node()
        await self._sandbox.kill_session(session)

    async def kill_all(self) -> None:
        """The real one's."""
        await self._sandbox.kill_all()

    async def processes(self) -> int:
        """As the sandbox."""
        return await self._sandbox.processes()

    async def disk_used(self) -> int:
        """The real one's."""
        return await self._sandbox.disk_used()

    def service(self, name: str) -> Service:
        """The real one's: no fault is made in it."""
        return self._sandbox.service(name)

    async def destroy(self) -> None:
        """The real one's."""
        await self._sandbox.destroy()

    def _refuse_on_lost_node(self) -> None:
        if self._hit.makes(FaultKind.EVICTION):
            raise NodeLost("The pod was evicted from its node.", kube_reason="Evicted", where=self.id)
