"""The docker backend: containers of a Docker or Podman engine, one for each sandbox."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar
from uuid import uuid4

from proctor.sandboxes.docker import images
from proctor.sandboxes.docker.defaults import DEFAULTS
from proctor.sandboxes.docker.engine import Engine, EngineError, EngineMissing, connect, connected
from proctor.sandboxes.docker.fetching import Fetching
from proctor.sandboxes.docker.labels import OURS, labels_of, written
from proctor.sandboxes.docker.removing import remove
from proctor.sandboxes.docker.sandbox import Container, DockerSandbox
from proctor.sandboxes.docker.scripts import KEEP
from proctor.sandboxes.docker.states import filtered
from proctor.sandboxes.docker.tars import first_file, folders_tar
from proctor.sandboxes.docker.users import User, default_user, read_users
from proctor.sandboxes.errors import SandboxStartError, TransferRefused, UnsupportedByBackend
from proctor.sandboxes.interfaces import (
    RELAY,
    Capabilities,
    Check,
    ExecRequest,
    Labels,
    LimitKind,
    Network,
    Sandbox,
    SandboxSpec,
    Snapshot,
    Strength,
)
from proctor.sandboxes.owners import owner_is_dead
from proctor.sandboxes.requests import workdir_parts

__all__ = ["DockerBackend", "mark_of"]

_DROPPED = ("NET_RAW", "MKNOD", "AUDIT_WRITE")
"""Of the engine's own set of capabilities: what lets a container forge packets, devices or audit records."""
_FOLDERS = ("logs", "logs/agent", "logs/user-agent", "logs/verifier", "logs/artifacts", "tests", "solution")
"""The places that the field's tasks know (04)."""
_PASSWD_BYTES = 1 << 20
_T = TypeVar("_T")


