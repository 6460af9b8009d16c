"""The terms an attempt runs under: what its task says, or the run set's override; and what can't be had here.

A task whose terms this release or backend can't keep is refused by name before a sandbox is asked for. Nothing is
dropped in silence: a task that ran under other terms than it asked for would have a verdict that means nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proctor.engine.artifacts import MAIN
from proctor.engine.phases import TaskUnsupported
from proctor.headroom.needs import UNNAMED, Need
from proctor.kernel.canonical import Json
from proctor.sandboxes.interfaces import Capabilities, Limits, Network, Reach, SandboxBackend
from proctor.suites.tasks import (
    Artifact,
    NetworkPolicy,
    Step,
    Task,
    TaskProblem,
    VerificationMode,
    Verifier,
)
from proctor.suites.variables import variable_names

__all__ = ["Terms", "declared", "expected_sec", "needed", "obstacles", "refuse_unsupported", "requested", "terms_of"]

_OURS: frozenset[str | None] = frozenset({None, "agent"})
"""Users that every backend has."""
_TOLD: int = 8
"""Of what is wrong with a Compose file; the rest is counted."""
_SHARED: str = "'public' lets the {} sandbox reach what this machine can"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Timeouts in seconds (``None``: no limit), limits, network and verification mode of an attempt or a step."""

    agent_timeout_sec: float | None
    verifier_timeout_sec: float
    limits: Limits
    requests: Need
    """What the attempt is promised of its node."""
    reach: Reach
    """What the agent's sandbox may reach but for the two phases that may have a word of their own."""
    agent_reach: Reach
    mode: VerificationMode
    verifier_reach: Reach
    """In the verifier's own sandbox, or in the agent's where it is verified there (``live``)."""


def terms_of(task: Task, configuration: Mapping[str, Json], step: Step | None = None) -> Terms:
    """The task's or step's own terms, each overridden where the policies say something else than ``task``."""
    policies = configuration["policies"]
    assert isinstance(policies, Mapping)
    verifier = task.verifier if step is None else step.verifier
    timeout = _timeout(policies["verifier_timeout"], verifier.timeout_sec)
    reach, mode = _reach(policies["network"], task), _mode(policies["verification"], verifier)
    agent = task.agent.network if step is None or step.agent.network is None else step.agent.network
    return Terms(
        agent_timeout_sec=_timeout(policies["agent_timeout"], _agent_timeout(task, step)),
        verifier_timeout_sec=verifier.timeout_sec if timeout is None else timeout,
        limits=_limits(policies["resources"], task),
        requests=requested(task, policies["resources"]),
        reach=reach,
        agent_reach=_own_or(reach, agent, task),
        mode=mode,
        verifier_reach=_own_or(reach, _of_verifier(task, verifier), task),
    )


def expected_sec(task: Task, override: float | None) -> float | None:
    """How long the agent may take in all its steps together; ``None`` where one of them has no limit."""
    limits = [_agent_timeout(task, step) if override is None else override for step in task.steps or (None,)]
    return None if None in limits else sum(limit for limit in limits if limit is not None)


def requested(task: Task, resources: Json) -> Need:
    """What an attempt is promised: what the policy requests, else the limit, else what is usual; never beyond a limit.

    ``resources``: the policy, ``task`` or what overrides it.
    """
    chosen = dict(resources) if isinstance(resources, Mapping) else {}
    limits = _limits(resources, task)

    def promised(name: str, limit: float | None, usual: float) -> float:
        asked = chosen.get(f"request_{name}")
        if isinstance(asked, int | float):
            return asked if limit is None else min(asked, limit)
        return usual if limit is None else limit

    return Need(
        memory_mb=promised("memory_mb", limits.memory_mb, UNNAMED.memory_mb),
        cpus=promised("cpus", limits.cpus, UNNAMED.cpus),
        disk_mb=promised("storage_mb", limits.disk_mb, UNNAMED.disk_mb),
    )


def needed(task: Task, resources: Json) -> Need:
    """What a node must have left for an attempt: what it is promised, and what is usual for each service beside it."""
    own, services = requested(task, resources), task.environment.services
    count = 0 if services is None else len(services.beside)
    return Need(
        memory_mb=own.memory_mb + count * UNNAMED.memory_mb,
        cpus=own.cpus + count * UNNAMED.cpus,
        disk_mb=own.disk_mb + count * UNNAMED.disk_mb,
    )


def _agent_timeout(task: Task, step: Step | None) -> float | None:
    """A step without a limit of its own has the task's."""
    own = None if step is None else step.agent.timeout_sec
    return task.agent.timeout_sec if own is None else own


