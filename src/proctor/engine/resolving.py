"""From a run-set file to a plan: suite, agents, environment and configurations resolved, nothing written but the suite.

What can't be resolved is an error naming the field; what makes the result not comparable is a list of reasons, given
before launch too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from proctor.agents.adapters.catalogue import refuse_unheard
from proctor.agents.catalogue import build_agent
from proctor.agents.errors import ProfileInvalid
from proctor.agents.interfaces import Agent, Asks
from proctor.agents.scripted import TaskScript, read_script, script_document, script_text
from proctor.engine.declared_models import check_models
from proctor.engine.errors import SpecInvalid
from proctor.engine.faults.plan import profile_plan
from proctor.engine.identity import ConfigurationParts, configuration_document
from proctor.engine.lanes import limits_of
from proctor.engine.outcomes import CURRENT_POLICY
from proctor.engine.planning import UNLIMITED_SEC, Plan, PlannedProfile, PlannedTask
from proctor.engine.spec import MAX_CELLS, Profile, RunSetSpec, spec_document
from proctor.engine.task_names import matches
from proctor.engine.terms import expected_sec, needed
from proctor.headroom.needs import Need
from proctor.kernel.canonical import Json
from proctor.kernel.money import parse_usd
from proctor.kernel.words import counted
from proctor.models.known import KnownModels
from proctor.queue.service import Band
from proctor.sandboxes.interfaces import SandboxBackend
from proctor.suites.errors import SuiteUnknown
from proctor.suites.loading import load_suite, tasks_further_down
from proctor.suites.service import StoredTask, SuiteService

__all__ = ["STANDARD_TOOLS", "Resolved", "planned_tasks", "resolve", "resolve_suite"]

_SETTINGS: tuple[str, ...] = ("agent", "agent_version", "model", "script", "sampling", "thinking")
NAMED: int = 5
"""Tasks that a remark lists."""
STANDARD_TOOLS: tuple[str, ...] = ("bash", "git", "python3")
"""Their versions are part of every local environment identity. Tools beyond these join where a task of the suite
declares them, so that results carry over to a suite without one of its tasks unless that task alone needed more."""


@dataclass(frozen=True, kw_only=True)
class _ScriptFile:
    """A script file of a profile: where it is from, for a reader, and what it says."""

    path: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A plan, and what a person should know before it is started."""

    plan: Plan
    tasks: Sequence[StoredTask]
    reasons: tuple[str, ...]
    """What will make every row not comparable."""
    malformed: tuple[StoredTask, ...]
    worst_case_nano: Mapping[str, int | None]
    """The most one attempt may cost by profile; ``None``: the file does not say."""
    remarks: tuple[str, ...] = ()
    """What is probably not meant."""
    provider_keys: frozenset[str] = frozenset()
    """Names of secrets that enter no sandbox."""


def resolve(
    spec: RunSetSpec,
    spec_digest: str,
    *,
    tenant: UUID,
    base: Path,
    suites: SuiteService,
    backend: SandboxBackend,
    fresh: bool = False,
    scripts: Mapping[str, str] | None = None,
    models: KnownModels | None = None,
    agents: Callable[[str, Mapping[str, Json]], Agent] = build_agent,
) -> Resolved:
    """Resolve a file against a tenant's suites and this machine.

    ``base``: where its relative paths begin; ``fresh``: every trial is new, whatever the file says of ``reuse``;
    ``scripts``: texts of script files by the paths in the file, where no file is to be read; ``models``: what its
    profiles may declare, ``None``: not looked at; ``agents``: makes an agent from its name and options, and may ask a
    registry for its version.
    """
    suite_id = resolve_suite(spec.suite, tenant, base, suites)
    tasks = suites.tasks(tenant, suite_id)
    _refuse_faults_of_no_task(spec, tasks)
    _refuse_too_many_cells(spec, len(tasks))
    environment = backend.environment_identity(_tools(tasks))
    in_images = not backend.capabilities().host
    profiles = [
        _profile(
            spec,
            profile,
            _script_of(profile, base, scripts),
            tasks,
            backend.name,
            environment,
            agents,
            in_images=in_images,
            models=models,
        )
        for profile in spec.profiles
    ]
    plan = Plan(
        tenant=tenant,
        name=spec.name,
        spec_digest=spec_digest,
        suite_id=suite_id,
        spec=spec_document(spec),
        policy_version=CURRENT_POLICY,
        reuse_sec=None if fresh else spec.reuse_sec,
        trials=spec.trials,
        band=Band[spec.execution.priority.upper()],
        profiles=profiles,
        tasks=planned_tasks(tasks, spec),
    )
    malformed = tuple(task for task in tasks if task.task is None)
    return Resolved(
        plan=plan,
        tasks=tasks,
        reasons=tuple(override_reasons(spec)),
        malformed=malformed,
        worst_case_nano={profile.name: _worst_case(profile) for profile in spec.profiles},
        remarks=(
            *_folder_over_label(spec.suite, tenant, base, suites),
            *_further_down(_folder(spec.suite, base)),
            *_scripts_of_other_tasks(profiles, tasks),
        ),
        provider_keys=frozenset() if models is None else models.catalogue.keys,
    )


