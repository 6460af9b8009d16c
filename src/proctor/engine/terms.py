"""The terms an attempt runs under: what its task says, or the run set's override; and what can't be had here.

A task whose terms this release or backend can't keep is refused by name before a sandbox is asked for. Nothing is
dropped in silence: a task that ran under other terms than it asked for would have a verdict that means nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proctor.engine.phases import TaskUnsupported
from proctor.headroom.needs import UNNAMED, Need
from proctor.kernel.canonical import Json
from proctor.sandboxes.interfaces import Capabilities, Limits, Network, SandboxBackend
from proctor.suites.tasks import AgentSettings, Artifact, NetworkPolicy, Step, Task, VerificationMode, Verifier
from proctor.suites.variables import variable_names

__all__ = ["Terms", "declared", "expected_sec", "obstacles", "refuse_unsupported", "requested", "terms_of"]

_OURS: frozenset[str | None] = frozenset({None, "agent"})
"""Users that every backend has."""
_MAIN: str = "main"
"""The field's name for the service that the agent is in."""

_SHARED: str = "'public' lets the {} sandbox reach what this machine can"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Timeouts in seconds (``None``: no limit), limits, network and verification mode of an attempt or a step."""

    agent_timeout_sec: float | None
    verifier_timeout_sec: float
    limits: Limits
    requests: Need
    """What the attempt is promised of its node."""
    network: Network
    mode: VerificationMode
    verifier_network: Network
    """Of the verifier's own sandbox; where it is verified in the agent's (``live``), the same as ``network``."""


def terms_of(task: Task, configuration: Mapping[str, Json], step: Step | None = None) -> Terms:
    """The task's or step's own terms, each overridden where the policies say something else than ``task``."""
    policies = configuration["policies"]
    assert isinstance(policies, Mapping)
    verifier = task.verifier if step is None else step.verifier
    timeout = _timeout(policies["verifier_timeout"], verifier.timeout_sec)
    network, mode = _network(policies["network"], task), _mode(policies["verification"], verifier)
    own = None if mode is VerificationMode.LIVE else _of_verifier(task, verifier)
    return Terms(
        agent_timeout_sec=_timeout(policies["agent_timeout"], _agent_timeout(task, step)),
        verifier_timeout_sec=verifier.timeout_sec if timeout is None else timeout,
        limits=_limits(policies["resources"], task),
        requests=requested(task, policies["resources"]),
        network=network,
        mode=mode,
        verifier_network=network if own is None else Network(own.mode.value),
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


def _network(override: Json, task: Task) -> Network:
    """A task that says nothing gets no network: the safe reading of the field's default, which is public."""
    if override != "task":
        return Network(str(override))
    asked = task.environment.network
    return Network.NONE if asked is None else Network(asked.mode.value)


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
    """Why a task can have no verdict under a configuration, as far as it is known before launch."""
    for field, reason in _refusals(task, terms_of(task, configuration), configuration, backend):
        yield f"{field}: {reason}"
    agent = configuration["agent"]
    is_oracle = isinstance(agent, Mapping) and agent["name"] == "oracle"
    if is_oracle and not task.has_solution:
        yield "solution: it has no reference solution for the oracle"
    tables = {"environment.env": task.environment.env, "verifier.env": task.verifier.env}
    if is_oracle:
        tables["solution.env"] = task.solution_env
    for field, table in tables.items():
        for name in sorted(variable_names(table) - set(secrets)):
            yield f"{field}: ${{{name}}} is not among secrets.names"


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
        yield from _image_refusals(task, name)
    if task.environment.gpus or task.environment.tpu:
        yield "environment.gpus", f"the {name} sandbox has no accelerator"
    if terms.network not in backend.capabilities().networks:
        yield "environment.network_mode", f"{terms.network.value!r} is not available in the {name} sandbox"
    if terms.network is Network.PUBLIC and not _allowed(configuration):
        yield (
            "environment.network_mode",
            f"{_SHARED.format(name)}; policy.network = 'public' allows it",
        )
    yield from _phase_refusals(task, terms, task.agent, task.verifier, capable)
    yield from _verifier_network(terms, configuration, backend)
    yield from _verifier_extras(task, task.verifier, capable)
    yield from _services(task.artifacts)
    for number, step in enumerate(task.steps):
        own = terms_of(task, configuration, step)
        for field, reason in (
            *_phase_refusals(task, own, step.agent, step.verifier, capable),
            *_verifier_network(own, configuration, backend),
            *_verifier_extras(task, step.verifier, capable),
            *_services(step.artifacts),
        ):
            yield f"steps[{number}].{field}", reason


