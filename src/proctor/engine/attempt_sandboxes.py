"""The sandboxes of one attempt: made under its labels, and all gone at its end."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from pathlib import Path

from proctor.engine.assignments import Assignment
from proctor.engine.parts import RunnerParts
from proctor.engine.phases import TaskUnsupported
from proctor.engine.terms import Terms
from proctor.kernel.canonical import Json
from proctor.sandboxes.interfaces import Labels, Sandbox, SandboxSpec, Snapshot
from proctor.sandboxes.registries import registry_of
from proctor.suites.tasks import Environment, Task
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
        self._image: str | None = None
        self._verifier_image: str | None = None
        self._asked: list[str] = []

    @property
    def in_image(self) -> bool:
        """Whether the task runs in an image, and not on the host's userland."""
        return self._image is not None

    async def bring_images(self, task: Task, folder: Path | None) -> dict[str, Json]:
        """Pull or build what the task's sandboxes start from; what that is, as evidence. Raises ``ImagePullFailed``.

        ``folder``: the task's files. A task that can run without an image does so where the backend can too.
        """
        backend = self._parts.backend
        if backend.capabilities().host and not task.needs_image:
            return {"image": await backend.pull(None)}
        self._image = self._verifier_image = await self._bring(task.environment, folder, "environment")
        own = task.verifier.environment
        if own is not None and own.has_image and (own != task.environment or task.verifier.bundled_tests):
            place = "tests" if task.verifier.bundled_tests else "environment"
            self._verifier_image = await self._bring(own, folder, place)
        return {"image": self._image, "verifier_image": self._verifier_image, "asked": [*self._asked]}

    async def _bring(self, environment: Environment, folder: Path | None, place: str) -> str:
        if environment.docker_image is not None:
            image = self._parts.images.get(environment.docker_image, environment.docker_image)
            if not await self._parts.backend.has(image):
                self._asked.append(registry_of(environment.docker_image))
            return await self._parts.backend.pull(image)
        if folder is None or not environment.dockerfile:
            raise TaskUnsupported("it names no image and has no Dockerfile", where="environment")
        return await self._parts.backend.build(folder / place, environment.build_timeout_sec)

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
            image=self._verifier_image if for_verifier else self._image,
            workdir=task.environment.workdir,
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
