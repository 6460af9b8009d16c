"""The steps of one attempt, one after another: each is begun, worked on, collected and graded on a copy.

The agent goes on in its own sandbox from step to step, where no test ever lands but those of a last step that is
verified live. What a step left is kept, and graded in a sandbox made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from proctor.agents.interfaces import Agent, AgentContext, AgentRun
from proctor.engine.assignments import Assignment, LoadedTask
from proctor.engine.attempt_models import AttemptModels
from proctor.engine.attempt_sandboxes import AttemptSandboxes
from proctor.engine.evidence import GradingFacts, Phase
from proctor.engine.healthchecks import becomes_healthy
from proctor.engine.logs import LogWriter
from proctor.engine.parts import RunnerParts
from proctor.engine.phases import PhaseRecorder, TaskUnsupported, exec_detail, hosts_fault
from proctor.engine.states import Collected, StateKeeper
from proctor.engine.step_grading import GRADINGS, StepGrader
from proctor.engine.steps import StepPlan, grade_whole
from proctor.engine.trajectories import TrajectoryGatherer
from proctor.kernel.canonical import Json
from proctor.sandboxes.errors import LeftBroken, TransferRefused
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, Reach, Sandbox
from proctor.suites.tasks import Task
from proctor.suites.variables import resolve_variables

__all__ = ["Kept", "StepLoop"]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What an attempt has gathered so far; it stays when a phase ends the attempt."""

    recorder: PhaseRecorder
    log: LogWriter
    trajectory: TrajectoryGatherer
    sandboxes: AttemptSandboxes
    states: StateKeeper
    agent_runs: list[AgentRun] = field(default_factory=list)
    gradings: list[GradingFacts] = field(default_factory=list)