def declared(task: Task) -> dict[str, Json]:
    """What a task offers to its agents beyond files, by name: kept as evidence, and an agent's own to use."""
    servers: list[Json] = [f"{server.name} ({server.transport})" for server in task.environment.mcp_servers]
    offers: dict[str, Json] = {"mcp_servers": servers, "skills_dir": task.environment.skills_dir}
    return {name: offer for name, offer in offers.items() if offer}


def _timeout(override: Json, of_task: float | None) -> float | None:
    return float(override) if isinstance(override, int | float) else of_task


def _mode(override: Json, verifier: Verifier) -> VerificationMode:
    return verifier.mode if override == "task" else VerificationMode(str(override))


def _reach(override: Json, task: Task) -> Reach:
    """A task that says nothing gets no network: the safe reading of the field's default, which is public."""
    if override != "task":
        return Reach(network=Network(str(override)))
    asked = task.environment.network
    return Reach() if asked is None else _as_reach(asked)


def _own_or(reach: Reach, own: NetworkPolicy | None, task: Task) -> Reach:
    """A phase's own word, unless it only says again what the environment's is."""
    return reach if own is None or own == task.environment.network else _as_reach(own)


def _as_reach(policy: NetworkPolicy) -> Reach:
    return Reach(network=Network(policy.mode.value), hosts=policy.allowed_hosts)


def _of_verifier(task: Task, verifier: Verifier) -> NetworkPolicy | None:
    """A network of the verifier's own: a step's word, the task's, or that of a separate verifier's environment."""
    said = verifier.network or task.verifier.network
    if said is not None or verifier.environment is None or verifier.environment == task.environment:
        return said
    return verifier.environment.network


def _limits(override: Json, task: Task) -> Limits:
    chosen = dict(override) if isinstance(override, Mapping) else {}
    memory = chosen.get("memory_mb", task.environment.memory_mb)
    storage = chosen.get("storage_mb", task.environment.storage_mb)
    cpus = chosen.get("cpus", task.environment.cpus)
    return Limits(
        memory_mb=int(memory) if isinstance(memory, int | float) else None,
        disk_mb=int(storage) if isinstance(storage, int | float) else None,
        cpus=float(cpus) if isinstance(cpus, int | float) else None,
    )


def obstacles(
    task: Task, configuration: Mapping[str, Json], backend: SandboxBackend, *, secrets: Collection[str]
) -> Iterator[str]:
    """Why a task can have no verdict under a configuration, as far as it is known before launch.

    ``secrets``: the names of those that may enter its sandboxes.
    """
    for field, reason in _refusals(task, terms_of(task, configuration), configuration, backend):
        yield f"{field}: {reason}"
    agent = configuration["agent"]
    is_oracle = isinstance(agent, Mapping) and agent["name"] == "oracle"
    if is_oracle and not task.has_solution:
        yield "solution: it has no reference solution for the oracle"
    tables = {"environment.env": task.environment.env, "verifier.env": task.verifier.env}
    if is_oracle:
        tables["solution.env"] = task.solution_env
    services = task.environment.services
    if services is not None and not backend.capabilities().host:
        for service in (services.main, *services.beside):
            tables[f"services.{service.name}.environment"] = service.env
    for field, table in tables.items():
        for name in sorted(variable_names(table) - set(secrets)):
            yield f"{field}: ${{{name}}} is not among secrets.names, or is a provider's key"


def refuse_unsupported(task: Task, configuration: Mapping[str, Json], backend: SandboxBackend) -> None:
    """Raise ``TaskUnsupported`` naming the first term that can't be kept."""
    for field, reason in _refusals(task, terms_of(task, configuration), configuration, backend):
        raise TaskUnsupported(reason, where=f"{task.name}: {field}")


def _refusals(
    task: Task, terms: Terms, configuration: Mapping[str, Json], backend: SandboxBackend
) -> Iterator[tuple[str, str]]:
    name = backend.name
    capable = backend.capabilities()
    if task.needs_image and not capable.builds:
        why = f" ({task.environment.image_reason})" if task.environment.image_reason else ""
        yield "environment", f"needs an image{why}, which the {name} sandbox does not have"
    if not capable.host:
        yield from _image_refusals(task, terms, name, capable)
    if task.environment.gpus or task.environment.tpu:
        yield "environment.gpus", f"the {name} sandbox has no accelerator"
    yield from _network("environment", terms.reach, configuration, backend)
    yield from _phase_refusals(terms, task, task, configuration, backend)
    yield from _verifier_extras(task, task.verifier, capable)
    yield from _services(task.artifacts, task, capable)
    for number, step in enumerate(task.steps):
        own = terms_of(task, configuration, step)
        for field, reason in (
            *_phase_refusals(own, step, task, configuration, backend),
            *_verifier_extras(task, step.verifier, capable),
            *_services(step.artifacts, task, capable),
        ):
            yield f"steps[{number}].{field}", reason


