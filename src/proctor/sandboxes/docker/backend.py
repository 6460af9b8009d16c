"""The docker backend: containers of a Docker or Podman engine, one for each sandbox."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar
from uuid import uuid4

from proctor.sandboxes.docker import images
from proctor.sandboxes.docker.ceilings import ceilings, promised
from proctor.sandboxes.docker.credentials import Credentials
from proctor.sandboxes.docker.engine import SLOW_SEC, Engine, EngineError, EngineMissing, connect, connected
from proctor.sandboxes.docker.fetching import Fetching
from proctor.sandboxes.docker.furnishing import furnish
from proctor.sandboxes.docker.labels import OURS, written
from proctor.sandboxes.docker.leftovers import all_removed, leftovers
from proctor.sandboxes.docker.networks import ContainerNetwork, Ways, engine_network
from proctor.sandboxes.docker.old_images import KEPT
from proctor.sandboxes.docker.removing import remove
from proctor.sandboxes.docker.sandbox import Container, DockerSandbox
from proctor.sandboxes.docker.scripts import KEEP
from proctor.sandboxes.docker.services import Cell
from proctor.sandboxes.docker.states import filtered
from proctor.sandboxes.docker.users import User, default_user
from proctor.sandboxes.errors import SandboxError, SandboxStartError, TransferRefused, UnsupportedByBackend
from proctor.sandboxes.interfaces import (
    RELAY,
    Capabilities,
    Check,
    ExecRequest,
    Footing,
    Labels,
    LimitKind,
    Network,
    Sandbox,
    SandboxSpec,
    Snapshot,
    Strength,
)
from proctor.sandboxes.pulls import PullTurns
from proctor.sandboxes.requests import refuse_layers, workdir_parts

__all__ = ["DockerBackend", "mark_of"]

_FOLDERS = ("/logs", "/logs/agent", "/logs/user-agent", "/logs/verifier", "/logs/artifacts", "/tests", "/solution")
"""The places that the field's tasks know (04)."""
_ON_THIS_KERNEL = (None, "runc", "crun")
"""Runtimes whose containers have the network of the machine's own kernel, which can be entered and switched; gVisor's
have one of their own."""
_T = TypeVar("_T")


