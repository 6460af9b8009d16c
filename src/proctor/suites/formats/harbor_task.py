"""From a checked task.toml and the files beside it to a ``Task``, every default filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from proctor.suites.files import TaskTree
from proctor.suites.formats.compose_dialects import HARBOR, with_services
from proctor.suites.formats.harbor_config import (
    AgentTable,
    ArtifactEntry,
    EnvironmentTable,
    HealthcheckTable,
    McpServerEntry,
    ProctorTable,
    StepEntry,
    TaskToml,
    VerifierMode,
    VerifierTable,
)
from proctor.suites.tasks import (
    DEFAULT_WORKDIR,
    AgentSettings,
    Artifact,
    CollectHook,
    Environment,
    Healthcheck,
    McpServer,
    NetworkMode,
    NetworkPolicy,
    RewardStrategy,
    Step,
    Task,
    Userland,
    VerificationMode,
    Verifier,
)

__all__ = ["build_task", "exists_below_environment", "visible_instruction"]

_MARKER = re.compile(r"(<!--.*canary.*-->|#.*canary.*)", re.IGNORECASE)
"""A line that marks benchmark data for training filters; agents never see it."""
_IMAGE_FILES: tuple[str, ...] = ("Dockerfile", "docker-compose.yaml")


def build_task(tree: TaskTree, config: TaskToml, own: ProctorTable, folder_name: str) -> Task:
    """The task; where the tree has problems afterwards it is to be thrown away."""
    paths = frozenset(file.path for file in tree.files)
    environment = with_services(tree, _environment(config.environment, paths, "environment"), paths, HARBOR)
    mode = _mode(tree, config.verifier, own.verification)
    if config.environment.os == "windows":
        _refuse(tree, "environment.os", "is windows, which no backend here can run")
    instruction = "" if config.steps else _instruction(tree, "instruction.md")
    verifier = _verifier(config.verifier, mode, environment, paths)
    if not config.steps:
        _require_tests(tree, verifier, paths, ("tests/test.sh",))
    return Task(
        name=config.task.name if config.task else folder_name,
        instruction=instruction,
        description=config.task.description if config.task else "",
        agent=_agent(config.agent),
        environment=environment,
        verifier=verifier,
        userland=_userland(tree, own, environment, paths),
        solution_env=config.solution.env,
        has_solution=_has_solution(config, paths),
        artifacts=_artifacts(config.artifacts),
        steps=tuple(_step(tree, step, verifier, environment, paths) for step in config.steps or ()),
        reward_strategy=config.multi_step_reward_strategy or RewardStrategy.MEAN,
        pass_threshold=own.pass_threshold,
        primary_reward=own.primary_reward,
        changes_system=own.changes_system,
        metadata=config.metadata,
    )


def visible_instruction(text: str) -> str:
    """An instruction as an agent gets it: without the data markers at its head."""
    lines = text.split("\n")
    while lines and _MARKER.fullmatch(lines[0].strip()):
        lines.pop(0)
    while lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines)


def _instruction(tree: TaskTree, path: str) -> str:
    text = visible_instruction(tree.text(path) or "")
    if not text.strip() and not tree.blames(path):
        tree.refuse(path, "is empty")
    return text


def _has_solution(config: TaskToml, paths: frozenset[str]) -> bool:
    """A step has its own, or where it has no folder for one the task's."""
    folders = [f"steps/{step.name}/solution" for step in config.steps or ()] or ["solution"]
    own = [folder if any(path.startswith(f"{folder}/") for path in paths) else "solution" for folder in folders]
    return all(f"{folder}/solve.sh" in paths for folder in own)


def _mode(tree: TaskTree, table: VerifierTable, wanted: VerificationMode | None) -> VerificationMode:
    """The mode by the table in the design: a declared environment first, then the task's own word, then live."""
    declared = _declares_separate(table)
    if declared and wanted not in (None, VerificationMode.SEPARATE):
        _refuse(tree, "metadata.proctor.verification", f"is {wanted}, but [verifier] declares its own environment")
    if wanted is VerificationMode.SEPARATE and table.environment_mode is VerifierMode.SHARED:
        _refuse(tree, "metadata.proctor.verification", "is separate, but environment_mode is shared")
    if declared:
        return VerificationMode.SEPARATE
    return wanted or VerificationMode.LIVE


def _declares_separate(table: VerifierTable) -> bool:
    return table.environment_mode is VerifierMode.SEPARATE or table.environment is not None


def _verifier(
    table: VerifierTable,
    mode: VerificationMode,
    base: Environment,
    paths: frozenset[str],
    folder: str = "tests",
) -> Verifier:
    environment, bundled = None, False
    if mode is VerificationMode.SEPARATE:
        environment, bundled = _verifier_environment(table, base, paths, folder)
    return Verifier(
        mode=mode,
        timeout_sec=table.timeout_sec,
        env=table.env,
        user=_user(table.user),
        network=_override(table.network_mode, table.allowed_hosts),
        environment=environment,
        collect=tuple(
            CollectHook(command=hook.command, service=hook.service, timeout_sec=hook.timeout_sec, user=_user(hook.user))
            for hook in table.collect
        ),
        bundled_tests=bundled,
    )