def _image_refusals(task: Task, backend: str) -> Iterator[tuple[str, str]]:
    """What a backend whose sandboxes are containers can't start from."""
    if task.environment.compose:
        yield "environment", f"is a Compose file, which the {backend} sandbox can't start yet"
    elif not task.environment.has_image:
        yield "environment", f"names no image and has no Dockerfile, and the {backend} sandbox starts from one"


def _allowed(configuration: Mapping[str, Json]) -> bool:
    policies = configuration["policies"]
    return isinstance(policies, Mapping) and policies["network"] == Network.PUBLIC.value


def _phase_refusals(
    task: Task, terms: Terms, agent: AgentSettings, verifier: Verifier, capable: Capabilities
) -> Iterator[tuple[str, str]]:
    """Users, and networks of a phase that shares its sandbox with others."""
    for phase, user in (("agent", agent.user), ("verifier", verifier.user)):
        if capable.users is not None and user not in _OURS:
            yield f"{phase}.user", f"user {user!r} can't be had in this sandbox"
    if not _same(agent.network, task, terms):
        yield "agent.network_mode", "differs from the environment's, and the agent works in that same sandbox"
    if terms.mode is VerificationMode.LIVE and not _same(verifier.network or task.verifier.network, task, terms):
        yield "verifier.network_mode", "differs from the environment's, and a live verifier runs in that same sandbox"


def _same(network: NetworkPolicy | None, task: Task, terms: Terms) -> bool:
    """Whether a phase asks for no other network than its sandbox has."""
    if network is None or network == task.environment.network:
        return True
    return terms.network is not Network.ALLOWLIST and network.mode.value == terms.network.value


def _verifier_network(
    terms: Terms, configuration: Mapping[str, Json], backend: SandboxBackend
) -> Iterator[tuple[str, str]]:
    """A network of the verifier's own sandbox. Less than the agent's can always be had, more only if it is allowed."""
    wanted = terms.verifier_network
    if wanted is terms.network:
        return
    if wanted not in backend.capabilities().networks:
        yield "verifier.network_mode", f"{wanted.value!r} is not available in the {backend.name} sandbox"
    elif wanted is Network.PUBLIC and not _allowed(configuration):
        yield "verifier.network_mode", f"{_SHARED.format(backend.name)}; policy.network = 'public' allows it"


def _services(artifacts: Sequence[Artifact]) -> Iterator[tuple[str, str]]:
    for number, artifact in enumerate(artifacts):
        if artifact.service not in (None, _MAIN):
            yield f"artifacts[{number}].service", f"there is no service {artifact.service!r} in this sandbox"


def _verifier_extras(task: Task, verifier: Verifier, capable: Capabilities) -> Iterator[tuple[str, str]]:
    for number, hook in enumerate(verifier.collect):
        if hook.service != _MAIN:
            yield f"verifier.collect[{number}].service", f"there is no service {hook.service!r} in this sandbox"
        if capable.users is not None and hook.user not in _OURS:
            yield f"verifier.collect[{number}].user", f"user {hook.user!r} can't be had in this sandbox"
    own = verifier.environment
    if not capable.builds and own is not None and own.has_image and (verifier.bundled_tests or own != task.environment):
        yield "verifier.environment", "needs an image, which this sandbox does not have"
