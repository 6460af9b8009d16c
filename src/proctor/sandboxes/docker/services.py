"""The services beside one sandbox: containers with programs of their own, their networks and their volumes.

The sandbox's own container is up before all of them, since no command runs in it before ``create`` returns; so a
service may wait for it, and what it waits for itself is waited for at the end.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from proctor.sandboxes.docker import images
from proctor.sandboxes.docker.ceilings import ceilings, promised
from proctor.sandboxes.docker.cell_networks import CellNetworks
from proctor.sandboxes.docker.defaults import DEFAULTS
from proctor.sandboxes.docker.engine import SLOW_SEC, Engine, EngineError
from proctor.sandboxes.docker.meters import WALK_SHARE
from proctor.sandboxes.docker.networks import ContainerNetwork, Ways
from proctor.sandboxes.docker.readiness import Started
from proctor.sandboxes.docker.removing import remove, remove_volume
from proctor.sandboxes.docker.sandbox import Container, DockerSandbox
from proctor.sandboxes.docker.transfers import Files, etc_file
from proctor.sandboxes.docker.users import User, default_user, names_group, read_groups, read_users
from proctor.sandboxes.errors import (
    SandboxError,
    SandboxStartError,
    ServiceFailed,
    ServiceFault,
    TransferRefused,
    UnsupportedByBackend,
)
from proctor.sandboxes.interfaces import (
    Condition,
    LimitKind,
    Limits,
    Network,
    Place,
    Requests,
    SandboxSpec,
    Service,
    ServiceSpec,
    Strength,
)

__all__ = ["UP_SECONDS", "Cell"]

UP_SECONDS: float = 600.0
"""All services of a sandbox are ready within this, as long as an image may take to be built."""
_LOG = {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}}
"""Enough for the last words of a service that does not start, and no way to fill the disk."""
_USUAL = Requests(memory_mb=512, cpus=0.5)
"""What each is promised: beyond it, it dies before a sandbox that is inside its own."""
_LOOK_SEC: float = 5.0
"""Between two looks at what services have written, at the least: their disks are walked for it."""
_NO_PROGRAM = re.compile(
    r'exec: ".*": (stat .*: no such file or directory|executable file not found|permission denied|is a directory)'
)
"""An engine's word that an image has not what it is to run; whatever else keeps a container from starting says more."""
_STRENGTHS: Mapping[LimitKind, Strength] = dict.fromkeys(LimitKind, Strength.ENFORCED)