class DockerBackend:
    """Implements the ``SandboxBackend`` port. ``mark`` tells this installation's containers from another's."""

    def __init__(
        self,
        mark: str,
        *,
        runtime: str | None = None,
        opened: tuple[str, ...] = (),
        logins: Path | None = None,
        turns: PullTurns | None = None,
        images_kept: timedelta = KEPT,
    ) -> None:
        """``opened``: networks that are not public and that allowlists may lead to all the same; ``logins``: the file
        that ``docker login`` writes; ``turns``: at registries, ``None``: this process keeps to them alone;
        ``images_kept``: how long a built image stays that nobody asks for."""
        self._mark, self._runtime, self._opened, self._images_kept = mark, runtime, opened, images_kept
        self._open: dict[str, DockerSandbox] = {}
        self._cpus: float | None = None
        self._fetching = Fetching(Credentials(logins) if logins is not None else None, turns)
        self._seen: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        """``docker``."""
        return "docker"

    def capabilities(self) -> Capabilities:
        """What an engine gives; whether there is one is the doctor's to say."""
        return Capabilities(
            networks=frozenset({Network.NONE, Network.PUBLIC, *((Network.ALLOWLIST,) if self._enters else ())}),
            switches_network=self._runtime in _ON_THIS_KERNEL,
            users=None,
            host=False,
            builds=True,
            snapshots=True,
            services=True,
            limits={
                LimitKind.MEMORY: Strength.ENFORCED,
                LimitKind.CPU: Strength.ENFORCED,
                LimitKind.PIDS: Strength.ENFORCED,
                LimitKind.DISK: Strength.METERED,
                LimitKind.FILE_SIZE: Strength.ENFORCED,
                LimitKind.WALL: Strength.ENFORCED,
                LimitKind.OUTPUT: Strength.ENFORCED,
            },
        )

    @property
    def _enters(self) -> bool:
        """Whether a container's network can be entered: by root, and where the network is this kernel's."""
        return os.geteuid() == 0 and self._runtime in _ON_THIS_KERNEL

    def _ways(self, engine: Engine) -> Ways:
        enters = self._enters and engine.is_local
        switches = self._runtime in _ON_THIS_KERNEL and not engine.is_podman
        return Ways(enters=enters, switches=switches, opened=self._opened)

    def environment_identity(self, tools: Sequence[str]) -> Mapping[str, str]:
        """The runtime and the machine's architecture: the rest is in the image, whose digest is on the attempt."""
        if self._seen is None:
            self._seen = _apart(self._identity())
        return self._seen

    async def _identity(self) -> Mapping[str, str]:
        async with connected() as engine:
            info = await engine.ask("GET", "info")
        return {"runtime": self._runtime or info["DefaultRuntime"], "architecture": info["Architecture"]}

    def footing(self) -> Footing:
        """The machine of the engine: the folder of its containers, where that is this one's.

        An engine that is reached through a socket is here; its folder may still be hidden from a container's eyes, and
        what such a one sees as its root lies on the same disk.
        """
        root = _apart(self._root())
        return Footing(disk=root if root is None or root.exists() else Path("/"), own_group=False)

    async def _root(self) -> Path | None:
        async with connected() as engine:
            info = await engine.ask("GET", "info")
        return Path(info["DockerRootDir"]) if engine.is_local else None

    def doctor(self) -> Sequence[Check]:
        """Whether an engine answers."""
        try:
            return [_apart(self._examine())]
        except EngineMissing as error:
            return [Check(name="container engine", ok=False, detail=error.message, remedy=error.remedy)]

    async def _examine(self) -> Check:
        async with connected() as engine:
            info = await engine.ask("GET", "info")
        detail = f"{info['ServerVersion']}, {info['Driver']}, cgroup {info.get('CgroupVersion', '1')}"
        lacking = [name for name in ("MemoryLimit", "PidsLimit", "CpuCfsQuota") if not info.get(name)]
        if not lacking:
            return Check(name="container engine", ok=True, detail=detail)
        detail += f", without {', '.join(lacking)}"
        remedy = "Enable these cgroup controllers for the engine."
        return Check(name="container engine", ok=False, detail=detail, remedy=remedy)

    async def has(self, image: str) -> bool:
        """Whether an image is here."""
        async with connected() as engine:
            return await images.is_here(engine, image)

    async def pull(self, image: str | None) -> str:
        """Have an image here; says its digest. Raises ``ImagePullFailed``, ``UnsupportedByBackend``."""
        async with connected() as engine:
            return await images.ensure(engine, _named(image), self._fetching)

    async def build(self, folder: Path, timeout_sec: float, dockerfile: str = images.DOCKERFILE) -> str:
        """The image of a folder with such a file; says its id. Raises ``ImagePullFailed``."""
        source = images.BuildSource(folder=folder, dockerfile=dockerfile)
        async with connected() as engine:
            return await images.build(engine, source, timeout_sec, {OURS: self._mark}, self._fetching)

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Start one. Raises ``UnsupportedByBackend`` before launch, ``SandboxStartError``, ``ServiceFailed``."""
        image = _named(spec.image)
        workdir_parts(spec.workdir or "/")
        engine = await connect()
        try:
            return await self._create(engine, image, spec)
        except EngineError as error:
            raise SandboxStartError(str(error)) from error

    async def _create(self, engine: Engine, image: str, spec: SandboxSpec) -> Sandbox:
        name = f"proctor-{uuid4().hex}"
        labels = written(spec.labels, self._mark, name)
        cell = Cell(engine, name, spec, labels, self._runtime)
        made: str | None = None
        network: ContainerNetwork | None = None
        relay: Path | None = None
        try:
            self._ways(engine).refuse(spec.reach)
            _refuse_layers(engine, spec)
            relay = _relay_folder(engine) if spec.relay else None
            spec = await self._fitted(engine, spec)
            known = await images.find(engine, image)
            _refuse_volumes(engine, known)
            await cell.lay()
            workdir = spec.workdir or known["Config"].get("WorkingDir") or "/"
            folders = [*_FOLDERS, *_way_to(workdir)]
            body = {**self._body(known, spec, labels, relay), "Entrypoint": ["/bin/sh", "-c", KEEP, "sh", *folders]}
            body["HostConfig"]["NetworkMode"] = await engine_network(engine, spec.reach)
            made = (
                await engine.ask("POST", "containers/create", cell.joined(body, spec.place), within=SLOW_SEC, name=name)
            )["Id"]
            await cell.enter(made, spec.place)
            network = ContainerNetwork(engine, made, spec, self._ways(engine))
            await engine.ask("POST", f"containers/{made}/start", within=SLOW_SEC)
            await network.started()
            users, user = await furnish(engine, made, folders, lambda *accounts: _chosen(spec.user, known, *accounts))
            container = Container(id=made, name=name, user=user, users=users, workdir=workdir, relay=relay, beside=cell)
            container = replace(container, volumes=tuple(known["Config"].get("Volumes") or ()))
            sandbox = DockerSandbox(engine, container, spec, self._strengths(spec), network, self._destroyed)
            if spec.base is not None:
                await _restore(sandbox, spec.base, restore_system=spec.restore_system)
            await cell.up()
            self._open[name] = sandbox
            return sandbox
        except BaseException:
            if network is not None:
                await network.close()
            await asyncio.shield(_undo(engine, made, cell))
            if relay is not None:
                shutil.rmtree(relay, ignore_errors=True)
            raise

    async def _fitted(self, engine: Engine, spec: SandboxSpec) -> SandboxSpec:
        """An engine refuses more processors than its machine has; who names more gets them all."""
        if spec.limits.cpus is None:
            return spec
        if self._cpus is None:
            self._cpus = float((await engine.ask("GET", "info"))["NCPU"])
        return replace(spec, limits=replace(spec.limits, cpus=min(spec.limits.cpus, self._cpus)))

    def _body(
        self, image: Mapping[str, Any], spec: SandboxSpec, labels: Mapping[str, str], relay: Path | None
    ) -> dict[str, Any]:
        held = ceilings(spec.limits, self._runtime)
        return {
            "Image": image["Id"],
            "Cmd": [],
            "User": "0:0",
            "WorkingDir": "/",
            "OpenStdin": True,
            "Labels": labels,
            "HostConfig": {
                **held,
                **promised(spec.requests, held["Memory"]),
                "Init": True,
                "Binds": _binds(spec, relay),
                "LogConfig": {"Type": "none", "Config": {}},
            },
        }

    def _strengths(self, spec: SandboxSpec) -> Mapping[LimitKind, Strength]:
        found = self.capabilities().limits
        return found if spec.limits.cpus is not None else {**found, LimitKind.CPU: Strength.ABSENT}

    def _destroyed(self, name: str) -> None:
        self._open.pop(name, None)

    # --- what was left ------------------------------------------------------------------------------------------------

    async def leaked(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """How many containers, networks, volumes and images ``reap`` would remove."""
        async with connected() as engine:
            return len([one async for one in leftovers(engine, self._mark, is_live, self._images_kept)])

    async def reap(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """Remove what's expiry passed or whose owner is dead and not live, and old images; returns how many things."""
        async with connected() as engine:
            found = [one async for one in leftovers(engine, self._mark, is_live, self._images_kept)]
            held = [self._open[name] for name in {one.cell for one in found} if name in self._open]
            await all_removed(known.destroy() for known in held)
            count = 0
            for _, group in groupby(found, key=lambda one: one.remove):
                count += await all_removed(one.remove(engine, one.id) for one in group)
        return count


