"""One attempt, from an assignment to what it left. Knows no database: what it returns is recorded by others.

The order is fixed: prepare, image, start, healthcheck, agent_setup, then agent, collect and verify for each step of
the task, then record. An agent with layers has an ``agent_setup`` of their own before the image. An agent that hit a
limit or crashed is still verified; infrastructure and provider evidence end the attempt where they occur.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from proctor.agents.errors import AgentSetupFailed
from proctor.agents.interfaces import Agent, AgentContext, Asks, Usage
from proctor.agents.trajectory import dump
from proctor.engine.agent_layers import bring_layers, has_layers, make_agent
from proctor.engine.assignments import Assignment, Finished, LoadedTask
from proctor.engine.attempt_models import AttemptModels
from proctor.engine.attempt_sandboxes import AttemptSandboxes
from proctor.engine.evidence import Evidence, Phase, retry_after
from proctor.engine.healthchecks import becomes_healthy
from proctor.engine.logs import LogWriter
from proctor.engine.parts import RunnerParts
from proctor.engine.phases import HarnessFault, PhaseFailed, PhaseRecorder, TaskUnsupported
from proctor.engine.secrets import scrub_document
from proctor.engine.states import StateKeeper
from proctor.engine.step_loop import Kept, StepLoop
from proctor.engine.step_maps import keep_map
from proctor.engine.steps import StepPlan, plan_steps
from proctor.engine.terms import declared, refuse_unsupported
from proctor.engine.trajectories import TrajectoryGatherer
from proctor.kernel.canonical import Json, digest
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore
from proctor.sandboxes.interfaces import Sandbox
from proctor.suites.tasks import Task
from proctor.telemetry.redaction import hide

__all__ = ["AttemptRunner", "RunnerParts", "Standing"]

ORACLE: str = "oracle"
"""The agent that runs the reference solution."""
SETUP_TIMEOUT_SEC: float = 360.0
"""The field's cap on bringing an agent into a sandbox."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a running attempt has come: one that stays what it was has made no progress."""

    phase: str = ""
    phases_ended: int = 0
    last_segment: int = 0
    """The number of the last log segment written."""
    steps: int = 0
    """Of its trajectory."""


