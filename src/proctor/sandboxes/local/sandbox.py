"""One running local sandbox, seen from the host."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from proctor.sandboxes.errors import (
    ExecChannelError,
    HostDiskFull,
    NodeLost,
    SandboxError,
    SandboxGone,
    TransferRefused,
    UnsupportedByBackend,
)
from proctor.sandboxes.files.archives import write_snapshot
from proctor.sandboxes.files.trees import remove_tree_but_last, tree_use
from proctor.sandboxes.interfaces import (
    ExecRequest,
    ExecResult,
    LimitKind,
    Reach,
    SandboxSpec,
    Service,
    Snapshot,
    Strength,
    TransferLimits,
)
from proctor.sandboxes.local import transfers
from proctor.sandboxes.local.capture import Capture
from proctor.sandboxes.local.cgroups import ControlGroup
from proctor.sandboxes.local.channel import Channel
from proctor.sandboxes.local.launch import Launched, memory_file
from proctor.sandboxes.local.meters import Meter, descendants
from proctor.sandboxes.local.orphans import kill_unborn
from proctor.sandboxes.local.records import RECORD
from proctor.sandboxes.local.userland import AGENT, WORKDIR, Userland, agent_environment
from proctor.sandboxes.promises import machine_bytes, oom_score
from proctor.sandboxes.requests import only_itself, refuse_words

__all__ = ["LocalSandbox", "Place"]

_TICK = 0.1
"""Seconds between two looks at the meters."""
_END_SECONDS = 10.0
"""How long the end of a killed process may take to be told."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a sandbox lives on the host and whom its files belong to."""

    id: str
    folder: Path
    owner: int | None
    """The host uid and gid it runs as; ``None``: the ordinary user that Proctor itself runs as."""
    userland: Userland
    relay: bool = False

    @property
    def relay_folder(self) -> Path | None:
        """Where a relay's socket may be made."""
        return self.folder / "relay" if self.relay else None

    @property
    def root(self) -> Path:
        """The folder that is ``/`` inside, below the read-only mounts."""
        return self.folder / "fs"


