"""The shape of Harbor's task.toml (schema versions 1.0 to 1.4), checked as Harbor checks it.

Unknown keys are kept aside and reported as notes, since Harbor ignores them; only Proctor's own table,
``[metadata.proctor]``, refuses what it does not know.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)

from proctor.suites.formats.harbor_values import (
    check_destination,
    check_headers,
    check_source,
    check_url,
    host,
    internet,
    no_boolean,
    references,
    rename_size,
    service,
)
from proctor.suites.tasks import NetworkMode, RewardStrategy, VerificationMode

__all__ = [
    "AgentTable",
    "ArtifactEntry",
    "CollectEntry",
    "EnvironmentTable",
    "HealthcheckTable",
    "LocalTable",
    "McpServerEntry",
    "ProctorTable",
    "StepEntry",
    "TaskToml",
    "VerifierMode",
    "VerifierTable",
]

SCHEMA_VERSIONS: tuple[str, ...] = ("1.0", "1.1", "1.2", "1.3", "1.4")
"""What a later version means by a key is not known, so a task of one could be run wrongly."""
_TASK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_TOPOLOGY = re.compile(r"[1-9][0-9]*(?:x[1-9][0-9]*)+")
_STEP_NAME_REFUSED = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]|[. ]$|^\s*$|^\.\.?$')
_TOOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")

Seconds = Annotated[float, BeforeValidator(no_boolean), Field(gt=0)]
Grace = Annotated[float, BeforeValidator(no_boolean), Field(ge=0)]
Count = Annotated[int, BeforeValidator(no_boolean), Field(gt=0)]
CountOrNone = Annotated[int, BeforeValidator(no_boolean), Field(ge=0)]
Number = Annotated[float, BeforeValidator(no_boolean)]
Env = Annotated[dict[str, str], AfterValidator(references)]
User = Annotated[str | int, BeforeValidator(no_boolean)]
Service = Annotated[str, AfterValidator(service)]


class _Table(BaseModel):
    """A table of task.toml. Unknown keys are kept, so that a note can name them."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)


class VerifierMode(StrEnum):
    """Harbor's own word for where the verifier runs."""

    SHARED = "shared"
    SEPARATE = "separate"


class AuthorEntry(_Table):
    """One of the authors."""

    name: str
    email: str | None = None


class PackageTable(_Table):
    """[task]: the name, and who wrote it."""

    name: str
    version: str | None = Field(default=None, min_length=1)
    description: str = ""
    authors: list[AuthorEntry] = []
    keywords: list[str] = []

    @field_validator("name")
    @classmethod
    def _has_an_organisation(cls, name: str) -> str:
        if not _TASK_NAME.fullmatch(name) or ".." in name:
            raise ValueError(f"{name!r} is not of the form organisation/name")
        return name


class _Network(_Table):
    network_mode: NetworkMode | None = None
    allowed_hosts: list[str] | None = None

    @field_validator("allowed_hosts")
    @classmethod
    def _are_hosts(cls, hosts: list[str] | None) -> list[str] | None:
        return None if hosts is None else [host(name) for name in hosts]

    @model_validator(mode="after")
    def _hosts_need_an_allowlist(self) -> Self:
        if self.allowed_hosts and self.network_mode is not NetworkMode.ALLOWLIST:
            raise ValueError("allowed_hosts is only valid where network_mode is 'allowlist'")
        return self


class AgentTable(_Network):
    """[agent]"""

    timeout_sec: Seconds | None = None
    user: User | None = None


class HealthcheckTable(_Table):
    """[environment.healthcheck], and the same of a step."""

    command: str
    interval_sec: Seconds = 5.0
    timeout_sec: Seconds = 30.0
    start_period_sec: Grace = 0.0
    start_interval_sec: Seconds = 5.0
    retries: Count = 3


