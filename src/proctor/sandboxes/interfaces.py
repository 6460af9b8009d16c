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
    "LAYERS",
    "RELAY",
    "Capabilities",
    "Check",
    "Condition",
    "ExecRequest",
    "ExecResult",
    "Footing",
    "Labels",
    "LimitKind",
    "Limits",
    "Network",
    "Place",
    "Probe",
    "Reach",
    "Requests",
    "Sandbox",
    "SandboxBackend",
    "SandboxSpec",
    "Service",
    "ServiceSpec",
    "Snapshot",
    "Strength",
    "TransferLimits",
    "Volume",
]


RELAY: str = "/proctor"
"""Where a sandbox finds its relay's socket."""

LAYERS: str = "/proctor-layers"
"""Below it a sandbox finds the trees that it shares with others, read-only: the programs of agents."""


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
    """What a sandbox may reach: nothing, the hosts of a list, or everything."""

    NONE = "no-network"
    ALLOWLIST = "allowlist"
    PUBLIC = "public"


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What a sandbox may reach; ``hosts`` is the list of an ``ALLOWLIST``: names, ``*.name``, addresses, networks."""

    network: Network = Network.NONE
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Ceilings of a whole sandbox; ``None`` leaves one at the backend's own safe default."""

    memory_mb: int | None = None
    cpus: float | None = None
    pids: int | None = None
    disk_mb: int | None = None
    file_size_mb: int | None = None


@dataclass(frozen=True, kw_only=True)
class Requests:
    """What a whole sandbox is promised of its machine while others take more than they were; within its limits."""

    memory_mb: float
    cpus: float


@dataclass(frozen=True, kw_only=True)
class Footing:
    """What the sandboxes of a backend stand on."""

    disk: Path | None
    """A folder of this machine's that they fill; ``None`` where they are on another machine."""
    own_group: bool
    """Whether they share the control group of this process, and so its limits."""


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


class Condition(StrEnum):
    """What a container waits for in another, in Compose's words."""

    STARTED = "service_started"
    HEALTHY = "service_healthy"
    COMPLETED = "service_completed_successfully"


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A command that succeeds when a service is ready. Without words there is none, whatever its image says."""

    argv: tuple[str, ...] = ()
    interval_sec: float = 30.0
    timeout_sec: float = 30.0
    start_period_sec: float = 0.0
    retries: int = 3


@dataclass(frozen=True, kw_only=True)
class Volume:
    """A place for files that containers of one sandbox share, by its name among them."""

    name: str
    read_only: bool = False


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a container stands among those of its sandbox: by what name, and what it shares with whom."""

    name: str = "main"
    networks: frozenset[str] = frozenset({"default"})
    """It sees those that share one of these with it."""
    outward: bool = True
    """Whether it reaches what the sandbox's network lets it reach; else the others only."""
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    """By the absolute path where each is."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Host files and trees copied in, by the absolute path where each goes."""
    needs: Mapping[str, Condition] = field(default_factory=dict)
    """What it waits for in others before it starts; the sandbox itself waits for it before ``create`` returns."""


@dataclass(frozen=True, kw_only=True)
class ServiceSpec:
    """A container that runs its own program beside the sandbox's commands."""

    place: Place
    image: str
    """As ``pull`` or ``build`` named it."""
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    """``None``: as the image says."""
    env: Mapping[str, str] = field(default_factory=dict)
    probe: Probe | None = None
    """``None``: as the image says."""


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
    reach: Reach = field(default_factory=Reach)
    limits: Limits = field(default_factory=Limits)
    requests: Requests | None = None
    """``None``: nothing is promised."""
    relay: bool = False
    """Whether it has a folder ``/proctor`` for its own attempt's relay: with no network the only way out."""
    layers: Mapping[str, Path] = field(default_factory=dict)
    """Trees of this machine's by where each is inside, ``/proctor-layers/NAME``: read-only also for root, and no part
    of its state. Those who run in it have to be able to read them."""
    base: Snapshot | None = None
    """Start from this final state instead of the bare image."""
    restore_system: bool = False
    """With ``base``: leave out what it changed of the system's own paths."""
    services: tuple[ServiceSpec, ...] = ()
    """What runs beside it; ``create`` returns when all of them are ready."""
    place: Place = field(default_factory=Place)
    """Where the sandbox itself stands among its services."""


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
    switches_network: bool
    """Whether a sandbox's network can become another while it runs."""
    users: frozenset[str] | None
    """``None``: those that the image has."""
    host: bool
    """Whether a sandbox can start without an image, on the host's userland."""
    builds: bool
    """Whether images are pulled from registries and built from Dockerfiles."""
    snapshots: bool
    services: bool
    """Whether other containers can run beside a sandbox."""
    limits: Mapping[LimitKind, Strength]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of ``proctor doctor``."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


class Service(Protocol):
    """A container beside a sandbox, or the sandbox itself, for what a task does in either."""

    @property
    def workdir(self) -> str:
        """Where its commands start."""
        ...

    async def exec(self, request: ExecRequest) -> ExecResult:
        """Run a command to its end, timeout or limit. Raises ``ServiceStopped`` where its own program has ended."""
        ...

    async def get(self, source: str, destination: Path, limits: TransferLimits | None = None) -> None:
        """Copy a file or tree out to a new host path, also when its program has ended. Raises ``TransferRefused``."""
        ...

    async def kill_session(self, session: str) -> None:
        """Kill what is left of the execs of that session name. Returns when they are gone."""
        ...


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

    async def set_reach(self, reach: Reach) -> None:
        """From now on it may reach this, also what runs already. Raises ``UnsupportedByBackend``."""
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

    def service(self, name: str) -> Service:
        """The container of that name beside it, itself under its own. Raises ``UnsupportedByBackend``."""
        ...

    async def destroy(self) -> None:
        """Kill everything, services too, and remove every trace. Safe to repeat."""
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

    def footing(self) -> Footing | None:
        """What its sandboxes take room of, for admission; ``None`` where they take none."""
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

    async def build(self, folder: Path, timeout_sec: float, dockerfile: str = "Dockerfile") -> str:
        """The image of a folder with such a file, built once for the same content; says what it is by digest.

        Raises ``ImagePullFailed``, and ``UnsupportedByBackend`` where nothing can be built.
        """
        ...

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Start one. Raises ``UnsupportedByBackend`` before launch, ``SandboxStartError``, ``ServiceFailed``."""
        ...

    async def leaked(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """How many things ``reap`` would remove."""
        ...

    async def reap(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """Remove sandboxes, services, networks and volumes whose expiry passed or whose owner is dead and not live;
        returns how many."""
        ...
