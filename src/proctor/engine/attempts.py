"""One attempt, from an assignment to what it left. Knows no database: what it returns is recorded by others.

The order is fixed: prepare, image, start, healthcheck, agent_setup, agent, collect, verify, record. An agent that
hit a limit or crashed is still verified; infrastructure and provider evidence end the attempt where they occur.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from proctor.agents.catalogue import build_agent
from proctor.agents.errors import AgentSetupFailed
from proctor.agents.interfaces import Agent, AgentContext, AgentRun, Usage
from proctor.agents.trajectory import Agent as TrajectoryAgent
from proctor.agents.trajectory import FinalMetrics, Step, Trajectory, dump
from proctor.engine.assignments import Assignment, Finished, LoadedTask, TaskLibrary
from proctor.engine.evidence import Evidence, GradingFacts, Phase
from proctor.engine.logs import LogWriter
from proctor.engine.phases import PhaseFailed, PhaseRecorder, TaskUnsupported, exec_detail
from proctor.engine.secrets import holds_secret, scrub_document
from proctor.engine.terms import Terms, refuse_unsupported, terms_of
from proctor.engine.verification import Verification, grade, without_secrets
from proctor.kernel.canonical import Json
from proctor.kernel.clock import Clock
from proctor.objects.store import ObjectStore, StoredObject
from proctor.sandboxes.interfaces import (
    ExecRequest,
    Labels,
    Sandbox,
    SandboxBackend,
    SandboxSpec,
    Snapshot,
)
from proctor.suites.tasks import Task, VerificationMode
from proctor.suites.variables import resolve_variables

__all__ = ["AttemptRunner", "RunnerParts"]

SETUP_TIMEOUT_SEC: float = 360.0
"""The field's cap on bringing an agent into a sandbox."""
EXPIRY: timedelta = timedelta(hours=24)
"""Past the task's own limits a sandbox is leaked after this, if its owner still lives."""
GRADINGS: int = 2
"""A verifier that breaks is run once more over the same state."""


@dataclass(frozen=True, kw_only=True)
class RunnerParts:
    """What every attempt of a worker shares."""

    backend: SandboxBackend
    objects: ObjectStore
    library: TaskLibrary
    clock: Clock
    owner: str
    scratch: Path
    secrets: Mapping[str, str] = field(default_factory=dict)