def _verifier_environment(
    table: VerifierTable, base: Environment, paths: frozenset[str], folder: str
) -> tuple[Environment, bool]:
    """The separate sandbox, and whether its image brings the tests; without one it is the task's own anew."""
    named = table.environment is not None and table.environment.docker_image is not None
    built = any(f"{folder}/{name}" in paths for name in _IMAGE_FILES)
    if table.environment is None:
        return (_environment(EnvironmentTable(), paths, folder), True) if built else (base, False)
    environment = _environment(table.environment, paths, folder if built or named else "environment")
    return environment, named or built


def _step(tree: TaskTree, entry: StepEntry, verifier: Verifier, base: Environment, paths: frozenset[str]) -> Step:
    folder = f"steps/{entry.name}"
    mode = _step_mode(entry.verifier, verifier.mode)
    own = _verifier(entry.verifier, mode, verifier.environment or base, paths, f"{folder}/tests")
    _require_tests(tree, own, paths, (f"{folder}/tests/test.sh", "tests/test.sh"))
    return Step(
        name=entry.name,
        instruction=_instruction(tree, f"{folder}/instruction.md"),
        agent=_agent(entry.agent),
        verifier=own,
        min_reward=_thresholds(entry.min_reward),
        healthcheck=_healthcheck(entry.healthcheck),
        artifacts=_artifacts(entry.artifacts),
    )


def _step_mode(table: VerifierTable, task_mode: VerificationMode) -> VerificationMode:
    """A step's own word; without one it is verified as the task is."""
    if _declares_separate(table):
        return VerificationMode.SEPARATE
    if table.environment_mode is VerifierMode.SHARED and task_mode is VerificationMode.SEPARATE:
        return VerificationMode.LIVE
    return task_mode


def _require_tests(tree: TaskTree, verifier: Verifier, paths: frozenset[str], places: Sequence[str]) -> None:
    if verifier.bundled_tests or any(place in paths for place in places):
        return
    if not tree.blames(places[0]):
        tree.refuse(places[0], "is missing")


def _userland(tree: TaskTree, own: ProctorTable, environment: Environment, paths: frozenset[str]) -> Userland | None:
    if own.local is None:
        return None if environment.has_image else Userland(copy={".": environment.workdir or DEFAULT_WORKDIR})
    for source in own.local.copy_:
        if not exists_below_environment(source, paths):
            place = f"metadata.proctor.local.copy.{source}"
            _refuse(tree, place, f"there is no environment/{source}")
    return Userland(tools=tuple(own.local.tools), copy=own.local.copy_)


def exists_below_environment(source: str, paths: frozenset[str]) -> bool:
    """Whether there is anything to copy; ``.`` is all of ``environment/``."""
    path = "environment" if source == "." else f"environment/{source.strip('/')}"
    return path in paths or any(other.startswith(f"{path}/") for other in paths)


def _environment(table: EnvironmentTable, paths: frozenset[str], folder: str) -> Environment:
    named = table.docker_image is not None
    return Environment(
        docker_image=table.docker_image,
        dockerfile=not named and f"{folder}/Dockerfile" in paths,
        compose=f"{folder}/docker-compose.yaml" in paths,
        build_timeout_sec=table.build_timeout_sec,
        cpus=table.cpus,
        memory_mb=table.memory_mb,
        storage_mb=table.storage_mb,
        gpus=table.gpus or 0,
        gpu_types=tuple(table.gpu_types or ()),
        tpu=None if table.tpu is None else f"{table.tpu.type}:{table.tpu.topology}",
        env=table.env,
        workdir=table.workdir,
        network=_override(table.network_mode, table.allowed_hosts),
        healthcheck=_healthcheck(table.healthcheck),
        mcp_servers=tuple(_mcp_server(entry) for entry in table.mcp_servers),
        skills_dir=table.skills_dir,
    )


def _agent(table: AgentTable) -> AgentSettings:
    return AgentSettings(
        timeout_sec=table.timeout_sec,
        user=_user(table.user),
        network=_override(table.network_mode, table.allowed_hosts),
    )


def _override(mode: NetworkMode | None, hosts: Sequence[str] | None) -> NetworkPolicy | None:
    return None if mode is None else NetworkPolicy(mode=mode, allowed_hosts=tuple(hosts or ()))


def _healthcheck(table: HealthcheckTable | None) -> Healthcheck | None:
    if table is None:
        return None
    return Healthcheck(
        command=table.command,
        interval_sec=table.interval_sec,
        timeout_sec=table.timeout_sec,
        start_period_sec=table.start_period_sec,
        start_interval_sec=table.start_interval_sec,
        retries=table.retries,
    )


def _mcp_server(entry: McpServerEntry) -> McpServer:
    return McpServer(
        name=entry.name,
        transport=entry.transport,
        url=entry.url,
        command=entry.command,
        args=tuple(entry.args),
        headers=entry.headers,
    )


def _artifacts(entries: Sequence[ArtifactEntry]) -> tuple[Artifact, ...]:
    return tuple(
        Artifact(
            source=entry.source,
            destination=entry.destination,
            exclude=tuple(entry.exclude),
            service=entry.service,
        )
        for entry in entries
    )


def _thresholds(reward: float | Mapping[str, float] | None) -> Mapping[str, float]:
    if reward is None:
        return {}
    return reward if isinstance(reward, Mapping) else {"reward": reward}


def _user(user: str | int | None) -> str | None:
    return None if user is None else str(user)


def _refuse(tree: TaskTree, place: str, reason: str) -> None:
    tree.refuse("task.toml", reason, field=place)