def mark_of(folder: Path) -> str:
    """An installation's mark: of its data folder, on this machine."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]


def _named(image: str | None) -> str:
    if image is None:
        raise UnsupportedByBackend("a container needs an image, and the task names none", where="image")
    return image


def _refuse_volumes(engine: Engine, image: Mapping[str, Any]) -> None:
    """Podman's export leaves out what is in a volume, and its tars of single paths tell no owners."""
    volumes = image["Config"].get("Volumes")
    if engine.is_podman and volumes:
        raise UnsupportedByBackend(f"Podman can't keep an image's own volumes: {', '.join(volumes)}", where="image")


async def _undo(engine: Engine, made: str | None, cell: Cell) -> None:
    """Nothing stays of a sandbox that could not be made; what can't be removed now is the reaper's."""
    with suppress(SandboxError):
        if made is not None:
            await remove(engine, made)
    with suppress(SandboxError):
        await cell.remove()
    await engine.close()


def _refuse_layers(engine: Engine, spec: SandboxSpec) -> None:
    refuse_layers(spec)
    if spec.layers and not engine.is_local:
        raise UnsupportedByBackend("the engine is on another machine, which has no agents' layers", where="layers")


def _binds(spec: SandboxSpec, relay: Path | None) -> list[str]:
    """Folders of this machine that are in the container too, read-only also for its root."""
    shared = dict(spec.layers) if relay is None else {**spec.layers, RELAY: relay}
    return [f"{tree}:{path}:ro" for path, tree in shared.items()]


def _relay_folder(engine: Engine) -> Path:
    """A folder of this machine that the engine can mount: it must run here."""
    if not engine.is_local:
        raise UnsupportedByBackend("the engine is on another machine, which has no relay's socket", where="relay")
    folder = Path(tempfile.mkdtemp(prefix="proctor-relay-"))
    folder.chmod(0o711)
    return folder


def _chosen(wanted: str | None, image: Mapping[str, Any], users: Mapping[str, User], groups: Mapping[str, int]) -> User:
    if wanted is None:
        return default_user(image["Config"].get("User") or "", users, groups)
    if wanted not in users:
        raise UnsupportedByBackend(f"the image has no user {wanted!r}", where="user")
    return users[wanted]


def _way_to(workdir: str) -> list[str]:
    """A folder after all those that it is in."""
    parts = workdir_parts(workdir)
    ways = ["/" + "/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return [way for way in ways if way not in _FOLDERS]


async def _restore(sandbox: DockerSandbox, base: Snapshot, *, restore_system: bool) -> None:
    """A kept state in the place of what the image has."""
    await sandbox.empty_volumes()
    with TemporaryFile() as tar:
        gone = await asyncio.to_thread(_unpacked, base, tar, restore_system)
        await sandbox.files.fill(tar)
    for place in range(0, len(gone), 500):
        argv = ["/bin/sh", "-c", 'rm -rf -- "$@"', "sh", *gone[place : place + 500]]
        await sandbox.exec(ExecRequest(argv=argv, user="root", cwd="/"))


def _unpacked(base: Snapshot, out: IO[bytes], restore_system: bool) -> Sequence[str]:
    with base.path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != base.sha256:
            raise TransferRefused("not the snapshot that was kept: its digest differs", where=str(base.path))
        file.seek(0)
        return filtered(file, out, restore_system=restore_system)


def _apart(work: Coroutine[Any, Any, _T]) -> _T:
    """Run it on a loop of its own, wherever the caller is."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