class LocalSandbox:
    """Implements the ``Sandbox`` port; made by ``LocalBackend.create``, bound to its event loop."""

    def __init__(
        self,
        place: Place,
        spec: SandboxSpec,
        launched: Launched,
        group: ControlGroup | None,
        strengths: Mapping[LimitKind, Strength],
        on_destroyed: Callable[[str], None],
    ) -> None:
        self._place, self._spec, self._launched, self._group = place, spec, launched, group
        self._strengths = strengths
        self._on_destroyed = on_destroyed
        self._channel = Channel(launched.control)
        self._keeper: int | None = None
        self._keeper_handle = -1
        self._meter: Meter | None = None
        self._watch: asyncio.Task[None] | None = None
        self._running: dict[int, LimitKind | None] = {}
        self._ending: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """A name unique on this machine, which the reaper also knows."""
        return self._place.id

    @property
    def strengths(self) -> Mapping[LimitKind, Strength]:
        """How far each limit holds for this sandbox; stored on the attempt."""
        return self._strengths

    @property
    def workdir(self) -> str:
        """Where its commands start."""
        return self._spec.workdir or WORKDIR

    @property
    def relay(self) -> Path | None:
        """The folder that is ``/proctor`` inside."""
        return self._place.relay_folder

    @property
    def keeper_pid(self) -> int | None:
        """The host's number of its first process."""
        return self._keeper

    async def started(self, metered: Mapping[LimitKind, int]) -> None:
        """Wait until the keeper listens, put it under its limits, and be ready for execs."""
        self._keeper = await self._keeper_from_bubblewrap()
        self._keeper_handle = os.pidfd_open(self._keeper)
        if self._group is not None:  # the kernel takes 10 ms for this: as long as the keeper takes to start
            await asyncio.to_thread(self._group.add, self._keeper)
        if self._spec.requests is not None:
            promise = int(self._spec.requests.memory_mb * 1024**2)
            with suppress(OSError):  # some containers let nobody say it
                Path(f"/proc/{self._keeper}/oom_score_adj").write_text(str(oom_score(promise, machine_bytes())))
        await self._channel.ready()
        self._meter = Meter(self._place.root, self._keeper, metered)

    async def _keeper_from_bubblewrap(self) -> int:
        """What bubblewrap says of itself before anything of the sandbox runs."""
        said = b""
        while not said.rstrip().endswith(b"}"):
            await _readable(self._launched.info)
            piece = os.read(self._launched.info, 4096)
            if not piece:
                raise ExecChannelError("bubblewrap ended before it had started anything")
            said += piece
        return int(json.loads(said)["child-pid"])

    def last_words(self) -> str:
        """What bubblewrap or the keeper printed, for the report of a start that failed."""
        return os.pread(self._launched.log, 4096, 0).decode(errors="replace").strip()

    async def set_reach(self, reach: Reach) -> None:
        """Not here: raises ``UnsupportedByBackend``."""
        raise UnsupportedByBackend("a sandbox has one network all its life", where="network")

    async def exec(self, request: ExecRequest) -> ExecResult:
        """Run a command to its end or limit. Raises ``ExecChannelError``, ``SandboxGone``, ``HostDiskFull``,
        ``NodeLost`` where the machine had no memory left, and not the sandbox."""
        self._refuse_user(request.user)
        self._refuse_when_gone()
        environment = {**agent_environment(), **self._spec.env, **request.env}
        refuse_words(request, environment)
        self._refuse_when_host_full()
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_meters())
        with ExitStack() as stack:
            streams = []
            if request.stdin:
                streams.append(memory_file("stdin", request.stdin))
                stack.callback(os.close, streams[0])
            captures = []
            for name in ("stdout", "stderr"):
                captures.append(Capture(name, request.output_limit, request.on_output))
                stack.callback(captures[-1].close)
                streams.append(captures[-1].write_end)
            killed, began = self._oom_kills(), time.monotonic()
            number, done = await self._channel.start(
                request.argv, environment, request.cwd or self.workdir, streams, request.session
            )
            for capture in captures:
                capture.release()
            status, limit = await self._end_of(number, done, request.timeout_sec, killed)
            self._refuse_when_host_full()
            oom = self._oom_kills() > killed
            if oom:
                self._refuse_when_node_full()
            return self._result(captures, status, limit, oom, time.monotonic() - began)

    async def put(self, source: Path, destination: str, *, user: str | None = None) -> None:
        """Copy a host file or tree in: modes, symlinks, hard links and sparse files kept, owner ``user``."""
        self._refuse_user(user)
        self._refuse_when_gone()
        parts = transfers.own_parts(destination, self._place.userland)
        await self._in_thread(transfers.put, source, self._place.root, parts, self._place.owner)

    async def get(self, source: str, destination: Path, limits: TransferLimits | None = None) -> None:
        """Copy a file or tree out to a new host path. Raises ``TransferRefused`` for devices or caps."""
        self._refuse_when_gone()
        parts = transfers.own_parts(source, self._place.userland)
        await self._in_thread(transfers.get, self._place.root, parts, destination, limits or TransferLimits())

    async def read(self, path: str, max_bytes: int) -> bytes | None:
        """A regular file's bytes, ``None`` where there is none; symlinks refused, never longer than the cap."""
        self._refuse_when_gone()
        parts = transfers.own_parts(path, self._place.userland)
        return await self._in_thread(transfers.read, self._place.root, parts, max_bytes)

    async def snapshot(self, destination: Path, limits: TransferLimits | None = None) -> Snapshot:
        """Keep the final filesystem as a tar at ``destination``. Every process must be dead."""
        self._refuse_when_gone()
        if await self.processes():
            raise SandboxError("processes still run; kill them all before keeping the final state", where=self.id)
        skip = self._place.userland.mounted
        try:
            return await self._in_thread(
                write_snapshot, self._place.root, destination, limits or TransferLimits(), skip
            )
        except TransferRefused:
            destination.unlink(missing_ok=True)
            raise

    async def kill_session(self, session: str) -> None:
        """Kill what is left of the execs of that session name. Returns when they are gone."""
        self._refuse_when_gone()
        await self._channel.kill_session(session)

    async def kill_all(self) -> None:
        """Kill every process of the sandbox but its keeper. Returns when they are gone."""
        self._refuse_when_gone()
        await self._channel.kill_all()

    async def processes(self) -> int:
        """How many processes run but the keeper."""
        self._refuse_when_gone()
        return len(descendants(self._keeper)) if self._keeper is not None else 0

    async def disk_used(self) -> int:
        """Bytes that the sandbox's own files take on the host's disk."""
        self._refuse_when_gone()
        return (await self._in_thread(tree_use, self._place.root)).bytes

    def service(self, name: str) -> Service:
        """Itself; there is no other."""
        return only_itself(self, name, self._spec.place.name)

    async def destroy(self) -> None:
        """Kill everything and remove every trace. Safe to repeat."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._destroy())
        await asyncio.shield(self._ending)

    async def _destroy(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        self._channel.close()
        await self._end_processes()
        for fd in (self._launched.info, self._launched.log, self._keeper_handle):
            if fd >= 0:
                os.close(fd)
        await asyncio.to_thread(self._remove_traces)
        self._on_destroyed(self.id)

    async def _end_processes(self) -> None:
        process = self._launched.process
        if self._keeper_handle >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._keeper_handle, signal.SIGKILL)
            await _readable(self._keeper_handle)  # of a pid namespace's first process: all have ended
        else:
            process.kill()
        handle = _handle_of(process)
        if handle is not None:
            await _readable(handle)
            os.close(handle)
        process.wait()
        if self._keeper_handle < 0:
            await asyncio.to_thread(kill_unborn, self._place.root)

    def _remove_traces(self) -> None:
        if self._group is not None:
            self._group.remove()
        remove_tree_but_last(self._place.folder, RECORD)

    async def _end_of(
        self, number: int, done: asyncio.Future[int], timeout: float | None, oom_kills: int
    ) -> tuple[int, LimitKind | None]:
        self._running[number] = None
        try:
            finished, _ = await asyncio.wait([done], timeout=timeout)
            if not finished:
                self._running[number] = LimitKind.WALL
                await self._channel.kill_exec(number)
                await asyncio.wait_for(asyncio.shield(done), _END_SECONDS)
            return done.result(), self._running[number]
        except asyncio.CancelledError:
            with suppress(SandboxError):
                await asyncio.shield(self._channel.kill_exec(number))
            raise
        except TimeoutError as error:
            raise ExecChannelError("the end of a killed command was never told") from error
        except ExecChannelError:
            if self._oom_kills() > oom_kills:  # the kernel's choice fell on the keeper: the same cause
                self._refuse_when_node_full()
                return signal.SIGKILL, LimitKind.MEMORY
            raise
        finally:
            self._channel.forget(number)
            del self._running[number]

    def _result(
        self, captures: list[Capture], status: int, limit: LimitKind | None, oom: bool, seconds: float
    ) -> ExecResult:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = None if number is not None else os.WEXITSTATUS(status)
        if limit is None and number == signal.SIGXFSZ:
            limit = LimitKind.FILE_SIZE
        if limit is None and oom and code != 0:
            limit = LimitKind.MEMORY
        stdout, stderr = (capture.finish() for capture in captures)
        return ExecResult(
            exit_code=code,
            signal=number,
            oom=oom or limit is LimitKind.MEMORY,
            limit=limit,
            stdout=stdout,
            stderr=stderr,
            truncated=any(capture.truncated for capture in captures),
            seconds=seconds,
        )

    async def _watch_meters(self) -> None:
        """Look at the limits that only we hold; kill everything when one is passed."""
        meter = self._meter
        assert meter is not None
        while not self._channel.lost and self._ending is None:  # a cancel can get lost in Python 3.11's wait_for
            await asyncio.sleep(_TICK)
            meter.host_was_full()  # remembered: the command that runs now is told at its end
            kind = await asyncio.to_thread(meter.look) if meter.due() else None
            if kind is None:
                continue
            for number, known in self._running.items():
                self._running[number] = known or kind
            with suppress(SandboxError):
                await self._channel.kill_all()
            meter.killed()

    def _oom_kills(self) -> int:
        return self._group.oom_kills() if self._group is not None else 0

    def _refuse_when_node_full(self) -> None:
        """The kernel killed for memory: was it the sandbox's own limit, or had the machine none left?"""
        if self._group is not None and not self._group.was_full():
            raise NodeLost("the machine ran out of memory", kube_reason="Evicted", where=self.id)

    def _refuse_user(self, user: str | None) -> None:
        if user not in (None, AGENT):
            raise UnsupportedByBackend(f"this sandbox has the user {AGENT!r} only, not {user!r}", where="user")

    def _refuse_when_gone(self) -> None:
        if self._ending is not None:
            raise SandboxGone(where=self.id)

    def _refuse_when_host_full(self) -> None:
        if self._meter is not None and self._meter.host_was_full():
            raise HostDiskFull(where=str(self._place.root))

    async def _in_thread(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except OSError as error:
            raise TransferRefused(f"{error.strerror or error}", where=str(error.filename or self.id)) from error


def _handle_of(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None


async def _readable(handle: int) -> None:
    """Returns when there is something to read; a pidfd says so when its process has ended."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(handle, tell)
    try:
        await ready
    finally:
        loop.remove_reader(handle)