class Cell:
    """What stands around one sandbox's own container. Most have nothing there: then nothing is asked of the engine."""

    def __init__(
        self, engine: Engine, name: str, spec: SandboxSpec, labels: Mapping[str, str], runtime: str | None
    ) -> None:
        self._engine, self._name, self._spec, self._labels, self._runtime = engine, name, spec, labels, runtime
        public = spec.reach.network is Network.PUBLIC
        self._networks = CellNetworks(engine, name, labels, public=public) if spec.services else None
        self._volumes: list[str] = []
        self._started: dict[str, Started] = {}
        self._made: list[str] = []
        self._watch: asyncio.Task[None] | None = None
        self._awaited: Started | None = None
        """The service that others wait for just now."""

    @property
    def _places(self) -> Sequence[Place]:
        return (self._spec.place, *(service.place for service in self._spec.services))

    async def lay(self) -> None:
        """Networks and volumes, before any container."""
        if self._networks is not None:
            await self._networks.make({name for place in self._places for name in place.networks})
        for name in sorted({volume.name for place in self._places for volume in place.volumes.values()}):
            body = {"Name": f"{self._name}-{name}", "Labels": self._labels}
            await self._engine.ask("POST", "volumes/create", body)
            self._volumes.append(f"{self._name}-{name}")

    def joined(self, body: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """A container's request to be made, with its networks and volumes."""
        host, networking = ({}, {}) if self._networks is None else self._networks.body(place)
        mounts = [
            {"Type": "volume", "Source": f"{self._name}-{volume.name}", "Target": path, "ReadOnly": volume.read_only}
            for path, volume in place.volumes.items()
        ]
        config = {**body["HostConfig"], **host, "Mounts": mounts}
        return {**body, "HostConfig": config, "NetworkingConfig": networking}

    async def enter(self, container: str, place: Place) -> None:
        """What a container gets between its making and its start: other networks, and files."""
        if self._networks is not None:
            await self._networks.connect(container, place)
        files = Files(self._engine, container)
        for path, source in place.files.items():
            try:
                await files.put(source, path, (0, 0))
            except TransferRefused as error:
                raise UnsupportedByBackend(f"{path}: {error.message}", where=f"services.{place.name}") from error

    async def up(self) -> None:
        """Start the services in their order, and wait until all are ready.

        Raises ``ServiceFailed``, and ``SandboxStartError`` for what is no service's doing.
        """
        if not self._spec.services:
            return
        self._watch = asyncio.create_task(self._watch_disks())
        try:
            async with asyncio.timeout(UP_SECONDS):
                await self._become_ready()
        except TimeoutError as error:
            if self._awaited is not None:
                raise await self._awaited.was_not_ready(UP_SECONDS) from error
            raise SandboxStartError(
                f"its services did not start within {UP_SECONDS:.0f} s", where=self._name
            ) from error

    async def _become_ready(self) -> None:
        for service in self._spec.services:
            await self._wait(service.place)
            self._started[service.place.name] = await self._start(service)
        await self._wait(self._spec.place)
        for started in self._started.values():
            await self._await(started, started.settles())
        for started in self._started.values():  # what failed while others became ready, too
            await started.has_not_failed()

    async def _wait(self, place: Place) -> None:
        for name, condition in place.needs.items():
            if condition is not Condition.STARTED:
                await self._await(self._started[name], self._started[name].reaches(condition))

    async def _await(self, started: Started, ready: Awaitable[None]) -> None:
        self._awaited = started
        await ready
        self._awaited = None

    async def _start(self, service: ServiceSpec) -> Started:
        image = await images.find(self._engine, service.image)
        name = f"{self._name}-{service.place.name}"
        body = self.joined(self._body(service), service.place)
        made = str((await self._engine.ask("POST", "containers/create", body, within=SLOW_SEC, name=name))["Id"])
        self._made.append(made)
        users, user = await self._accounts(made, image["Config"].get("User") or "")
        container = Container(
            id=made,
            name=name,
            user=user,
            users=users,
            workdir=image["Config"].get("WorkingDir") or "/",
            runs_itself=True,
        )
        spec = SandboxSpec(labels=self._spec.labels, image=service.image, env=service.env)
        sandbox = DockerSandbox(self._engine, container, spec, _STRENGTHS, self._network_of(made, spec), lambda _: None)
        await self.enter(made, service.place)
        try:
            await self._engine.ask("POST", f"containers/{made}/start", within=SLOW_SEC)
        except EngineError as error:
            raise _not_started(service.place.name, error) from error
        return Started(self._engine, made, service, sandbox, image)

    async def _accounts(self, made: str, said: str) -> tuple[Mapping[str, User], User]:
        """The users of a service's container, and the one of them that its image says."""
        users = read_users(await etc_file(self._engine, made, "passwd"))
        groups = read_groups(await etc_file(self._engine, made, "group")) if names_group(said) else {}
        return users, default_user(said, users, groups)

    def _network_of(self, container: str, spec: SandboxSpec) -> ContainerNetwork:
        """A service stays in the networks that it was made in."""
        return ContainerNetwork(self._engine, container, spec, Ways(enters=False, switches=False))

    def _body(self, service: ServiceSpec) -> dict[str, Any]:
        held = ceilings(Limits(), self._runtime)
        program = {"Entrypoint": service.entrypoint, "Cmd": service.command}
        return {
            "Image": service.image,
            "Env": [f"{name}={value}" for name, value in service.env.items()],
            "Labels": self._labels,
            "Healthcheck": {"Test": ["NONE"]},
            "HostConfig": {**held, **promised(_USUAL, held["Memory"]), "LogConfig": _LOG},
            **{key: list(words) for key, words in program.items() if words is not None},
        }

    def service(self, name: str) -> Service:
        """The container of that name. Raises ``UnsupportedByBackend``."""
        if name not in self._started:
            raise UnsupportedByBackend(f"there is no service {name!r}", where="services")
        return self._started[name].sandbox

    async def _watch_disks(self) -> None:
        """A service that has written more than a sandbox may is killed, as a sandbox would be."""
        limit = (DEFAULTS.disk_mb or 0) * 1000**2
        pause = _LOOK_SEC
        while True:
            await asyncio.sleep(pause)
            began = time.monotonic()
            for started in tuple(self._started.values()):
                with suppress(SandboxError):
                    await started.sandbox.stop_above(limit)
            pause = max(_LOOK_SEC, (time.monotonic() - began) * WALK_SHARE)

    async def remove(self) -> None:
        """Remove all of it, when the sandbox's own container is gone. Raises what the engine raises last."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        try:
            await asyncio.gather(*(remove(self._engine, made) for made in self._made))
        finally:
            if self._networks is not None:
                await self._networks.remove()
            for volume in self._volumes:
                await remove_volume(self._engine, volume)


def _not_started(service: str, error: EngineError) -> SandboxError:
    words = f"service {service!r} did not start: {error.words}"
    if _NO_PROGRAM.search(error.words):
        return ServiceFailed(words, service=service, fault=ServiceFault.NO_PROGRAM)
    return SandboxStartError(words)
