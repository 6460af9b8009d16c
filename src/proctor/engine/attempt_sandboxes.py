"""The sandboxes of one attempt: made under its labels, and all gone at its end."""

from __future__ import annotations

import contextlib
from datetime import timedelta

from proctor.engine.assignments import Assignment
from proctor.engine.parts import RunnerParts
from proctor.engine.terms import Terms
from proctor.sandboxes.interfaces import Labels, Sandbox, SandboxSpec, Snapshot
from proctor.suites.tasks import Task
from proctor.suites.variables import resolve_variables

__all__ = ["AttemptSandboxes"]

EXPIRY: timedelta = timedelta(hours=24)
"""Past the task's own limits a sandbox is leaked after this, if its owner still lives."""


class AttemptSandboxes:
    """Makes sandboxes for one attempt and keeps track of those that are still there."""

    def __init__(self, assignment: Assignment, parts: RunnerParts) -> None:
        self._assignment = assignment
        self._parts = parts
        self._there: list[Sandbox] = []

    async def create(
        self,
        task: Task,
        terms: Terms,
        *,
        base: Snapshot | None = None,
        restore_system: bool = False,
        for_verifier: bool = False,
    ) -> Sandbox:
        """A sandbox as the task wants it, from a kept state if there is one. Raises what the backend raises."""
        spec = SandboxSpec(
            labels=Labels(
                tenant=self._assignment.tenant,
                run_set=self._assignment.run_set,
                attempt=self._assignment.attempt,
                owner=self._parts.owner,
                expires_at=self._parts.clock.now() + EXPIRY,
            ),
            workdir=task.workdir,
            env=resolve_variables(task.environment.env, self._parts.secrets),
            network=terms.verifier_network if for_verifier else terms.network,
            limits=terms.limits,
            base=base,
            restore_system=restore_system,
        )
        sandbox = await self._parts.backend.create(spec)
        self._there.append(sandbox)
        return sandbox

    async def destroy(self, sandbox: Sandbox) -> None:
        """Destroy one that is not needed any more. Safe to repeat."""
        if sandbox in self._there:
            self._there.remove(sandbox)
            await sandbox.destroy()

    async def destroy_all(self) -> None:
        """Destroy what is left; what can't be destroyed now is the reaper's."""
        for sandbox in self._there:
            with contextlib.suppress(Exception):
                await sandbox.destroy()