class StepLoop:
    """Runs the steps of a task in ``sandbox``, which is the agent's. Raises ``PhaseFailed`` where a phase does."""

    def __init__(
        self,
        *,
        assignment: Assignment,
        parts: RunnerParts,
        kept: Kept,
        loaded: LoadedTask,
        task: Task,
        plans: tuple[StepPlan, ...],
        agent: Agent,
        models: AttemptModels | None,
        sandbox: Sandbox,
    ) -> None:
        self._assignment, self._parts, self._kept = assignment, parts, kept
        self._loaded, self._task, self._plans = loaded, task, plans
        self._agent, self._models, self._sandbox = agent, models, sandbox
        self._grader = StepGrader(parts, kept.sandboxes, loaded, partial(kept.log.sink, Phase.VERIFY.value))
        self._results: list[GradingFacts] = []
        self._reach = plans[0].terms.reach

    async def run(self) -> None:
        """All steps, until one is below its reward or can't be begun. The gradings are among what is kept."""
        for step in self._plans:
            if not await self._begin(step):
                self._close()
                return
            await self._work(step)
            if not await self._grade(step):
                return

    def context(self, step: StepPlan) -> AgentContext:
        """What the agent gets of a step."""
        options = self._assignment.configuration["options"]
        assert isinstance(options, Mapping)
        is_oracle = self._agent.identity.name == "oracle"
        secrets = self._parts.sandbox_secrets
        return AgentContext(
            task_name=self._task.name,
            step=step.name,
            instruction=step.instruction,
            sandbox=self._sandbox,
            workdir=self._sandbox.workdir,
            user=step.user,
            timeout_sec=step.terms.agent_timeout_sec,
            env=resolve_variables(_strings(options.get("env")), secrets),
            solution=step.solution if is_oracle else None,
            solution_env=resolve_variables(self._task.solution_env, secrets) if is_oracle else {},
            models=self._models,
            on_output=self._kept.log.sink(Phase.AGENT.value),
            on_step=self._kept.trajectory.add,
        )

    # --- beginning a step ------------------------------------------------------------------------------------------

    async def _begin(self, step: StepPlan) -> bool:
        """The step's own files, ``setup.sh`` and healthcheck; False where an agent's earlier work is in the way.

        Before an agent has worked the task alone can be at fault: that raises.
        """
        if step.workdir is not None:
            with self._kept.recorder.phase(Phase.START, step=step.name) as detail:
                if not self._may_go_on(step, await self._set_up(step, detail), "steps/{}/workdir", detail):
                    return False
        if step.healthcheck is not None:
            with self._kept.recorder.phase(Phase.HEALTHCHECK, step=step.name) as detail:
                healthy = await becomes_healthy(
                    self._sandbox, step.healthcheck, self._sandbox.workdir, detail, clock=self._parts.clock
                )
                return self._may_go_on(step, healthy, "the healthcheck of step {}", detail)
        return True

    async def _set_up(self, step: StepPlan, detail: dict[str, Json]) -> bool:
        assert step.workdir is not None
        workdir = self._sandbox.workdir
        try:
            await self._sandbox.put(step.workdir, workdir)
        except TransferRefused as error:
            if hosts_fault(error):
                raise
            detail["message"] = str(error)
            return False
        if not (step.workdir / "setup.sh").is_file():
            return True
        result = await self._sandbox.exec(
            ExecRequest(
                argv=["bash", f"{workdir.rstrip('/')}/setup.sh"],
                cwd=workdir,
                timeout_sec=self._task.environment.build_timeout_sec,
                on_output=self._kept.log.sink(Phase.START.value),
                session="setup",
            )
        )
        detail.update(exec_detail(result))
        return result.exit_code == 0

    def _may_go_on(self, step: StepPlan, began: bool, what: str, detail: dict[str, Json]) -> bool:
        if began:
            return True
        what = what.format(step.name)
        if not self._results:
            raise TaskUnsupported(f"{what} failed before any agent had worked", where=self._task.name)
        detail["not_reached"] = f"{what} failed over what the steps before had left"
        return False

    # --- the agent -------------------------------------------------------------------------------------------------

    async def _work(self, step: StepPlan) -> None:
        with self._kept.recorder.phase(Phase.AGENT, step=step.name) as detail:
            self._kept.trajectory.instruct(step.instruction)
            await self._let_reach(step.terms.agent_reach)
            detail["network"] = self._reach.network.value
            try:
                run = await self._run_agent(step)
            except LeftBroken as error:  # by an earlier step: what there is is graded
                detail.update(crashed=True, message=str(error))
                return
            finally:
                self._kept.log.release()
            self._kept.agent_runs.append(run)
            if run.exec is not None:
                detail.update(exec_detail(run.exec))
                detail["crashed"] = _crashed(run.exec) and run.limit is None
            detail["limit"] = run.limit.value if run.limit else None
            detail["refused"] = run.refused
            detail["model_returned"] = run.model_returned
            if self._models is not None:
                detail.update(self._models.evidence())

    async def _run_agent(self, step: StepPlan) -> AgentRun:
        """The agent on a step; models answer it for so long and no longer."""
        if self._models is not None:
            self._models.open()
        try:
            return await self._agent.run(self.context(step))
        finally:
            if self._models is not None:
                self._models.shut()

    async def _let_reach(self, reach: Reach) -> None:
        """Give the sandbox a phase's network, where that is another one.

        It keeps the agent's until its end, or a live verifier: whatever an agent left running must reach no more than
        the agent did.
        """
        if reach != self._reach:
            await self._sandbox.set_reach(reach)
            self._reach = reach

    # --- the verifier ----------------------------------------------------------------------------------------------

    async def _grade(self, step: StepPlan) -> bool:
        """Collect what the step left and grade it; whether the next one is to be run."""
        with self._kept.recorder.phase(Phase.COLLECT, step=step.name) as detail:
            collected = await self._kept.states.collect(self._sandbox, step, detail)
        with self._kept.recorder.phase(Phase.VERIFY, step=step.name) as detail:
            facts = await self._verify(step, collected, detail)
            self._results.append(facts)
            permitted = step.permits(facts.rewards)
            if not permitted:
                detail["below_min_reward"] = True
            if step.last or not permitted:
                self._close()
            if not step.on_copy:
                await self._sandbox.kill_all()
                await self._kept.states.keep(self._sandbox, step, detail)
                detail["state_taken"] = "after verification"
        await self._kept.states.forget()
        return permitted and not step.last

    async def _verify(self, step: StepPlan, collected: Collected, detail: dict[str, Json]) -> GradingFacts:
        """The verifier's last word; a try that broke before it is a grading of its own."""
        for number in range(1, GRADINGS + 1):
            facts = await self._graded(step, collected, number=len(self._kept.gradings) + 1)
            detail.update(facts.detail)
            if facts.problem is None or number == GRADINGS:
                return facts
            told = {"step": step.name, **facts.detail} if step.name else facts.detail
            self._kept.gradings.append(replace(facts, detail=told))
        raise AssertionError("unreachable: the last try returns")

    async def _graded(self, step: StepPlan, collected: Collected, *, number: int) -> GradingFacts:
        if not step.on_copy:
            await self._let_reach(step.terms.verifier_reach)
            return await self._grader.in_place(self._sandbox, step, number=number)
        if step.last:
            await self._kept.sandboxes.destroy(self._sandbox)
        return await self._grader.on_copy(step, collected, number=number)

    def _close(self) -> None:
        """The grading of the whole attempt."""
        if not self._task.steps:
            self._kept.gradings.extend(self._results)
            return
        number, now = len(self._kept.gradings) + 1, self._parts.clock.now()
        whole = grade_whole(self._task, self._plans, self._results, number=number, graded_at=now)
        self._kept.gradings.append(whole)


def _crashed(result: ExecResult) -> bool:
    return result.signal is not None or result.exit_code != 0


def _strings(value: Json) -> dict[str, str]:
    return {str(key): str(item) for key, item in value.items()} if isinstance(value, Mapping) else {}
