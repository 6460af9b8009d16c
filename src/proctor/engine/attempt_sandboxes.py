"""The sandboxes of one attempt: made under its labels, and all gone at its end."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from proctor.engine.assignments import Assignment
from proctor.engine.parts import RunnerParts
from proctor.engine.phases import TaskUnsupported
from proctor.engine.services import place_of, service_specs
from proctor.engine.terms import Terms
from proctor.kernel.canonical import Json
from proctor.sandboxes.errors import ServiceFailed
from proctor.sandboxes.interfaces import Labels, Requests, Sandbox, SandboxSpec, Snapshot
from proctor.sandboxes.registries import registry_of
from proctor.suites.services import Composed, Service
from proctor.suites.tasks import Environment, Task
from proctor.suites.variables import resolve_variables
from proctor.telemetry.spans import span

__all__ = ["AttemptSandboxes"]

EXPIRY: timedelta = timedelta(days=15)
"""A sandbox is leaked after this, if its owner still lives: past the longest time that an agent and a verifier may be
given."""


class AttemptSandboxes:
    """Makes sandboxes for one attempt and keeps track of those that are still there."""

    def __init__(self, assignment: Assignment, parts: RunnerParts) -> None:
        self._assignment = assignment
        self._parts = parts
        self.layers: Mapping[str, Path] = {}
        """The programs of the agent, by where its sandbox has them."""
        self._there: list[Sandbox] = []
        self._image: str | None = None
        self._verifier_image: str | None = None
        self._verifier_is_alone = False
        """Whether it has an image of its own, and then none of the task's services."""
        self._folder: Path | None = None
        self._services: Composed | None = None
        self._images: dict[str, str] = {}
        self._asked: list[str] = []
        self.reaches_models = False
        """Whether programs in the agent's sandbox reach the gateway."""

    @property
    def in_image(self) -> bool:
        """Whether the task runs in an image, and not on the host's userland."""
        return self._image is not None

    async def bring_images(self, task: Task, folder: Path | None) -> dict[str, Json]:
        """Pull or build what the task's sandboxes start from; what that is, as evidence. Raises ``ImagePullFailed``.

        ``folder``: the task's files. A task that can run without an image does so where the backend can too.
        """
        backend, environment = self._parts.backend, task.environment
        if backend.capabilities().host and not task.needs_image:
            return {"image": await backend.pull(None)}
        self._folder, self._services = folder, environment.services
        self._image = self._verifier_image = await self._bring_main(environment)
        own = task.verifier.environment
        if own is not None and own.has_image and (own != environment or task.verifier.bundled_tests):
            place = "tests" if task.verifier.bundled_tests else "environment"
            self._verifier_image = await self._bring(own, place)
            self._verifier_is_alone = True
        evidence: dict[str, Json] = {"image": self._image, "verifier_image": self._verifier_image}
        if self._services is not None and self._services.beside:
            for service in self._services.beside:
                self._images[service.name] = await self._bring_service(service, environment)
            evidence["services"] = dict(self._images)
        return {**evidence, "asked": [*self._asked]}

    async def _bring_main(self, environment: Environment) -> str:
        """Compose's word on the main image goes before the task's, as in the field."""
        main = None if environment.services is None else environment.services.main
        if main is None or (main.image is None and main.build is None):
            return await self._bring(environment, "environment")
        return await self._bring_service(main, environment)

    async def _bring_service(self, service: Service, environment: Environment) -> str:
        """One that names neither image nor build has the main one's."""
        backend = self._parts.backend
        if service.build is not None:
            assert self._folder is not None
            place = self._folder / "environment" / service.build.context
            return await backend.build(place, environment.build_timeout_sec, service.build.dockerfile)
        if service.image is not None:
            return await self._pull(service.image)
        assert self._image is not None
        return self._image

    async def _pull(self, name: str) -> str:
        """An image, as it was brought before the first cell if it was; a registry that had to be asked is noted."""
        image = self._parts.images.get(name, name)
        if not await self._parts.backend.has(image):
            self._asked.append(registry_of(name))
        return await self._parts.backend.pull(image)

    async def _bring(self, environment: Environment, place: str) -> str:
        if environment.docker_image is not None:
            return await self._pull(environment.docker_image)
        if self._folder is None or not environment.dockerfile:
            raise TaskUnsupported("it names no image and has no Dockerfile", where="environment")
        return await self._parts.backend.build(self._folder / place, environment.build_timeout_sec)

    async def create(
        self,
        task: Task,
        terms: Terms,
        *,
        base: Snapshot | None = None,
        restore_system: bool = False,
        for_verifier: bool = False,
    ) -> Sandbox:
        """A sandbox as the task wants it, from a kept state if there is one, with services that are started anew.

        Raises what the backend raises.
        """
        secrets = self._parts.sandbox_secrets
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
            env=resolve_variables(task.environment.env, secrets),
            reach=terms.verifier_reach if for_verifier else terms.reach,
            limits=terms.limits,
            requests=Requests(memory_mb=terms.requests.memory_mb, cpus=terms.requests.cpus),
            relay=self.reaches_models and not for_verifier,
            layers={} if for_verifier else self.layers,
            base=base,
            restore_system=restore_system,
        )
        if self._services is not None and self._folder is not None and not (for_verifier and self._verifier_is_alone):
            main = self._services.main
            spec = replace(
                spec,
                env={**resolve_variables(main.env, secrets), **spec.env},
                services=service_specs(self._services, self._folder, self._images, secrets),
                place=place_of(self._services, main, self._folder),
            )
        with span("sandbox.create", {"backend": self._parts.backend.name, "for_verifier": for_verifier}):
            sandbox = await self._made(spec)
        self._there.append(sandbox)
        return sandbox

    async def _made(self, spec: SandboxSpec) -> Sandbox:
        parts, task = self._parts, self._assignment.content_digest
        began = parts.clock.monotonic()
        try:
            sandbox = await parts.backend.create(spec)
        except ServiceFailed as error:
            raise parts.services.met(task, error, began=began, now=parts.clock.monotonic()) from error
        if spec.services:
            parts.services.became_ready(task)
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