def _refuse_too_many_cells(spec: RunSetSpec, tasks: int) -> None:
    cells = spec.trials * tasks * len(spec.profiles)
    if cells > MAX_CELLS:
        of_each = f"{counted(spec.trials, 'trial')} of {counted(tasks, 'task')}"
        made = f"{of_each} by {counted(len(spec.profiles), 'profile')} make {cells:,} cells"
        raise SpecInvalid(
            f"{made}; a run set has at most {MAX_CELLS:,}.",
            where="trials",
            remedy="Ask for fewer trials, or for several run sets.",
        )


def _script_of(profile: Profile, base: Path, scripts: Mapping[str, str] | None) -> _ScriptFile | None:
    """A profile's script, if it names one."""
    if profile.script is None:
        return None
    if scripts is None:
        return _ScriptFile(path=str(base / profile.script), text=script_text(base / profile.script))
    return _ScriptFile(path=profile.script, text=scripts[profile.script])


def _folder_over_label(reference: str, tenant: UUID, base: Path, suites: SuiteService) -> list[str]:
    labels = {alias.name for alias in suites.aliases(tenant)} if _folder(reference, base).is_dir() else set()
    if reference not in labels:
        return []
    return [f"suite: {reference!r} is a label too; the folder was taken ({_folder(reference, base)})"]


def _further_down(folder: Path) -> list[str]:
    told = tasks_further_down(folder) if folder.is_dir() else ""
    return [f"suite: {told}"] if told else []


def _scripts_of_other_tasks(profiles: Sequence[PlannedProfile], tasks: Sequence[StoredTask]) -> list[str]:
    names = {task.name for task in tasks}
    options = {profile.name: profile.document["options"] for profile in profiles}
    scripts = {name: one.get("script") for name, one in options.items() if isinstance(one, Mapping)}
    told = {name: _strangers(set(one), names) for name, one in scripts.items() if isinstance(one, Mapping)}
    return [f"profile {name}: its script names {words}" for name, words in told.items() if words]


def _strangers(named: set[str], tasks: set[str]) -> str:
    """What a script names that is no task of the suite; empty where there is none."""
    strangers = sorted(named - tasks)
    if len(strangers) == len(named):
        return "no task of this suite, so it will do nothing"
    if not strangers:
        return ""
    more = f", and {len(strangers) - NAMED:,} more" if len(strangers) > NAMED else ""
    shown = ", ".join(strangers[:NAMED])
    return f"{counted(len(strangers), 'task')} that this suite does not have: {shown}{more}"


def resolve_suite(reference: str, tenant: UUID, base: Path, suites: SuiteService) -> str:
    """The id of a suite by folder (imported as it is now), label or id. Raises ``SpecInvalid``, ``SuiteUnknown``."""
    path = _folder(reference, base)
    if path.is_dir():
        loaded = load_suite(path)
        return suites.import_suite(tenant, loaded, source=str(path.resolve()))
    if "/" in reference or reference.startswith("."):
        remedy = "Name a folder of tasks, a label or a suite id."
        raise SpecInvalid(f"There is no folder {reference!r}.", where="suite", remedy=remedy)
    try:
        return suites.resolve(tenant, reference)
    except SuiteUnknown as error:
        error.where = "suite"
        raise


def _folder(reference: str, base: Path) -> Path:
    return (base / reference).expanduser()


def _tools(tasks: Sequence[StoredTask]) -> list[str]:
    declared = {tool for task in tasks if task.task and task.task.userland for tool in task.task.userland.tools}
    return sorted({*STANDARD_TOOLS, *declared})