class TpuTable(_Table):
    """[environment.tpu]"""

    type: str = Field(min_length=1)
    topology: str

    @field_validator("topology")
    @classmethod
    def _has_dimensions(cls, topology: str) -> str:
        if not _TOPOLOGY.fullmatch(topology.strip()):
            raise ValueError(f"{topology!r} is no topology such as '2x4'")
        return topology.strip()


class McpServerEntry(_Table):
    """One of [[environment.mcp_servers]]."""

    name: str
    transport: Literal["stdio", "sse", "streamable-http"] = "sse"
    url: str | None = None
    command: str | None = None
    args: list[str] = []
    headers: dict[str, str] = {}

    @field_validator("transport", mode="before")
    @classmethod
    def _http_is_streamable(cls, transport: object) -> object:
        return "streamable-http" if transport == "http" else transport

    @field_validator("headers")
    @classmethod
    def _hold_no_credential(cls, headers: dict[str, str]) -> dict[str, str]:
        check_headers(headers)
        return headers

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.transport == "stdio" and (not self.command or self.headers):
            raise ValueError("a server of transport 'stdio' needs a command and has no headers")
        if self.transport != "stdio" and not self.url:
            raise ValueError(f"a server of transport {self.transport!r} needs a url")
        check_url(self.url or "")
        return self


