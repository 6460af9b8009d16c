"""What a task is, whatever format it came from: instruction, environment, verifier, reference solution.

Values are complete: every default is filled in when a task is loaded, so a runner decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue

from proctor.suites.services import Composed

__all__ = [
    "DEFAULT_WORKDIR",
    "AgentSettings",
    "Artifact",
    "CollectHook",
    "Environment",
    "Healthcheck",
    "McpServer",
    "Need",
    "NetworkMode",
    "NetworkPolicy",
    "RewardStrategy",
    "Step",
    "Task",
    "TaskNote",
    "TaskProblem",
    "Userland",
    "VerdictSource",
    "VerificationMode",
    "Verifier",
]

DEFAULT_WORKDIR: str = "/app"
"""Where commands start if neither the task nor an image says so; the field's tasks use it most."""


class VerificationMode(StrEnum):
    """What the verifier sees of the agent's work."""

    SEPARATE = "separate"
    SNAPSHOT = "snapshot"
    LIVE = "live"


class NetworkMode(StrEnum):
    """What a phase may reach."""

    NONE = "no-network"
    ALLOWLIST = "allowlist"
    PUBLIC = "public"


class RewardStrategy(StrEnum):
    """How the rewards of several steps become one."""

    MEAN = "mean"
    FINAL = "final"


class VerdictSource(StrEnum):
    """Where a verifier's verdict is read: its reward file, or the summary that pytest prints."""

    REWARD_FILE = "reward-file"
    PYTEST_SUMMARY = "pytest-summary"


class Need(StrEnum):
    """What a task asks for beyond the host's own userland and one step."""

    IMAGE = "image"
    COMPOSE = "compose"
    MULTI_STEP = "multi-step"
    GPU = "gpu"
    TPU = "tpu"


@dataclass(frozen=True, kw_only=True)
class TaskProblem:
    """Why a task can't be used: which file, which field of it, and what is wrong."""

    file: str
    field: str | None = None
    reason: str

    def __str__(self) -> str:
        place = self.file if self.field is None else f"{self.file}: {self.field}"
        return f"{place}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class TaskNote:
    """Something about a task that its author may want to know; it is used all the same."""

    file: str
    field: str | None = None
    text: str


@dataclass(frozen=True, kw_only=True)
class NetworkPolicy:
    """A network mode, and the hosts of an allowlist."""

    mode: NetworkMode = NetworkMode.PUBLIC
    allowed_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Healthcheck:
    """A command that must succeed before the agent starts, with Docker's HEALTHCHECK semantics."""

    command: str
    interval_sec: float
    timeout_sec: float
    start_period_sec: float
    start_interval_sec: float
    retries: int


@dataclass(frozen=True, kw_only=True)
class McpServer:
    """A tool server offered to the agent."""

    name: str
    transport: str
    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A path kept from the sandbox when the agent is done."""

    source: str
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: str | None = None


@dataclass(frozen=True, kw_only=True)
class CollectHook:
    """A command run in a service after the agent and before artifacts are collected."""

    command: str
    service: str
    timeout_sec: float
    user: str | None = None


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What a sandbox of this task is made of."""

    docker_image: str | None = None
    dockerfile: bool = False
    compose: bool = False
    services: Composed | None = None
    """What the Compose file declares; ``None`` without one, or where it can't be had."""
    compose_problems: tuple[TaskProblem, ...] = ()
    """Why it can't be had: the task is of use only where its image is not needed."""
    image_reason: str = ""
    """What in the task's files asks for an image, where that is known more closely than by a file's name."""
    build_timeout_sec: float = 600.0
    cpus: float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    gpus: int = 0
    gpu_types: tuple[str, ...] = ()
    tpu: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    network: NetworkPolicy | None = None
    """``None``: the task says nothing. The field reads that as public; a sandbox may be stricter."""
    healthcheck: Healthcheck | None = None
    mcp_servers: tuple[McpServer, ...] = ()
    skills_dir: str | None = None

    @property
    def has_image(self) -> bool:
        """Whether an image is named or can be built, or Compose says of which."""
        return self.docker_image is not None or self.dockerfile or self.compose


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """How the agent is run; ``network`` overrides the environment's."""

    timeout_sec: float | None = None
    user: str | None = None
    network: NetworkPolicy | None = None


@dataclass(frozen=True, kw_only=True)
class Verifier:
    """How the result is judged. ``bundled_tests``: its own image brings /tests."""

    mode: VerificationMode
    timeout_sec: float = 600.0
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    network: NetworkPolicy | None = None
    environment: Environment | None = None
    collect: tuple[CollectHook, ...] = ()
    bundled_tests: bool = False
    script: str = "test.sh"
    """The file of /tests that is run."""
    verdict: VerdictSource = VerdictSource.REWARD_FILE


@dataclass(frozen=True, kw_only=True)
class Userland:
    """How the task runs on the host's own userland: tools that must exist, and what is copied where.

    ``copy`` maps paths below ``environment/`` (``.`` is all of it) to absolute paths in the sandbox.
    """

    tools: tuple[str, ...] = ()
    copy: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a multi-step task. Below a reward in ``min_reward`` the rest is not run."""

    name: str
    instruction: str
    agent: AgentSettings
    verifier: Verifier
    min_reward: Mapping[str, float] = field(default_factory=dict)
    healthcheck: Healthcheck | None = None
    artifacts: tuple[Artifact, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Task:
    """Everything a runner needs to know of one task; the files are in its folder or archive."""

    name: str
    instruction: str
    description: str = ""
    agent: AgentSettings
    environment: Environment
    verifier: Verifier
    userland: Userland | None = None
    """``None``: the task runs in its image only."""
    solution_env: Mapping[str, str] = field(default_factory=dict)
    has_solution: bool = False
    artifacts: tuple[Artifact, ...] = ()
    steps: tuple[Step, ...] = ()
    reward_strategy: RewardStrategy = RewardStrategy.MEAN
    pass_threshold: float = 1.0
    primary_reward: str = "reward"
    changes_system: bool = False
    """The solution changes the image's own system paths, so a snapshot keeps those changes."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def needs_image(self) -> bool:
        """Whether it can only run in an image."""
        return self.userland is None

    @property
    def needs(self) -> frozenset[Need]:
        """What the backend and this release must be able to do."""
        environment = self.environment
        asked = {
            Need.IMAGE: self.needs_image,
            Need.COMPOSE: environment.compose and self.needs_image,
            Need.MULTI_STEP: bool(self.steps),
            Need.GPU: environment.gpus > 0,
            Need.TPU: environment.tpu is not None,
        }
        return frozenset(need for need, wanted in asked.items() if wanted)

    @property
    def workdir(self) -> str:
        """Where commands start on the host's userland; an image's own WORKDIR counts if none is given."""
        return self.environment.workdir or DEFAULT_WORKDIR