def _profile(
    spec: RunSetSpec,
    profile: Profile,
    script: _ScriptFile | None,
    tasks: Sequence[StoredTask],
    backend: str,
    environment: Mapping[str, str],
    agents: Callable[[str, Mapping[str, Json]], Agent],
    *,
    in_images: bool,
    models: KnownModels | None,
) -> PlannedProfile:
    try:
        options = _options(profile, script, tasks)
        refuse_unheard(profile.agent, thinking=profile.thinking, sampling=profile.sampling)
        agent = agents(profile.agent, {**options, "agent_version": profile.agent_version})
        if (agent.layers or agent.asks is Asks.HERE) and profile.model is None:
            raise ProfileInvalid(f"{profile.agent} needs a model.", where="model")
    except ProfileInvalid as error:
        place = f"profiles[{spec.profiles.index(profile)}]"
        error.where = f"{place}.{error.where}" if error.where in _SETTINGS else f"{place}.script: {error.where}"
        raise
    if models is not None:
        check_models(spec, spec.profiles.index(profile), agent, models)
    parts = ConfigurationParts(
        agent=agent.identity.name,
        agent_version=agent.identity.version,
        layer_digest=agent.identity.layer_digest,
        model=profile.model,
        thinking=profile.thinking,
        variant=profile.variant,
        sampling=profile.sampling,
        fallbacks=tuple(profile.fallbacks),
        options=options,
        policies=spec.policy.model_dump(mode="json"),
        backend=backend,
        environment=environment,
        fault_plan=profile_plan(spec.faults, profile.name),
    )
    configuration, document = configuration_document(parts)
    return PlannedProfile(
        name=profile.name,
        series=profile.series or profile.name,
        configuration=configuration,
        document=document,
        provider=profile.provider,
        limits=limits_of(spec, profile.name, profile.provider),
        in_images=in_images,
    )


def _options(profile: Profile, file: _ScriptFile | None, tasks: Sequence[StoredTask]) -> dict[str, Json]:
    """The agent's own settings by content: a script's commands, not its path."""
    options: dict[str, Json] = {}
    if profile.command is not None:
        options["command"] = profile.command
    if file is not None:
        script = read_script(file.text, file.path)
        _refuse_unknown_steps(script, tasks, where=profile.script or file.path)
        options["script"] = script_document(script)
    if profile.env:
        options["env"] = dict(profile.env)
    if limits := profile.limits.model_dump(mode="json", exclude_none=True):
        options["limits"] = limits
    return options


def _refuse_unknown_steps(script: Mapping[str, TaskScript], tasks: Sequence[StoredTask], *, where: str) -> None:
    """A step that its task does not have is a slip of the pen: the commands would never run."""
    for stored in tasks:
        if stored.task is None or stored.name not in script:
            continue
        known = [step.name for step in stored.task.steps]
        for name in script[stored.name].steps:
            if name not in known:
                place = f"{where}: tasks.{stored.name}.steps.{name}"
                raise SpecInvalid(f"The task's steps are {', '.join(known) or 'none'}.", where=place)


def _refuse_faults_of_no_task(spec: RunSetSpec, tasks: Sequence[StoredTask]) -> None:
    """A fault that can't happen would be taken for one that did no harm."""
    for position, fault in enumerate(spec.faults):
        if not any(matches(task.name, fault.tasks) for task in tasks):
            raise SpecInvalid(f"No task of the suite fits {fault.tasks!r}.", where=f"faults[{position}].tasks")


def planned_tasks(tasks: Sequence[StoredTask], spec: RunSetSpec) -> list[PlannedTask]:
    """A suite's tasks as a run set of that spec plans them."""
    return [_task(task, spec) for task in tasks]


def _task(task: StoredTask, spec: RunSetSpec) -> PlannedTask:
    timeout = spec.policy.agent_timeout
    expected = expected_sec(task.task, None if timeout == "task" else float(timeout)) if task.task else 0.0
    return PlannedTask(
        content_digest=task.content_digest,
        agent_digest=task.agent_digest,
        verifier_digest=task.verifier_digest,
        expected_sec=UNLIMITED_SEC if expected is None else expected,
        need=needed(task.task, spec.policy.model_dump()["resources"]) if task.task else Need(),
    )


def override_reasons(spec: RunSetSpec) -> list[str]:
    """What of a file makes its results not comparable: policies that override the tasks' own words, and faults."""
    overridden = {
        "policy.agent_timeout": spec.policy.agent_timeout,
        "policy.verifier_timeout": spec.policy.verifier_timeout,
        "policy.resources": spec.policy.resources,
        "policy.network": spec.policy.network,
        "policy.verification": spec.policy.verification,
    }
    reasons = [
        f"{field}: {value!r} overrides what the tasks say" for field, value in overridden.items() if value != "task"
    ]
    if spec.faults:
        kinds = dict.fromkeys(fault.kind.value for fault in spec.faults)
        reasons.append(f"faults: made on purpose ({', '.join(kinds)})")
    return reasons


def _worst_case(profile: Profile) -> int | None:
    for amount in (profile.limits.cost, profile.max_cost):
        if amount is not None:
            return parse_usd(amount)
    return 0 if profile.model is None and profile.agent != "command" else None
