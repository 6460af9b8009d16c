"""One step graded: on a copy of what it left, or in the sandbox it ran in. Attempts and regrades share this."""

from __future__ import annotations

from collections.abc import Callable

from proctor.engine import artifacts
from proctor.engine.assignments import LoadedTask
from proctor.engine.attempt_sandboxes import AttemptSandboxes
from proctor.engine.evidence import GradingFacts
from proctor.engine.parts import RunnerParts
from proctor.engine.states import Collected
from proctor.engine.steps import StepPlan
from proctor.engine.verification import Verification, grade, without_secrets
from proctor.sandboxes.interfaces import Sandbox
from proctor.suites.tasks import Task, VerificationMode
from proctor.suites.variables import resolve_variables

__all__ = ["GRADINGS", "StepGrader"]

GRADINGS: int = 2
"""A verifier that breaks is run once more over the same state."""


class StepGrader:
    """Grades the steps of one attempt by its task's verifier."""

    def __init__(
        self,
        parts: RunnerParts,
        sandboxes: AttemptSandboxes,
        loaded: LoadedTask,
        sink: Callable[[], Callable[[str, bytes], None]],
    ) -> None:
        """``sink`` gives what takes the output of one run of the verifier."""
        assert loaded.task is not None
        self._task: Task = loaded.task
        self._parts, self._sandboxes, self._loaded, self._sink = parts, sandboxes, loaded, sink

    async def on_copy(self, step: StepPlan, collected: Collected, *, number: int) -> GradingFacts:
        """Grade what the step left in a sandbox of the verifier's own. Raises only what sandboxes raise."""
        sandbox = await self._sandbox(step, collected)
        try:
            return await self.in_place(sandbox, step, number=number)
        finally:
            await self._sandboxes.destroy(sandbox)

    async def in_place(self, sandbox: Sandbox, step: StepPlan, *, number: int) -> GradingFacts:
        """Grade in a sandbox as it is."""
        verification = Verification(
            task=self._task,
            tests=step.tests,
            verifier_digest=self._loaded.verifier_digest,
            mode=step.terms.mode,
            backend=self._parts.backend.name,
            number=number,
            env=resolve_variables(step.verifier_env, self._parts.sandbox_secrets),
            timeout_sec=step.terms.verifier_timeout_sec,
            user=step.verifier_user,
            clearing_user="root" if self._parts.backend.capabilities().users is None else None,
            on_output=self._sink(),
            of_step=bool(step.name),
        )
        facts = await grade(sandbox, verification, self._parts.clock)
        return without_secrets(facts, list(self._parts.secrets.values()))

    async def _sandbox(self, step: StepPlan, collected: Collected) -> Sandbox:
        """From the state and what was in services, or in ``separate`` with nothing but the declared paths."""
        if step.terms.mode is not VerificationMode.SEPARATE:
            restore = step.terms.mode is VerificationMode.SNAPSHOT and not self._task.changes_system
            sandbox = await self._sandboxes.create(
                self._task, step.terms, base=collected.state, restore_system=restore, for_verifier=True
            )
            if collected.artifacts is not None:
                await artifacts.give(sandbox, step.artifacts, collected.artifacts, only_of_services=True)
            return sandbox
        sandbox = await self._sandboxes.create(self._task, step.terms, for_verifier=True)
        assert collected.artifacts is not None
        await artifacts.give(sandbox, step.artifacts, collected.artifacts)
        return sandbox