class EnvironmentTable(_Network):
    """[environment], and the same of a verifier."""

    build_timeout_sec: Seconds = 600.0
    docker_image: str | None = None
    os: Literal["linux", "windows"] = "linux"
    cpus: Annotated[float, BeforeValidator(no_boolean), Field(gt=0)] | None = None
    memory_mb: Count | None = None
    storage_mb: Count | None = None
    gpus: CountOrNone | None = None
    gpu_types: list[str] | None = None
    tpu: TpuTable | None = None
    mcp_servers: list[McpServerEntry] = []
    env: Env = {}
    skills_dir: str | None = None
    healthcheck: HealthcheckTable | None = None
    workdir: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _old_keys(cls, table: object) -> object:
        """``memory``, ``storage`` and ``allow_internet`` of schema 1.0 under their present names."""
        if not isinstance(table, dict):
            return table
        new = dict(table)
        for old, present in (("memory", "memory_mb"), ("storage", "storage_mb")):
            rename_size(new, old, present)
        allowed = new.pop("allow_internet", None)
        if allowed is not None and "network_mode" not in new and "allowed_hosts" not in new:
            new["network_mode"] = internet(allowed)
        return new

    @field_validator("os", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("workdir")
    @classmethod
    def _is_absolute(cls, path: str | None) -> str | None:
        if path is not None and (not path.startswith("/") or ".." in PurePosixPath(path).parts):
            raise ValueError(f"{path!r} is no absolute path")
        return path


class CollectEntry(_Table):
    """One of [[verifier.collect]]."""

    command: str
    service: Service = "main"
    timeout_sec: Seconds = 60.0
    user: User | None = None


class VerifierTable(_Network):
    """[verifier]"""

    timeout_sec: Seconds = 600.0
    env: Env = {}
    user: User | None = None
    environment_mode: VerifierMode | None = None
    environment: EnvironmentTable | None = None
    collect: list[CollectEntry] = []

    @model_validator(mode="after")
    def _shared_has_no_environment(self) -> Self:
        if self.environment_mode is VerifierMode.SHARED and self.environment is not None:
            raise ValueError("environment_mode 'shared' contradicts [verifier.environment]")
        return self


class SolutionTable(_Table):
    """[solution]"""

    env: Env = {}


class ArtifactEntry(_Table):
    """One artifact in its long form."""

    source: str
    destination: str | None = None
    exclude: list[str] = []
    service: Service | None = None

    @field_validator("source")
    @classmethod
    def _stays_where_it_is(cls, source: str) -> str:
        if not source or ".." in PurePosixPath(source).parts:
            raise ValueError(f"{source!r} is empty or has '..' in it")
        return source

    @field_validator("destination")
    @classmethod
    def _stays_inside(cls, destination: str | None) -> str | None:
        if not destination:
            return None
        path = PurePosixPath(destination)
        refused = "\\" in destination or path.is_absolute() or ".." in path.parts
        if refused or not path.parts or str(path) == "manifest.json":
            raise ValueError(f"{destination!r} is no relative path below the artifacts (nor manifest.json)")
        return destination

    @model_validator(mode="after")
    def _of_another_service_is_absolute(self) -> Self:
        if self.service not in (None, "main") and not self.source.startswith("/"):
            raise ValueError(f"{self.source!r} of service {self.service!r} must be an absolute path")
        return self


def _long_form(entry: object) -> object:
    return {"source": entry} if isinstance(entry, str) else entry


Artifact = Annotated[ArtifactEntry, BeforeValidator(_long_form)]


class StepEntry(_Table):
    """One of [[steps]]."""

    name: str
    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    min_reward: Number | dict[str, Number] | None = None
    healthcheck: HealthcheckTable | None = None
    artifacts: list[Artifact] = []

    @field_validator("name")
    @classmethod
    def _is_a_folder_anywhere(cls, name: str) -> str:
        if _STEP_NAME_REFUSED.search(name) or len(name.encode()) > 255:
            raise ValueError(f"{name!r} is no portable folder name")
        return name


class LocalTable(_Table):
    """[metadata.proctor.local]: how the task runs on the host's own userland."""

    model_config = ConfigDict(extra="forbid")

    tools: list[str] = []
    copy_: dict[str, str] = Field(default={}, alias="copy")

    @field_validator("tools")
    @classmethod
    def _are_program_names(cls, tools: list[str]) -> list[str]:
        for tool in tools:
            if not _TOOL.fullmatch(tool):
                raise ValueError(f"{tool!r} is no name of a program")
        return sorted(set(tools))

    @field_validator("copy_")
    @classmethod
    def _go_from_environment_to_the_sandbox(cls, places: dict[str, str]) -> dict[str, str]:
        for source, destination in places.items():
            check_source(source)
            check_destination(destination)
        return places


class ProctorTable(_Table):
    """[metadata.proctor]: what Harbor has no word for."""

    model_config = ConfigDict(extra="forbid")

    verification: VerificationMode | None = None
    pass_threshold: Number = 1.0
    primary_reward: str = Field(default="reward", min_length=1)
    changes_system: bool = False
    local: LocalTable | None = None


class TaskToml(_Table):
    """A whole task.toml."""

    schema_version: str = "1.4"
    task: PackageTable | None = None
    metadata: dict[str, JsonValue] = {}
    verifier: VerifierTable = VerifierTable()
    agent: AgentTable = AgentTable()
    environment: EnvironmentTable = EnvironmentTable()
    solution: SolutionTable = SolutionTable()
    source: str | None = None
    multi_step_reward_strategy: RewardStrategy | None = None
    steps: list[StepEntry] | None = None
    artifacts: list[Artifact] = []

    @model_validator(mode="before")
    @classmethod
    def _old_version_key(cls, table: object) -> object:
        if isinstance(table, dict) and "version" in table:
            new = dict(table)
            new.setdefault("schema_version", new.pop("version"))
            return new
        return table

    @field_validator("schema_version")
    @classmethod
    def _is_known(cls, version: str) -> str:
        if version not in SCHEMA_VERSIONS:
            raise ValueError(f"{version!r} is not known; there are {', '.join(SCHEMA_VERSIONS)}")
        return version

    @field_validator("steps")
    @classmethod
    def _names_differ(cls, steps: list[StepEntry] | None) -> list[StepEntry] | None:
        seen: set[str] = set()
        for step in steps or ():
            folded = unicodedata.normalize("NFC", step.name).casefold()
            if folded in seen:
                raise ValueError(f"two steps are named {step.name!r} (case does not count)")
            seen.add(folded)
        return steps
