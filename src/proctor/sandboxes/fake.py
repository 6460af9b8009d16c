"""A sandbox backend in memory, for tests and benchmarks: files are kept, commands are answered by a function.

It is shipped, so that code built on Proctor can be tested without a sandbox. A whole life of a fake (create,
put, exec, read, snapshot, destroy) costs a small part of a millisecond.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import tarfile
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

from proctor.sandboxes.errors import NothingThere, SandboxGone, TransferRefused, UnsupportedByBackend
from proctor.sandboxes.interfaces import (
    Capabilities,
    Check,
    ExecRequest,
    ExecResult,
    Labels,
    LimitKind,
    Network,
    Reach,
    Sandbox,
    SandboxSpec,
    Service,
    Snapshot,
    Strength,
    TransferLimits,
)
from proctor.sandboxes.requests import only_itself, refuse_layers, refuse_services
from proctor.sandboxes.system_paths import belongs_to_system, runs_at_start

__all__ = ["ExecHandler", "FakeBackend", "FakeFile", "FakeSandbox", "exits", "rewards"]

_STRENGTHS = dict.fromkeys(LimitKind, Strength.ABSENT)
_REMEMBERED = 64
"""Snapshots whose files are kept beside their tar, so that starting from a fresh one costs nothing."""
_numbers = count(1)


class FakeFile(NamedTuple):
    """A file (content), a symlink (its target as content) or a folder (empty) with its mode."""

    content: bytes
    mode: int


ExecHandler = Callable[["FakeSandbox", ExecRequest], ExecResult]
"""Answers a command; may read and change ``sandbox.files``."""


def exits(code: int = 0, stdout: bytes = b"", stderr: bytes = b"") -> ExecHandler:
    """Every command ends with this code and output."""
    result = ExecResult(exit_code=code, signal=None, stdout=stdout, stderr=stderr)
    return lambda sandbox, request: result


def rewards(reward: float = 1.0, path: str = "/logs/verifier/reward.txt") -> ExecHandler:
    """Every command exits 0; one that runs a ``test.sh`` leaves the reward at ``path`` first."""
    done = ExecResult(exit_code=0, signal=None)
    written = FakeFile(f"{reward:g}\n".encode(), stat.S_IFREG | 0o644)

    def answer(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        if any("test.sh" in word for word in request.argv):
            sandbox.files[path] = written
        return done

    return answer


class FakeBackend:
    """Implements the ``SandboxBackend`` port; ``handler`` answers the execs of all its sandboxes."""

    def __init__(self, handler: ExecHandler | None = None) -> None:
        self.handler = handler or exits(0)
        self.sandboxes: dict[str, FakeSandbox] = {}
        self.snapshots: OrderedDict[str, dict[str, FakeFile]] = OrderedDict()
        self._written = Path(tempfile.mkdtemp(prefix="fake-snapshots-"))
        weakref.finalize(self, shutil.rmtree, self._written, ignore_errors=True)

    @property
    def name(self) -> str:
        """``fake``."""
        return "fake"

    def capabilities(self) -> Capabilities:
        """Everything can be asked for; no limit is held."""
        return Capabilities(
            networks=frozenset(Network),
            switches_network=False,
            users=frozenset({"agent", "root"}),
            host=True,
            builds=False,
            snapshots=True,
            services=False,
            limits=_STRENGTHS,
        )

    def environment_identity(self, tools: Sequence[str]) -> Mapping[str, str]:
        """The same for every machine."""
        return {"os_release": "fake", **dict.fromkeys(tools, "fake")}

    def footing(self) -> None:
        """Nothing: they are in memory."""

    def doctor(self) -> Sequence[Check]:
        """Always well."""
        return [Check(name="fake sandbox", ok=True, detail="in memory")]

    async def has(self, image: str) -> bool:
        """No image is kept: each is asked for anew."""
        return False

    async def pull(self, image: str | None) -> str:
        """Whatever is asked for comes."""
        return image or "host"

    async def build(self, folder: Path, timeout_sec: float, dockerfile: str = "Dockerfile") -> str:
        """Nothing is built here."""
        raise UnsupportedByBackend("an image can't be built here", where=str(folder))

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Make a sandbox."""
        if spec.user not in (None, "agent", "root"):
            raise UnsupportedByBackend(f"no user {spec.user!r}", where="user")
        refuse_services(spec)
        refuse_layers(spec)
        sandbox = FakeSandbox(self, spec, self._base(spec))
        self.sandboxes[sandbox.id] = sandbox
        return sandbox

    async def leaked(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """How many are past their expiry and not live."""
        return len(await self._outlived(is_live))

    async def reap(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """Remove what is past its expiry and not live."""
        outlived = await self._outlived(is_live)
        for sandbox in outlived:
            await sandbox.destroy()
        return len(outlived)

    async def _outlived(self, is_live: Callable[[Labels], Awaitable[bool]]) -> list[FakeSandbox]:
        expired = [one for one in self.sandboxes.values() if one.spec.labels.expires_at <= datetime.now(UTC)]
        return [one for one in expired if not await is_live(one.spec.labels)]

    def write(self, destination: Path, digest: str, packed: bytes) -> None:
        """Write a snapshot; one that was written before is linked, which costs a hundredth of a new file."""
        written = self._written / digest
        try:
            if digest not in self.snapshots and not written.exists():  # there already if its copy found a full disk
                _write_new(written, packed)
            os.link(written, destination)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _write_new(destination, packed)

    def remember(self, digest: str, files: dict[str, FakeFile]) -> None:
        """Keep a snapshot's files at hand."""
        self.snapshots[digest] = files
        if len(self.snapshots) > _REMEMBERED:
            oldest, _ = self.snapshots.popitem(last=False)
            (self._written / oldest).unlink(missing_ok=True)

    def _base(self, spec: SandboxSpec) -> dict[str, FakeFile]:
        if spec.base is None:
            return {}
        known = self.snapshots.get(spec.base.sha256)
        files = dict(known) if known is not None else _unpack(spec.base.path)
        if spec.restore_system:
            return {p: f for p, f in files.items() if not (belongs_to_system(p) or runs_at_start(p))}
        return files


@dataclass
class FakeSandbox:
    """Implements the ``Sandbox`` port over a dictionary from absolute path to file."""

    backend: FakeBackend
    spec: SandboxSpec
    files: dict[str, FakeFile]

    def __post_init__(self) -> None:
        self.requests: list[ExecRequest] = []
        """What was asked to run, for tests to look at."""
        self.gone = False
        self._id = f"fake-{next(_numbers)}"

    @property
    def id(self) -> str:
        """A name unique in this process."""
        return self._id

    @property
    def strengths(self) -> Mapping[LimitKind, Strength]:
        """No limit is held."""
        return _STRENGTHS

    @property
    def relay(self) -> None:
        """Nothing runs that could use one."""

    @property
    def workdir(self) -> str:
        """Where its commands start."""
        return self.spec.workdir or "/app"

    async def set_reach(self, reach: Reach) -> None:
        """Not here: raises ``UnsupportedByBackend``."""
        raise UnsupportedByBackend("a sandbox has one network all its life", where="network")

    async def exec(self, request: ExecRequest) -> ExecResult:
        """Ask the backend's handler."""
        self._refuse_when_gone()
        self.requests.append(request)
        result = self.backend.handler(self, request)
        if request.on_output is not None:
            for name, output in (("stdout", result.stdout), ("stderr", result.stderr)):
                if output:
                    request.on_output(name, output[: request.output_limit])
        return result

    async def put(self, source: Path, destination: str, *, user: str | None = None) -> None:
        """Read a host file or tree into memory."""
        self._refuse_when_gone()
        _load(os.fspath(source), destination.rstrip("/"), self.files)

    async def get(self, source: str, destination: Path, limits: TransferLimits | None = None) -> None:
        """Write a file or tree to a new host path."""
        self._refuse_when_gone()
        if destination.exists() or destination.is_symlink():
            raise TransferRefused("the destination exists", where=str(destination))
        path = source.rstrip("/")
        found = {name: file for name, file in self.files.items() if name == path or name.startswith(f"{path}/")}
        _refuse_beyond(found, limits or TransferLimits())
        if not found:
            raise NothingThere("no such file", where=source)
        for name in sorted(found):
            _store(found[name], Path(f"{destination}{name[len(path) :]}"))

    async def read(self, path: str, max_bytes: int) -> bytes | None:
        """A file's bytes, ``None`` where there is none."""
        self._refuse_when_gone()
        file = self.files.get(path)
        if file is None or stat.S_ISDIR(file.mode):
            return None
        if stat.S_ISLNK(file.mode):
            raise TransferRefused("a symlink is not followed", where=path)
        return file.content[:max_bytes]

    async def snapshot(self, destination: Path, limits: TransferLimits | None = None) -> Snapshot:
        """Write everything to a tar."""
        self._refuse_when_gone()
        _refuse_beyond(self.files, limits or TransferLimits())
        packed = _pack(self.files)
        digest = hashlib.sha256(packed).hexdigest()
        self.backend.write(destination, digest, packed)
        self.backend.remember(digest, dict(self.files))
        changed = tuple(path for path in self.files if belongs_to_system(path) or runs_at_start(path))
        return Snapshot(path=destination, sha256=digest, size=len(packed), changed_system_paths=changed)

    async def kill_session(self, session: str) -> None:
        """Nothing runs."""
        self._refuse_when_gone()

    async def kill_all(self) -> None:
        """Nothing runs."""
        self._refuse_when_gone()

    async def processes(self) -> int:
        """Nothing runs."""
        self._refuse_when_gone()
        return 0

    async def disk_used(self) -> int:
        """Bytes of all files."""
        self._refuse_when_gone()
        return sum(len(file.content) for file in self.files.values())

    def service(self, name: str) -> Service:
        """Itself; there is no other."""
        return only_itself(self, name, self.spec.place.name)

    async def destroy(self) -> None:
        """Forget it. Safe to repeat."""
        self.gone = True
        self.backend.sandboxes.pop(self._id, None)

    def _refuse_when_gone(self) -> None:
        if self.gone:
            raise SandboxGone(where=self._id)


def _load(source: str, path: str, files: dict[str, FakeFile]) -> None:
    info = os.lstat(source)
    if stat.S_ISDIR(info.st_mode):
        files[path] = FakeFile(b"", info.st_mode)
        for name in sorted(os.listdir(source)):
            _load(f"{source}/{name}", f"{path}/{name}", files)
    elif stat.S_ISLNK(info.st_mode):
        files[path] = FakeFile(os.fsencode(os.readlink(source)), info.st_mode)
    elif stat.S_ISREG(info.st_mode):
        with open(source, "rb") as file:
            files[path] = FakeFile(file.read(), info.st_mode)
    else:
        raise TransferRefused("neither file, folder nor symlink", where=source)


def _store(file: FakeFile, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISDIR(file.mode):
        target.mkdir(exist_ok=True)
    elif stat.S_ISLNK(file.mode):
        target.symlink_to(os.fsdecode(file.content))
        return
    else:
        target.write_bytes(file.content)
    target.chmod(stat.S_IMODE(file.mode) | 0o700 * stat.S_ISDIR(file.mode))


def _refuse_beyond(files: Mapping[str, FakeFile], limits: TransferLimits) -> None:
    if len(files) > limits.entries:
        raise TransferRefused(f"more than {limits.entries} entries")
    if sum(len(file.content) for file in files.values()) > limits.total_bytes:
        raise TransferRefused(f"more than {limits.total_bytes} bytes in all")
    for path, file in files.items():
        if len(file.content) > limits.file_bytes:
            raise TransferRefused(f"more than {limits.file_bytes} bytes in one file", where=path)


def _write_new(path: Path, content: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        with open(fd, "wb", buffering=0) as file:
            file.write(content)
    except OSError:
        path.unlink()
        raise


def _pack(files: Mapping[str, FakeFile]) -> bytes:
    pieces = []
    for path in sorted(files):
        content, mode = files[path]
        held = b"" if stat.S_ISDIR(mode) or stat.S_ISLNK(mode) else content
        link = os.fsdecode(content) if stat.S_ISLNK(mode) else ""
        pieces += [_header(path, mode, len(held), link), held, bytes(-len(held) % 512)]
    return b"".join(pieces) + bytes(1024)


@lru_cache(maxsize=1024)
def _header(path: str, mode: int, size: int, link: str) -> bytes:
    """Benchmarks pack the same few files thousands of times."""
    member = tarfile.TarInfo(path.lstrip("/"))
    member.mode, member.uid, member.gid = stat.S_IMODE(mode), 1000, 1000
    member.size, member.linkname = size, link
    if stat.S_ISDIR(mode):
        member.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(mode):
        member.type = tarfile.SYMTYPE
    return member.tobuf(tarfile.PAX_FORMAT)


def _unpack(path: Path) -> dict[str, FakeFile]:
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            content, kind = b"", stat.S_IFREG
            if member.isdir():
                kind = stat.S_IFDIR
            elif member.issym():
                content, kind = os.fsencode(member.linkname), stat.S_IFLNK
            elif (reader := archive.extractfile(member)) is not None:
                content = reader.read()
            files["/" + member.name.strip("/")] = FakeFile(content, kind | member.mode)
    return files
