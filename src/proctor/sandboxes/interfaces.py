"""The sandbox port: where untrusted code runs. Every backend passes ``tests/contracts/sandboxes.py``.

A *backend* makes sandboxes; a *sandbox* runs commands (execs), takes and gives files, and can keep its
final state as a *snapshot* from which another sandbox starts. Capabilities are declared flags that are
checked before launch; each limit has a declared strength on this machine for this user.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol
from uuid import UUID

__all__ = [
    "RELAY",
    "Capabilities",
    "Check",
    "ExecRequest",
    "ExecResult",
    "Labels",
    "LimitKind",
    "Limits",
    "Network",
    "Sandbox",
    "SandboxBackend",
    "SandboxSpec",
    "Snapshot",
    "Strength",
    "TransferLimits",
]


RELAY: str = "/proctor"
"""Where a sandbox finds its relay's socket."""


class Strength(StrEnum):
    """How far a limit can be relied on: the kernel holds it, we watch and kill, or nothing does."""

    ENFORCED = "enforced"
    METERED = "metered"
    ABSENT = "absent"


class LimitKind(StrEnum):
    """The limits a sandbox knows."""

    MEMORY = "memory"
    CPU = "cpu"
    PIDS = "pids"
    DISK = "disk"
    FILE_SIZE = "file_size"
    WALL = "wall"
    OUTPUT = "output"


class Network(StrEnum):
    """What a sandbox may reach. ``ALLOWLIST`` names hosts in the spec."""

    NONE = "no-network"
    ALLOWLIST = "allowlist"
    PUBLIC = "public"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Ceilings of a whole sandbox; ``None`` leaves one at the backend's own safe default."""

    memory_mb: int | None = None
    cpus: float | None = None
    pids: int | None = None
    disk_mb: int | None = None
    file_size_mb: int | None = None


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Who a sandbox belongs to and until when; the reaper removes what outlived ``expires_at``."""

    tenant: UUID
    run_set: UUID
    attempt: UUID
    owner: str
    """The worker that made it: ``host:pid:start-time``."""
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A sandbox's final filesystem as one uncompressed tar, without the image below it."""

    path: Path
    sha256: str
    size: int
    changed_system_paths: tuple[str, ...] = ()
    """Paths of the image's own system (interpreters, test tools) that the sandbox had changed."""


@dataclass(frozen=True, kw_only=True)
class SandboxSpec:
    """What to create. Raised before anything starts: ``UnsupportedByBackend`` naming the field."""

    labels: Labels
    image: str | None = None
    """``None``: the host's userland (``local`` only); else a path of an unpacked image or a reference."""
    workdir: str | None = None
    """Where commands start; ``None``: where the image says, ``/app`` where there is no image."""
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    """The default user of execs; ``None``: the image's own, or the unprivileged ``agent`` where there is no image."""
    network: Network = Network.NONE
    allowed_hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    relay: bool = False
    """Whether it has a folder ``/proctor`` for its own attempt's relay: with no network the only way out."""
    base: Snapshot | None = None
    """Start from this final state instead of the bare image."""
    restore_system: bool = False
    """With ``base``: leave out what it changed of the system's own paths."""


OutputSink = Callable[[str, bytes], None]
"""Called with ``"stdout"`` or ``"stderr"`` and a piece of output as it arrives. Must not block."""


@dataclass(frozen=True, kw_only=True)
class ExecRequest:
    """One command, in a session of its own named ``session``."""

    argv: Sequence[str]
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    cwd: str | None = None
    timeout_sec: float | None = None
    """Wall seconds; the session is killed when they are over and the result says ``limit="wall"``."""
    output_limit: int = 8 * 1024 * 1024
    """Bytes kept of each stream (the last ones); more is counted, sent to the sink up to this, dropped."""
    on_output: OutputSink | None = None
    session: str = "exec"