class AttemptRunner:
    """Runs one assignment. What it has come to may be read while it does."""

    def __init__(self, assignment: Assignment, parts: RunnerParts) -> None:
        self.assignment = assignment
        self._secrets = dict(parts.secrets)
        self._parts = parts = replace(parts, secrets=self._secrets)  # this attempt's own: it may open more
        secrets = self._secrets.values()  # as they are when they are looked at
        hide(secrets)
        self._kept = Kept(
            recorder=PhaseRecorder(parts.clock, secrets, parts.remarks),
            log=LogWriter(parts.objects, assignment.tenant, assignment.attempt, secrets, parts.clock),
            trajectory=TrajectoryGatherer(parts.objects, assignment.tenant, assignment.attempt, secrets),
            sandboxes=AttemptSandboxes(assignment, parts),
            states=StateKeeper(assignment, parts),
        )
        self._agent: Agent | None = None
        self._models: AttemptModels | None = None
        self._limits: dict[str, Json] = {}

    @property
    def evidence_so_far(self) -> tuple[Evidence, ...]:
        """The phases that have ended."""
        return tuple(self._kept.recorder.evidence)

    @property
    def has_sandbox(self) -> bool:
        """Whether its sandbox was made."""
        return any(item.phase is Phase.START for item in self.evidence_so_far)

    @property
    def standing(self) -> Standing:
        """How far it has come."""
        kept = self._kept
        return Standing(
            phase=kept.recorder.current,
            phases_ended=len(kept.recorder.evidence),
            last_segment=kept.log.last_segment,
            steps=len(kept.trajectory),
        )

    async def run(self) -> Finished:
        """Run to the end, whatever it is; only cancellation by a second Ctrl-C cuts it short, and is recorded."""
        with contextlib.suppress(PhaseFailed, asyncio.CancelledError):
            await self._foreseen()  # the phase that failed is the last piece of evidence
        ending = asyncio.ensure_future(self._end())
        while not ending.done():
            with contextlib.suppress(asyncio.CancelledError):  # it is ending already
                await asyncio.shield(ending)
        return ending.result()

    async def _foreseen(self) -> None:
        """All phases; what goes wrong outside of one is our fault, and evidence as well."""
        try:
            await self._phases()
        except PhaseFailed:
            raise
        except Exception as error:
            with self._kept.recorder.phase(Phase.RECORD):
                raise HarnessFault(f"{type(error).__name__}: {error}") from error

    async def _end(self) -> Finished:
        if self._models is not None:
            await self._models.end()

        if self._agent is not None:
            with contextlib.suppress(Exception):  # whatever it holds, the attempt is over
                await self._agent.close()
        await self._kept.sandboxes.destroy_all()
        await self._kept.states.forget()
        return await self._record()

    async def _phases(self) -> None:
        phase = self._kept.recorder.phase
        loaded, task, plans = await self._prepare()
        agent = await self._bring_agent()
        with phase(Phase.IMAGE) as detail:
            detail.update(await self._kept.sandboxes.bring_images(task, loaded.folder))
        with phase(Phase.START):
            await self._open_models(agent)
            sandbox = await self._start(task, loaded, plans[0])
        if task.environment.healthcheck is not None:
            with phase(Phase.HEALTHCHECK) as detail:
                if not await becomes_healthy(
                    sandbox, task.environment.healthcheck, sandbox.workdir, detail, clock=self._parts.clock
                ):
                    place = f"{task.name}: environment.healthcheck"
                    raise TaskUnsupported("the healthcheck never succeeded", where=place)
        steps = StepLoop(
            assignment=self.assignment,
            parts=self._parts,
            kept=self._kept,
            loaded=loaded,
            task=task,
            plans=plans,
            agent=agent,
            models=self._models,
            sandbox=sandbox,
        )
        with phase(Phase.AGENT_SETUP):
            await self._set_up(agent, steps.context(plans[0]))
        await steps.run()
        if self._kept.gradings[-1].problem is not None and agent.identity.name != ORACLE:
            with phase(Phase.VERIFY) as detail:
                detail["reference"] = await self._reference(task)

    async def _reference(self, task: Task) -> str:
        """A verifier broke twice: what it says of the reference solution tells whether the agent's state broke it."""
        if not task.has_solution:
            return "absent"
        policies = digest(self.assignment.configuration["policies"])
        key = f"{self.assignment.tenant}/{self.assignment.content_digest}/{policies}"
        if key not in self._parts.references:
            self._parts.references[key] = await self._run_reference()
        return self._parts.references[key]

    async def _run_reference(self) -> str:
        """Run the oracle as an attempt that nobody asked for and nothing is kept of."""
        oracle = {"agent": {"name": ORACLE, "version": "1", "layer": None}, "options": {}}
        assignment = replace(
            self.assignment, attempt=new_id(), configuration={**self.assignment.configuration, **oracle}
        )
        with tempfile.TemporaryDirectory(dir=self._parts.scratch) as folder:
            objects = ObjectStore(Path(folder) / "objects")
            parts = replace(self._parts, objects=objects, remarks=dict, opener=None)
            finished = await AttemptRunner(assignment, parts).run()
        verdict = finished.gradings[-1].passed if finished.gradings else None
        return "passed" if verdict else "failed"

    # --- phases, in order -----------------------------------------------------------------------------------------

    async def _prepare(self) -> tuple[LoadedTask, Task, tuple[StepPlan, ...]]:
        configuration = self.assignment.configuration
        with self._kept.recorder.phase(Phase.PREPARE) as detail:
            loaded = self._parts.library.load(self.assignment.tenant, self.assignment.content_digest)
            detail["task"] = loaded.name
            if self._parts.opener is not None:
                self._secrets.update(await asyncio.to_thread(self._parts.opener, self.assignment))
                hide(self._secrets.values())
            if loaded.task is None or loaded.folder is None:
                raise TaskUnsupported(str(loaded.problem), where=loaded.name)
            refuse_unsupported(loaded.task, configuration, self._parts.backend)
            detail.update(declared(loaded.task))
            plans = plan_steps(loaded.task, loaded.folder, configuration)
            if not has_layers(configuration):
                self._agent = make_agent(self._parts, configuration)
            return loaded, loaded.task, plans
        raise AssertionError("unreachable: a phase either returns or raises")

    async def _bring_agent(self) -> Agent:
        """The agent; what it takes to bring its programs to this machine is never charged to it."""
        if self._agent is None:
            with self._kept.recorder.phase(Phase.AGENT_SETUP) as detail:
                self._agent = await asyncio.to_thread(make_agent, self._parts, self.assignment.configuration)
                detail["layers"] = {layer.name: layer.version for layer in self._agent.layers}
                self._kept.sandboxes.layers = await bring_layers(self._parts, self._agent)
        assert self._agent is not None
        return self._agent

    async def _open_models(self, agent: Agent) -> None:
        if self._parts.models is None or agent.asks is Asks.NOTHING:
            return
        self._models = await asyncio.to_thread(self._parts.models.of, self.assignment, self._secrets, agent)
        if self._models is not None:
            hide([self._models.token])
            self._kept.sandboxes.reaches_models = agent.asks is Asks.SANDBOX

    async def _start(self, task: Task, loaded: LoadedTask, first: StepPlan) -> Sandbox:
        sandbox = await self._kept.sandboxes.create(task, first.terms)
        self._limits = {kind.value: strength.value for kind, strength in sandbox.strengths.items()}
        await self._put_files(sandbox, task, loaded)
        if self._models is not None:
            await self._models.serve(sandbox.relay)
        return sandbox

    async def _put_files(self, sandbox: Sandbox, task: Task, loaded: LoadedTask) -> None:
        """What an image build would have copied; a task without an environment folder has nothing to copy."""
        assert loaded.folder is not None
        environment = loaded.folder / "environment"
        if self._kept.sandboxes.in_image or task.userland is None or not environment.is_dir():
            return
        for source, destination in task.userland.copy.items():
            await sandbox.put(environment / source, destination)

    async def _set_up(self, agent: Agent, context: AgentContext) -> None:
        try:
            async with asyncio.timeout(SETUP_TIMEOUT_SEC):
                await agent.setup(context)
        except TimeoutError as error:
            raise AgentSetupFailed(f"it took more than {SETUP_TIMEOUT_SEC:.0f} s") from error

    # --- the end ----------------------------------------------------------------------------------------------------

    async def _record(self) -> Finished:
        artifacts = dict(self._kept.states.artifacts)
        with contextlib.suppress(PhaseFailed), self._kept.recorder.phase(Phase.RECORD):
            await self._kept.log.close()
            await self._kept.trajectory.close()
            identity = self._agent.identity if self._agent else None
            model = self.assignment.configuration.get("model")
            trajectory = self._kept.trajectory.gathered(
                self.assignment.attempt,
                identity,
                model if isinstance(model, str) else None,
                self._models.usage() if self._models is not None else None,
            )
            document = scrub_document(dump(trajectory), self._secrets.values())
            kept = await self._parts.objects.put_soon(self._trajectory_key, document)
            artifacts["trajectory.json"] = kept
            await keep_map(self._parts.objects, self.assignment.tenant, kept, document)
        return Finished(
            assignment=self.assignment,
            evidence=tuple(self._kept.recorder.evidence),
            gradings=tuple(self._kept.gradings),
            usage=self._usage(),
            limits=self._limits,
            artifacts=artifacts,
            last_segment=self._kept.log.last_segment,
            retry_after=retry_after(self._kept.recorder.evidence),
            metered=self._models is not None,
        )

    @property
    def _trajectory_key(self) -> str:
        """Spread over 256 folders: one a trajectory would cost more than the trajectory."""
        attempt = self.assignment.attempt
        return f"{self.assignment.tenant}/trajectories/{attempt.hex[-2:]}/{attempt}.json"

    def _usage(self) -> dict[str, Json] | None:
        """By the gateway's count, else the sum over the agent's runs; unknown where one ended without telling."""
        if self._models is not None:
            return asdict(self._models.usage())
        began = sum(item.phase is Phase.AGENT for item in self._kept.recorder.evidence)
        told = [run.usage for run in self._kept.agent_runs if run.usage is not None]
        if len(told) < began:
            return None
        fields = asdict(Usage.total(told))  # an agent that never began used nothing
        return None if all(value is None for value in fields.values()) else fields