class AttemptRunner:
    """Runs one assignment. ``evidence`` and ``last_segment`` may be read while it does."""

    def __init__(self, assignment: Assignment, parts: RunnerParts) -> None:
        self.assignment = assignment
        self._parts = parts
        self._recorder = PhaseRecorder(parts.clock, list(parts.secrets.values()))
        self._log = LogWriter(
            parts.objects, assignment.tenant, assignment.attempt, list(parts.secrets.values()), parts.clock
        )
        self._state = parts.scratch / f"{assignment.attempt}.tar"
        self._collected = parts.scratch / f"{assignment.attempt}.artifacts"
        self._sandboxes: list[Sandbox] = []
        self._steps: list[Step] = []
        self._agent_run: AgentRun | None = None
        self._agent: Agent | None = None
        self._gradings: list[GradingFacts] = []
        self._artifacts: dict[str, StoredObject] = {}
        self._limits: dict[str, Json] = {}
        self._terms: Terms

    @property
    def evidence_so_far(self) -> tuple[Evidence, ...]:
        """The phases that have ended."""
        return tuple(self._recorder.evidence)

    @property
    def last_segment(self) -> int:
        """The number of the last log segment written."""
        return self._log.last_segment

    async def run(self) -> Finished:
        """Run to the end, whatever it is; only cancellation by a second Ctrl-C cuts it short, and is recorded."""
        with contextlib.suppress(PhaseFailed, asyncio.CancelledError):
            await self._phases()  # the phase that failed is the last piece of evidence
        ending = asyncio.ensure_future(self._end())
        while not ending.done():
            with contextlib.suppress(asyncio.CancelledError):  # it is ending already
                await asyncio.shield(ending)
        return ending.result()

    async def _end(self) -> Finished:
        await self._clean_up()
        return await self._record()

    async def _phases(self) -> None:
        loaded, task, agent = self._prepare()
        with self._recorder.phase(Phase.IMAGE) as detail:
            detail["image"] = "host"
        with self._recorder.phase(Phase.START):
            sandbox = await self._start(task, loaded)
        if task.environment.healthcheck is not None:
            with self._recorder.phase(Phase.HEALTHCHECK) as detail:
                await self._healthcheck(sandbox, task, detail)
        context = self._context(sandbox, task, loaded)
        with self._recorder.phase(Phase.AGENT_SETUP):
            await self._set_up(agent, context)
        with self._recorder.phase(Phase.AGENT) as detail:
            await self._run_agent(agent, context, detail)
        with self._recorder.phase(Phase.COLLECT) as detail:
            state = await self._collect(sandbox, task, detail)
        with self._recorder.phase(Phase.VERIFY) as detail:
            await self._verify(sandbox, state, task, loaded, detail)

    # --- phases, in order -----------------------------------------------------------------------------------------

    def _prepare(self) -> tuple[LoadedTask, Task, Agent]:
        with self._recorder.phase(Phase.PREPARE) as detail:
            loaded = self._parts.library.load(self.assignment.tenant, self.assignment.content_digest)
            detail["task"] = loaded.name
            if loaded.task is None or loaded.folder is None:
                raise TaskUnsupported(str(loaded.problem), where=loaded.name)
            refuse_unsupported(loaded.task, self.assignment.configuration, self._parts.backend)
            self._terms = terms_of(loaded.task, self.assignment.configuration)
            options = self.assignment.configuration.get("options")
            agent_name = self.assignment.configuration["agent"]
            assert isinstance(options, Mapping)
            assert isinstance(agent_name, Mapping)
            self._agent = build_agent(str(agent_name["name"]), options)
            return loaded, loaded.task, self._agent
        raise AssertionError("unreachable: a phase either returns or raises")

    async def _start(self, task: Task, loaded: LoadedTask) -> Sandbox:
        sandbox = await self._create(task, base=None)
        self._limits = {kind.value: strength.value for kind, strength in sandbox.strengths.items()}
        await self._put_files(sandbox, task, loaded)
        return sandbox

    async def _put_files(self, sandbox: Sandbox, task: Task, loaded: LoadedTask) -> None:
        """What an image build would have copied; a task without an environment folder has nothing to copy."""
        assert loaded.folder is not None
        environment = loaded.folder / "environment"
        if task.userland is None or not environment.is_dir():
            return
        for source, destination in task.userland.copy.items():
            await sandbox.put(environment / source, destination)

    async def _create(self, task: Task, *, base: Snapshot | None) -> Sandbox:
        spec = SandboxSpec(
            labels=Labels(
                tenant=self.assignment.tenant,
                run_set=self.assignment.run_set,
                attempt=self.assignment.attempt,
                owner=self._parts.owner,
                expires_at=self._parts.clock.now() + EXPIRY,
            ),
            workdir=task.workdir,
            env=resolve_variables(task.environment.env, self._parts.secrets),
            network=self._terms.network,
            limits=self._terms.limits,
            base=base,
            restore_system=base is not None and not task.changes_system,
        )
        sandbox = await self._parts.backend.create(spec)
        self._sandboxes.append(sandbox)
        return sandbox

    async def _healthcheck(self, sandbox: Sandbox, task: Task, detail: dict[str, Json]) -> None:
        check = task.environment.healthcheck
        assert check is not None
        for attempt in range(1, check.retries + 2):
            result = await sandbox.exec(
                ExecRequest(argv=["/bin/sh", "-c", check.command], cwd=task.workdir, timeout_sec=check.timeout_sec)
            )
            detail.update(exec_detail(result), tries=attempt)
            if result.exit_code == 0:
                return
            if attempt <= check.retries:
                await asyncio.sleep(check.interval_sec)
        detail.update(failed=True, source="task")
        raise TaskUnsupported("the healthcheck never succeeded", where=f"{task.name}: environment.healthcheck")

    def _context(self, sandbox: Sandbox, task: Task, loaded: LoadedTask) -> AgentContext:
        options = self.assignment.configuration["options"]
        self._steps.append(Step(step_id=1, source="user", message=task.instruction))
        is_oracle = self._agent is not None and self._agent.identity.name == "oracle"
        assert loaded.folder is not None
        assert isinstance(options, Mapping)
        return AgentContext(
            task_name=task.name,
            instruction=task.instruction,
            sandbox=sandbox,
            workdir=task.workdir,
            timeout_sec=self._terms.agent_timeout_sec,
            env=resolve_variables(_strings(options.get("env")), self._parts.secrets),
            solution=loaded.folder / "solution" if is_oracle else None,
            solution_env=resolve_variables(task.solution_env, self._parts.secrets) if is_oracle else {},
            on_output=self._log.sink(Phase.AGENT.value),
            on_step=self._steps.append,
        )

    async def _set_up(self, agent: Agent, context: AgentContext) -> None:
        try:
            async with asyncio.timeout(SETUP_TIMEOUT_SEC):
                await agent.setup(context)
        except TimeoutError as error:
            raise AgentSetupFailed(f"it took more than {SETUP_TIMEOUT_SEC:.0f} s") from error

    async def _run_agent(self, agent: Agent, context: AgentContext, detail: dict[str, Json]) -> None:
        run = await agent.run(context)
        self._log.release()
        self._agent_run = run
        if run.exec is not None:
            detail.update(exec_detail(run.exec))
            crashed = run.exec.signal is not None or run.exec.exit_code != 0
            detail["crashed"] = crashed and run.limit is None
        detail["limit"] = run.limit.value if run.limit else None
        detail["refused"] = run.refused
        detail["model_returned"] = run.model_returned

    async def _collect(self, sandbox: Sandbox, task: Task, detail: dict[str, Json]) -> Snapshot | None:
        """The final state, kept as an artifact; in ``live`` only the agent's session is dead by now."""
        await sandbox.kill_session("agent")
        mode = self._terms.mode
        detail["mode"] = mode.value
        if mode is VerificationMode.LIVE:
            return None
        await sandbox.kill_all()
        if mode is VerificationMode.SEPARATE:
            await self._declared_artifacts(sandbox, task)
        return await self._keep_state(sandbox, detail)

    async def _keep_state(self, sandbox: Sandbox, detail: dict[str, Json]) -> Snapshot:
        snapshot = await sandbox.snapshot(self._state)
        detail["changed_system_paths"] = list(snapshot.changed_system_paths[:100])
        secrets = list(self._parts.secrets.values())
        found = await asyncio.to_thread(holds_secret, snapshot.path, secrets) if secrets else False
        if found:
            detail["state"] = "refused: it holds a secret"
            return snapshot
        self._artifacts["state.tar"] = await self._parts.objects.keep_file(
            f"{self.assignment.tenant}/states", snapshot.path, sha256=snapshot.sha256, size=snapshot.size
        )
        return snapshot

    async def _declared_artifacts(self, sandbox: Sandbox, task: Task) -> None:
        self._collected.mkdir()
        for number, artifact in enumerate(task.artifacts):
            await sandbox.get(artifact.source, self._collected / str(number))

    async def _verify(
        self, agents: Sandbox, state: Snapshot | None, task: Task, loaded: LoadedTask, detail: dict[str, Json]
    ) -> None:
        mode = self._terms.mode
        for number in range(1, GRADINGS + 1):
            sandbox = await self._verifier_sandbox(agents, state, task, mode)
            facts = await grade(sandbox, self._verification(task, loaded, mode, number), self._parts.clock)
            self._gradings.append(without_secrets(facts, list(self._parts.secrets.values())))
            detail.update(facts.detail)
            if facts.problem is None:
                break
        if mode is VerificationMode.LIVE:
            await agents.kill_all()
            await self._keep_state(agents, detail)
            detail["state_taken"] = "after verification"

    async def _verifier_sandbox(
        self, agents: Sandbox, state: Snapshot | None, task: Task, mode: VerificationMode
    ) -> Sandbox:
        if mode is VerificationMode.LIVE:
            return agents
        if agents in self._sandboxes:
            self._sandboxes.remove(agents)
            await agents.destroy()
        if mode is VerificationMode.SNAPSHOT:
            return await self._create(task, base=state)
        sandbox = await self._create(task, base=None)
        for number, artifact in enumerate(task.artifacts):
            await sandbox.put(self._collected / str(number), artifact.destination or artifact.source)
        return sandbox

    def _verification(self, task: Task, loaded: LoadedTask, mode: VerificationMode, number: int) -> Verification:
        assert loaded.folder is not None
        return Verification(
            task=task,
            folder=loaded.folder,
            verifier_digest=loaded.verifier_digest,
            mode=mode,
            backend=self._parts.backend.name,
            number=number,
            env=resolve_variables(task.verifier.env, self._parts.secrets),
            timeout_sec=self._terms.verifier_timeout_sec,
            on_output=self._log.sink(Phase.VERIFY.value),
        )

    # --- the end ----------------------------------------------------------------------------------------------------

    async def _clean_up(self) -> None:
        for sandbox in self._sandboxes:
            with contextlib.suppress(Exception):  # what can't be destroyed now is the reaper's
                await sandbox.destroy()
        with contextlib.suppress(FileNotFoundError):
            self._state.unlink()
        if self._collected.exists():
            await asyncio.to_thread(shutil.rmtree, self._collected, ignore_errors=True)

    async def _record(self) -> Finished:
        with contextlib.suppress(PhaseFailed), self._recorder.phase(Phase.RECORD):
            await self._log.close()
            trajectory = scrub_document(dump(self._trajectory()), list(self._parts.secrets.values()))
            self._artifacts["trajectory.json"] = await self._parts.objects.put_soon(self._trajectory_key, trajectory)
        return Finished(
            assignment=self.assignment,
            evidence=tuple(self._recorder.evidence),
            gradings=tuple(self._gradings),
            usage=self._usage(),
            limits=self._limits,
            artifacts=self._artifacts,
            last_segment=self._log.last_segment,
        )

    @property
    def _trajectory_key(self) -> str:
        """Spread over 256 folders: one a trajectory would cost more than the trajectory."""
        attempt = self.assignment.attempt
        return f"{self.assignment.tenant}/trajectories/{attempt.hex[-2:]}/{attempt}.json"

    def _trajectory(self) -> Trajectory:
        identity = self._agent.identity if self._agent else None
        model = self.assignment.configuration.get("model")
        steps = self._steps or [Step(step_id=1, source="system", message="The attempt ended before the agent began.")]
        return Trajectory(
            session_id=str(self.assignment.attempt),
            agent=TrajectoryAgent(
                name=identity.name if identity else "none",
                version=identity.version if identity else "0",
                model_name=model if isinstance(model, str) else None,
            ),
            steps=steps,
            final_metrics=FinalMetrics(total_steps=len(steps)),
        )

    def _usage(self) -> dict[str, Json] | None:
        if not any(item.phase is Phase.AGENT for item in self._recorder.evidence):
            usage: Usage | None = Usage.none()  # an agent that never began used nothing
        else:
            usage = self._agent_run.usage if self._agent_run else None
        if usage is None:
            return None
        fields = {
            "input_tokens": usage.input_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "output_tokens": usage.output_tokens,
            "cost_nano": usage.cost_nano,
        }
        return None if all(value is None for value in fields.values()) else dict(fields)


def _strings(value: Json) -> dict[str, str]:
    return {str(key): str(item) for key, item in value.items()} if isinstance(value, Mapping) else {}