def _image_refusals(task: Task, terms: Terms, backend: str, capable: Capabilities) -> Iterator[tuple[str, str]]:
    """What a backend whose sandboxes are containers can't start from."""
    environment, services = task.environment, task.environment.services
    if environment.compose_problems:
        yield environment.compose_problems[0].file, _all_told(environment.compose_problems)
    if environment.compose and services is None and not environment.compose_problems:
        yield "environment", "has a Compose file that was not read when the task was imported"
    main = None if services is None else services.main
    named = main is not None and (main.image is not None or main.build is not None)
    if not (named or environment.docker_image or environment.dockerfile or environment.compose_problems):
        yield "environment", f"names no image and has no Dockerfile, and the {backend} sandbox starts from one"
    if services is not None and services.beside and not capable.services:
        yield "environment", f"has services, which the {backend} sandbox does not have"
    if main is not None and main.volumes and (terms.mode is VerificationMode.SNAPSHOT or task.steps):
        yield f"services.{main.name}.volumes", "no kept state holds a volume; verify live or separate, without steps"


def _all_told(problems: Sequence[TaskProblem]) -> str:
    """All that is wrong with one file at once, so that nobody mends it key by key."""
    told = [one.reason if one.field is None else f"{one.field}: {one.reason}" for one in problems[:_TOLD]]
    return "; ".join(told) + (f"; and {len(problems) - _TOLD} more" if len(problems) > _TOLD else "")


def _phase_refusals(
    terms: Terms, phases: Task | Step, task: Task, configuration: Mapping[str, Json], backend: SandboxBackend
) -> Iterator[tuple[str, str]]:
    """Users, and networks of a phase that are not the environment's."""
    capable, services = backend.capabilities(), task.environment.services
    switches = capable.switches_network and (services is None or not services.beside)
    shared = {"agent": "the agent works"}
    if terms.mode is VerificationMode.LIVE:
        shared["verifier"] = "a live verifier runs"
    for phase, user, reach in (
        ("agent", phases.agent.user, terms.agent_reach),
        ("verifier", phases.verifier.user, terms.verifier_reach),
    ):
        if capable.users is not None and user not in _OURS:
            yield f"{phase}.user", f"user {user!r} can't be had in this sandbox"
        if reach == terms.reach:
            continue
        if phase in shared and not switches:
            yield f"{phase}.network_mode", f"differs from the environment's, and {shared[phase]} in that same sandbox"
        else:
            yield from _network(phase, reach, configuration, backend)


def _network(
    phase: str, reach: Reach, configuration: Mapping[str, Json], backend: SandboxBackend
) -> Iterator[tuple[str, str]]:
    """No network can always be had, the whole one only if it is allowed."""
    field, wanted = f"{phase}.network_mode", reach.network.value
    policies = configuration["policies"]
    assert isinstance(policies, Mapping)
    if reach.network not in backend.capabilities().networks:
        yield field, f"{wanted!r} is not available in the {backend.name} sandbox"
    if reach.network is Network.PUBLIC and policies["network"] != Network.PUBLIC.value:
        yield field, f"{_SHARED.format(backend.name)}; policy.network = 'public' allows it"
    if reach.network is Network.ALLOWLIST and policies["network"] == Network.NONE.value:
        yield field, f"{wanted!r} is more than policy.network = 'no-network' lets it have"


def _services(artifacts: Sequence[Artifact], task: Task, capable: Capabilities) -> Iterator[tuple[str, str]]:
    known = _service_names(task, capable)
    for number, artifact in enumerate(artifacts):
        if artifact.service is not None and artifact.service not in known:
            yield f"artifacts[{number}].service", f"there is no service {artifact.service!r} in this sandbox"


def _service_names(task: Task, capable: Capabilities) -> Collection[str]:
    """Those that a hook or an artifact may name."""
    services = task.environment.services
    return services.names if services is not None and capable.services else (MAIN,)


def _verifier_extras(task: Task, verifier: Verifier, capable: Capabilities) -> Iterator[tuple[str, str]]:
    known = _service_names(task, capable)
    for number, hook in enumerate(verifier.collect):
        if hook.service not in known:
            yield f"verifier.collect[{number}].service", f"there is no service {hook.service!r} in this sandbox"
        if capable.users is not None and hook.user not in _OURS:
            yield f"verifier.collect[{number}].user", f"user {hook.user!r} can't be had in this sandbox"
    own = verifier.environment
    if not capable.builds and own is not None and own.has_image and (verifier.bundled_tests or own != task.environment):
        yield "verifier.environment", "needs an image, which this sandbox does not have"
    if capable.builds and own is not None and own.compose and own != task.environment:
        yield "verifier.environment", "has a Compose file; only the task's own environment can have services"