@dataclass(frozen=True, kw_only=True)
class ExecResult:
    """What a command left: exactly one of ``exit_code`` and ``signal`` is set."""

    exit_code: int | None
    signal: int | None
    oom: bool = False
    limit: LimitKind | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    truncated: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class TransferLimits:
    """Caps on what ``get`` and ``snapshot`` take out of a sandbox; beyond them ``TransferRefused``."""

    entries: int = 200_000
    total_bytes: int = 4 * 1024**3
    file_bytes: int = 2 * 1024**3
    ratio: float = 200.0
    """Apparent bytes over bytes on disk, before a sparse file counts as an attack (above 64 MiB)."""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a backend can do here; checked before launch."""

    networks: frozenset[Network]
    users: frozenset[str] | None
    """``None``: those that the image has."""
    host: bool
    """Whether a sandbox can start without an image, on the host's userland."""
    builds: bool
    """Whether images are pulled from registries and built from Dockerfiles."""
    snapshots: bool
    limits: Mapping[LimitKind, Strength]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of ``proctor doctor``."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


class Sandbox(Protocol):
    """One running sandbox."""

    @property
    def id(self) -> str:
        """A name unique on this machine, which the reaper also knows."""
        ...

    @property
    def strengths(self) -> Mapping[LimitKind, Strength]:
        """How far each limit holds for this sandbox; stored on the attempt."""
        ...

    @property
    def workdir(self) -> str:
        """Where its commands start."""
        ...

    @property
    def relay(self) -> Path | None:
        """The host's folder that is ``/proctor`` inside, read-only there: a socket made in it can be reached."""
        ...

    async def exec(self, request: ExecRequest) -> ExecResult:
        """Run a command to its end, timeout or limit. Raises ``ExecChannelError`` or ``SandboxGone``."""
        ...

    async def put(self, source: Path, destination: str, *, user: str | None = None) -> None:
        """Copy a host file or tree in: modes, symlinks, hard links and sparse files kept, owner ``user``."""
        ...

    async def get(self, source: str, destination: Path, limits: TransferLimits | None = None) -> None:
        """Copy a file or tree out to a new host path. Raises ``TransferRefused`` for devices or caps."""
        ...

    async def read(self, path: str, max_bytes: int) -> bytes | None:
        """A regular file's bytes, ``None`` where there is none; symlinks refused, never longer than the cap."""
        ...

    async def snapshot(self, destination: Path, limits: TransferLimits | None = None) -> Snapshot:
        """Keep the final filesystem as a tar at ``destination``. Every process must be dead."""
        ...

    async def kill_session(self, session: str) -> None:
        """Kill what is left of the execs of that session name. Returns when they are gone."""
        ...

    async def kill_all(self) -> None:
        """Kill every process of the sandbox but its keeper. Returns when they are gone."""
        ...

    async def processes(self) -> int:
        """How many processes run, its own keeper not counted; seen from outside, so that nobody inside can hide."""
        ...

    async def disk_used(self) -> int:
        """Bytes that the sandbox's own files take on the host's disk."""
        ...

    async def destroy(self) -> None:
        """Kill everything and remove every trace. Safe to repeat."""
        ...


class SandboxBackend(Protocol):
    """Makes sandboxes of one kind."""

    @property
    def name(self) -> str:
        """``local``, ``docker``, ``kubernetes``, or ``fake`` in tests and benchmarks."""
        ...

    def capabilities(self) -> Capabilities:
        """What works on this machine for this user."""
        ...

    def environment_identity(self, tools: Sequence[str]) -> Mapping[str, str]:
        """What of the environment can change a result, hashed into the configuration (03, Identity)."""
        ...

    def doctor(self) -> Sequence[Check]:
        """Whether sandboxes can start here and what to do where they can't."""
        ...

    async def has(self, image: str) -> bool:
        """Whether an image is here, so that ``pull`` asks no registry for it."""
        ...

    async def pull(self, image: str | None) -> str:
        """Have an image here; what it is by digest, ``host`` for the host's userland. Raises ``ImagePullFailed``."""
        ...

    async def build(self, folder: Path, timeout_sec: float) -> str:
        """The image of a folder with a ``Dockerfile``, built once for the same content; says what it is by digest.

        Raises ``ImagePullFailed``, and ``UnsupportedByBackend`` where nothing can be built.
        """
        ...

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox. Raises ``UnsupportedByBackend`` before launch or ``SandboxStartError``."""
        ...

    async def leaked(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """How many ``reap`` would remove."""
        ...

    async def reap(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """Remove sandboxes whose expiry passed or whose owner is dead and not live; returns how many."""
        ...