class DockerBackend:
    """Implements the ``SandboxBackend`` port. ``mark`` tells this installation's containers from another's."""

    def __init__(self, mark: str, *, runtime: str | None = None) -> None:
        self._mark, self._runtime = mark, runtime
        self._open: dict[str, DockerSandbox] = {}
        self._fetching = Fetching()
        self._seen: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        """``docker``."""
        return "docker"

    def capabilities(self) -> Capabilities:
        """What an engine gives; whether there is one is the doctor's to say."""
        return Capabilities(
            networks=frozenset({Network.NONE, Network.PUBLIC}),
            users=None,
            host=False,
            builds=True,
            snapshots=True,
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

    def environment_identity(self, tools: Sequence[str]) -> Mapping[str, str]:
        """The runtime and the machine's architecture: the rest is in the image, whose digest is on the attempt."""
        if self._seen is None:
            self._seen = _apart(self._identity())
        return self._seen

    async def _identity(self) -> Mapping[str, str]:
        async with connected() as engine:
            info = await engine.ask("GET", "info")
        return {"runtime": self._runtime or info["DefaultRuntime"], "architecture": info["Architecture"]}

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

    async def build(self, folder: Path, timeout_sec: float) -> str:
        """The image of a folder with a ``Dockerfile``; says its id. Raises ``ImagePullFailed``."""
        async with connected() as engine:
            return await images.build(engine, folder, timeout_sec, {OURS: self._mark}, self._fetching)

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox. Raises ``UnsupportedByBackend`` before launch or ``SandboxStartError``."""
        image = _named(spec.image)
        workdir_parts(spec.workdir or "/")
        if spec.network is Network.ALLOWLIST or spec.allowed_hosts:
            raise UnsupportedByBackend("single hosts can't be allowed yet; all or none can", where="network")
        engine = await connect()
        try:
            return await self._create(engine, image, spec)
        except EngineError as error:
            raise SandboxStartError(str(error)) from error

    async def _create(self, engine: Engine, image: str, spec: SandboxSpec) -> Sandbox:
        name = f"proctor-{uuid4().hex}"
        made: str | None = None
        relay: Path | None = None
        try:
            relay = _relay_folder(engine) if spec.relay else None
            known = await images.find(engine, image)
            made = (await engine.ask("POST", "containers/create", self._body(known, spec, relay), name=name))["Id"]
            users = read_users(await _passwd(engine, made))
            user = _chosen(spec.user, known, users)
            workdir = spec.workdir or known["Config"].get("WorkingDir") or "/"
            container = Container(id=made, name=name, user=user, users=users, workdir=workdir, relay=relay)
            sandbox = DockerSandbox(engine, container, spec, self._strengths(spec), self._destroyed)
            await self._fill(sandbox, spec, user, workdir)
            self._open[name] = sandbox
            return sandbox
        except BaseException:
            if made is not None:
                await asyncio.shield(remove(engine, made))
            if relay is not None:
                shutil.rmtree(relay, ignore_errors=True)
            await engine.close()
            raise

    async def _fill(self, sandbox: DockerSandbox, spec: SandboxSpec, user: User, workdir: str) -> None:
        """The field's folders and the working one, a kept state if there is one; then it is started."""
        parts = workdir_parts(workdir)
        own = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        missing = [name for name in (*_FOLDERS, *own) if not await sandbox.files.has(f"/{name}")]
        if missing:
            with folders_tar([(name, 0o755) for name in dict.fromkeys(missing)], (user.uid, user.gid)) as tar:
                await sandbox.files.fill(tar)
        gone: Sequence[str] = ()
        if spec.base is not None:
            with TemporaryFile() as tar:
                gone = await asyncio.to_thread(_unpacked, spec.base, tar, spec.restore_system)
                await sandbox.files.fill(tar)
        for place in range(0, len(gone), 500):
            argv = ["/bin/sh", "-c", 'rm -rf -- "$@"', "sh", *gone[place : place + 500]]
            await sandbox.exec(ExecRequest(argv=argv, user="root", cwd="/"))
        await sandbox.begin()

    def _body(self, image: Mapping[str, Any], spec: SandboxSpec, relay: Path | None) -> dict[str, Any]:
        limits = spec.limits
        memory = (limits.memory_mb or DEFAULTS.memory_mb or 0) * 1000**2
        file_size = (limits.file_size_mb or DEFAULTS.file_size_mb or 0) * 1024**2
        return {
            "Image": image["Id"],
            "Entrypoint": ["/bin/sh", "-c", KEEP],
            "Cmd": [],
            "User": "0:0",
            "WorkingDir": "/",
            "OpenStdin": True,
            "Labels": written(spec.labels, self._mark),
            "HostConfig": {
                "Init": True,
                "NetworkMode": "none" if spec.network is Network.NONE else "bridge",
                "Memory": memory,
                "MemorySwap": memory,
                "NanoCpus": int((limits.cpus or 0) * 1e9),
                "PidsLimit": limits.pids or DEFAULTS.pids,
                "CapDrop": list(_DROPPED),
                "Ulimits": [
                    {"Name": "fsize", "Soft": file_size, "Hard": file_size},
                    {"Name": "core", "Soft": 0, "Hard": 0},
                ],
                "Binds": [f"{relay}:{RELAY}:ro"] if relay is not None else [],
                "LogConfig": {"Type": "none", "Config": {}},
                **({"Runtime": self._runtime} if self._runtime else {}),
            },
        }

    def _strengths(self, spec: SandboxSpec) -> Mapping[LimitKind, Strength]:
        found = self.capabilities().limits
        return found if spec.limits.cpus is not None else {**found, LimitKind.CPU: Strength.ABSENT}

    def _destroyed(self, name: str) -> None:
        self._open.pop(name, None)

    # --- what was left ------------------------------------------------------------------------------------------------

    async def leaked(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """How many sandboxes ``reap`` would remove."""
        async with connected() as engine:
            return len([one async for one in self._outlived(engine, is_live)])

    async def reap(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """Remove sandboxes whose expiry passed or whose owner is dead and not live; returns how many."""
        removed = 0
        async with connected() as engine:
            async for container, name in self._outlived(engine, is_live):
                known = self._open.get(name)
                await (known.destroy() if known is not None else remove(engine, container))
                removed += 1
        return removed

    async def _outlived(
        self, engine: Engine, is_live: Callable[[Labels], Awaitable[bool]]
    ) -> AsyncIterator[tuple[str, str]]:
        """The id and name of each of ours whose time or owner is over."""
        wanted = json.dumps({"label": [f"{OURS}={self._mark}"]})
        for one in await engine.ask("GET", "containers/json", all=True, filters=wanted):
            labels = labels_of(one["Labels"])
            if labels is None:
                continue
            outlived = datetime.now(UTC) >= labels.expires_at or owner_is_dead(labels)
            if outlived and not await is_live(labels):
                yield one["Id"], one["Names"][0].lstrip("/")


def mark_of(folder: Path) -> str:
    """An installation's mark: of its data folder, on this machine."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]


def _named(image: str | None) -> str:
    if image is None:
        raise UnsupportedByBackend("a container needs an image, and the task names none", where="image")
    return image


def _relay_folder(engine: Engine) -> Path:
    """A folder of this machine that the engine can mount: it must run here."""
    if not engine.is_local:
        raise UnsupportedByBackend("the engine is on another machine, which has no relay's socket", where="relay")
    folder = Path(tempfile.mkdtemp(prefix="proctor-relay-"))
    folder.chmod(0o711)
    return folder


def _chosen(wanted: str | None, image: Mapping[str, Any], users: Mapping[str, User]) -> User:
    if wanted is None:
        return default_user(image["Config"].get("User") or "", users)
    if wanted not in users:
        raise UnsupportedByBackend(f"the image has no user {wanted!r}", where="user")
    return users[wanted]


def _unpacked(base: Snapshot, out: IO[bytes], restore_system: bool) -> Sequence[str]:
    with base.path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != base.sha256:
            raise TransferRefused("not the snapshot that was kept: its digest differs", where=str(base.path))
        file.seek(0)
        return filtered(file, out, restore_system=restore_system)


async def _passwd(engine: Engine, container: str) -> bytes:
    """An image that has none has root alone."""
    try:
        async with engine.send("GET", f"containers/{container}/archive", path="/etc/passwd") as answer:
            return await first_file(answer.content.iter_chunked(1 << 16), _PASSWD_BYTES)
    except EngineError:
        return b""


def _apart(work: Coroutine[Any, Any, _T]) -> _T:
    """Run it on a loop of its own, wherever the caller is."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
