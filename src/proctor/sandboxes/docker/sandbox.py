"""One container as a sandbox, seen through its engine's API."""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from proctor.sandboxes.docker.commands import SIGNALLED, Command, code_of
from proctor.sandboxes.docker.defaults import DEFAULTS
from proctor.sandboxes.docker.engine import SLOW_SEC, Engine, EngineError, EngineSilent
from proctor.sandboxes.docker.final_states import FinalState
from proctor.sandboxes.docker.leavings import is_of_its_users, is_wedged, refuse_odd_users
from proctor.sandboxes.docker.memory import oom_kills, ran_out_of_memory
from proctor.sandboxes.docker.meters import LATEST_SEC, WALK_SHARE, DiskUse, disk_use
from proctor.sandboxes.docker.networks import ContainerNetwork
from proctor.sandboxes.docker.removing import REMOVE_SEC, remove
from proctor.sandboxes.docker.scripts import EMPTY, EXEC, KILL_SESSION
from proctor.sandboxes.docker.transfers import Files
from proctor.sandboxes.docker.users import User
from proctor.sandboxes.errors import (
    ExecChannelError,
    LeftBroken,
    SandboxError,
    SandboxGone,
    ServiceStopped,
    UnsupportedByBackend,
)
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
from proctor.sandboxes.requests import only_itself, refuse_words

__all__ = ["Beside", "Container", "DockerSandbox"]

_KILL_SECONDS = 15.0
_END_SECONDS = 5.0
_STAYS_SECONDS = 0.5
_START_SECONDS = 60.0
"""Until a command's first line; then its engine is asked whether it still answers about this container."""
_WEDGED_SECONDS = 5.0
"""For the removal of a container that its engine does not answer about; then it is the reaper's."""
_TICK = 0.3
"""Seconds between two looks at the disk at the least."""
_GRACE = 10
"""After a kill the next commands, a verifier say, may write another tenth of the limit."""


class Beside(Protocol):
    """What stands around a sandbox's container, and goes with it."""

    def service(self, name: str) -> Service:
        """The container of that name. Raises ``UnsupportedByBackend``."""
        ...

    async def remove(self) -> None:
        """Remove all of it, when the sandbox's own container is gone."""
        ...


@dataclass(frozen=True, kw_only=True)
class Container:
    """Which one it is, and whom commands run as and files belong to unless somebody else is named."""

    id: str
    name: str
    user: User
    users: Mapping[str, User]
    workdir: str
    relay: Path | None = None
    beside: Beside | None = None
    volumes: tuple[str, ...] = ()
    """Folders that its image keeps apart: an engine counts what changes there as no change."""
    runs_itself: bool = False
    """Whether it has a program of its own: one that has ended is not started again."""


@dataclass(frozen=True, kw_only=True)
class _Start:
    """When a command began, by both clocks, and how often the kernel had killed for memory until then."""

    kills: int | None
    clock: float = field(default_factory=time.monotonic)
    time: float = field(default_factory=time.time)


class DockerSandbox:
    """Implements the ``Sandbox`` port; made by ``DockerBackend.create``, bound to its event loop."""

    def __init__(
        self,
        engine: Engine,
        container: Container,
        spec: SandboxSpec,
        strengths: Mapping[LimitKind, Strength],
        network: ContainerNetwork,
        on_destroyed: Callable[[str], None],
    ) -> None:
        self._engine, self._container, self._spec, self._strengths = engine, container, spec, strengths
        self._network, self._on_destroyed = network, on_destroyed
        self._files = Files(engine, container.id)
        self._sessions: dict[str, set[int]] = {}
        self._running: dict[int, LimitKind | None] = {}
        self._number = 0
        self._limit = (spec.limits.disk_mb or DEFAULTS.disk_mb or 0) * 1000**2
        self._ceiling = self._limit
        self._watch: asyncio.Task[None] | None = None
        self._stopped = self._restarted = self._wedged = False
        self._life = asyncio.Lock()
        """Held while it is stopped or started, so that no command starts in between."""
        self._ending: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """A name unique on this engine, which the reaper also knows."""
        return self._container.name

    @property
    def strengths(self) -> Mapping[LimitKind, Strength]:
        """How far each limit holds for this sandbox; stored on the attempt."""
        return self._strengths

    @property
    def relay(self) -> Path | None:
        """The folder that is ``/proctor`` inside."""
        return self._container.relay

    @property
    def workdir(self) -> str:
        """Where its commands start."""
        return self._container.workdir

    @property
    def files(self) -> Files:
        """Its files, for the backend that fills it."""
        return self._files

    async def set_reach(self, reach: Reach) -> None:
        """From now on it may reach this, also what runs already. Raises ``UnsupportedByBackend``."""
        self._refuse_when_gone()
        await self._be_running()
        async with self._life:
            await self._network.switch(reach)

    # --- commands -----------------------------------------------------------------------------------------------------

    async def exec(self, request: ExecRequest) -> ExecResult:
        """Run a command to its end, timeout or limit. Raises ``ExecChannelError`` or ``SandboxGone``."""
        self._refuse_when_gone()
        refuse_words(request, {**self._spec.env, **request.env})
        user = self._user(request.user)
        command = Command(self._engine, self._container.id, request, self._body(request, user))
        try:
            await self._refuse_odd_users()
            await self._be_running()
            return await self._run(command, request)
        except (EngineError, ExecChannelError) as error:
            if self._container.runs_itself and not isinstance(error, EngineSilent):
                await self._be_running()  # its program may have ended meanwhile: that is no trouble of the engine's
            await self._refuse_what_is_left(error)
            raise ExecChannelError(str(error), where=self.id) from error

    def _body(self, request: ExecRequest, user: User) -> dict[str, Any]:
        environment = {**user.environment(), **self._network.variables, **self._spec.env, **request.env}
        return {
            "AttachStdin": bool(request.stdin),
            "AttachStdout": True,
            "AttachStderr": True,
            "User": user.told,
            "Env": [f"{name}={value}" for name, value in environment.items()],
            "Cmd": ["/bin/sh", "-c", self._script(environment), "sh", request.cwd or self.workdir, *request.argv],
        }

    def _script(self, environment: Mapping[str, str]) -> str:
        """Podman tells every command that it is in a container; a task that says so itself is left its word."""
        told = self._engine.is_podman and "container" not in environment
        return f"unset container\n{EXEC}" if told else EXEC

    async def _run(self, command: Command, request: ExecRequest) -> ExecResult:
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_disk())
        self._number += 1
        number, start = self._number, _Start(kills=await self._oom_kills())
        self._running[number] = None
        reading = asyncio.create_task(command.run())
        try:
            waits = [reading, asyncio.create_task(command.session.wait())]
            await self._first_line(waits, request.timeout_sec)
            waits[1].cancel()
            if command.session_id is not None:
                self._sessions.setdefault(request.session, set()).add(command.session_id)
            left = None if request.timeout_sec is None else start.clock + request.timeout_sec - time.monotonic()
            done, _ = await asyncio.wait([reading], timeout=None if left is None else max(0.0, left))
            if not done:
                self._running[number] = LimitKind.WALL
                await self._end(reading, command.session_id)
            code = code_of(reading) if self._running[number] is LimitKind.WALL else reading.result()
            return await self._result(command, code, self._running[number], start)
        except asyncio.CancelledError:
            with suppress(SandboxError):
                await asyncio.shield(self._kill(command.session_id))
            raise
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await reading
            del self._running[number]

    async def _first_line(self, waits: Sequence[asyncio.Task[Any]], timeout: float | None) -> None:
        """Until a command speaks, ends or has no time left. Raises ``SandboxError`` where it does not even start."""
        soon = _START_SECONDS if timeout is None else min(timeout, _START_SECONDS)
        done, _ = await asyncio.wait(waits, timeout=soon, return_when=asyncio.FIRST_COMPLETED)
        if done or soon == timeout:
            return
        await self._state()
        if timeout is None:
            kind = LeftBroken if self._number > 1 or self._spec.base is not None else ExecChannelError
            raise kind(f"a command did not start within {soon:.0f} s", where=self.id)
        await asyncio.wait(waits, timeout=timeout - soon, return_when=asyncio.FIRST_COMPLETED)

    async def _end(self, reading: asyncio.Task[int], session: int | None) -> None:
        """End a command whose time is over, believing nothing that was said from within: who was root there may have
        made the killing his own. A service that has not said yet who it is goes on; it is its probe that is late."""
        if self._container.runs_itself and session is None:
            reading.cancel()
        else:
            await self._kill(session)
        done, _ = await asyncio.wait([reading], timeout=_END_SECONDS)
        if not done:
            await self._stop()
            await asyncio.wait([reading], timeout=_END_SECONDS)

    async def _result(self, command: Command, code: int, limit: LimitKind | None, start: _Start) -> ExecResult:
        number = code - SIGNALLED if SIGNALLED < code <= SIGNALLED + signal.NSIG else None
        if limit is not None:  # by our own hand, whatever the engine makes of a container that went with it
            number = int(signal.SIGKILL)
        oom = False
        if code and limit is None:
            oom = await self._ran_out_of_memory(start, patient=number == signal.SIGKILL)
        if limit is None and number == signal.SIGXFSZ:
            limit = LimitKind.FILE_SIZE
        return ExecResult(
            exit_code=None if number is not None else code,
            signal=number,
            oom=oom,
            limit=LimitKind.MEMORY if oom and limit is None else limit,
            stdout=command.stdout.end(),
            stderr=command.stderr.end(),
            truncated=command.stdout.truncated or command.stderr.truncated,
            seconds=time.monotonic() - start.clock,
        )

    async def _ran_out_of_memory(self, start: _Start, *, patient: bool) -> bool:
        if not self._engine.is_podman:
            return await ran_out_of_memory(self._engine, self._container.id, since=start.time, patient=patient)
        now = await self._oom_kills()
        return start.kills is not None and now is not None and now > start.kills

    async def _oom_kills(self) -> int | None:
        return await oom_kills(self._engine, self._container.id) if self._engine.is_podman else None

    # --- ends ---------------------------------------------------------------------------------------------------------

    async def kill_session(self, session: str) -> None:
        """Kill what is left of the execs of that session name. Returns when they are gone."""
        self._refuse_when_gone()
        try:
            for kernel_session in self._sessions.pop(session, set()):
                await self._kill(kernel_session)
        except EngineSilent as error:
            await self._refuse_what_is_left(error)
            raise

    async def kill_all(self) -> None:
        """Kill every process. The container is stopped by its engine, and started again for the next command."""
        self._refuse_when_gone()
        try:
            await self._stop()
        except EngineSilent as error:
            await self._refuse_what_is_left(error)
            raise

    async def _kill(self, session: int | None) -> None:
        """From within; where that does not do, the engine ends the whole container."""
        if session is None or not await self._kill_from_within(session):
            await self._stop()

    async def _kill_from_within(self, session: int) -> bool:
        if self._stopped:
            return True
        body = {"AttachStdout": True, "AttachStderr": True, "User": "0:0"}
        cmd = ["/bin/sh", "-c", KILL_SESSION, "sh", str(session)]
        command = Command(self._engine, self._container.id, ExecRequest(argv=cmd), {**body, "Cmd": cmd}, told=False)
        try:
            async with asyncio.timeout(_KILL_SECONDS):
                await self._refuse_odd_users()
                return await command.run() == 0
        except (TimeoutError, SandboxError):
            return False

    async def _stop(self) -> None:
        async with self._life:
            try:
                await self._engine.ask("POST", f"containers/{self._container.id}/kill", signal="SIGKILL")
            except EngineError:
                if (await self._state())["Running"]:
                    raise
            await self._engine.ask("POST", f"containers/{self._container.id}/wait", condition="not-running")
            self._stopped = True
            self._sessions.clear()

    async def _be_running(self) -> None:
        """Start it again where it was stopped by us, or died with its first process: its files are what they were."""
        async with self._life:
            state = await self._state()
            if not state["Running"] and self._container.runs_itself:
                raise ServiceStopped(f"it ended with exit code {state['ExitCode']}", where=self.id)
            if not state["Running"]:
                self._restarted = self._number > 0
                await self._engine.ask("POST", f"containers/{self._container.id}/start", within=SLOW_SEC)
                await self._network.started()
            self._stopped = False

    async def _refuse_odd_users(self) -> None:
        """Raise ``LeftBroken`` for what would make the engine stumble, once an agent can have left it."""
        if not self._container.runs_itself and (self._number > 0 or self._spec.base is not None):
            await refuse_odd_users(self._files, self.id)

    async def _refuse_what_is_left(self, error: SandboxError) -> None:
        """Raise ``LeftBroken`` where commands left a container that the engine is stuck with, whose users it can't
        read, or that does not stay up when it is started again."""
        if isinstance(error, EngineSilent):
            self._wedged = await is_wedged(self._engine, self._container.id)
        if self._wedged or is_of_its_users(error):
            if self._number > 1 or self._wedged or self._spec.base is not None:
                raise LeftBroken(str(error), where=self.id) from error
            return
        if not self._restarted or (await self._state())["Running"]:
            return
        await self._be_running()
        await asyncio.sleep(_STAYS_SECONDS)
        if not (await self._state())["Running"]:
            raise LeftBroken(where=self.id) from error

    async def _state(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (await self._engine.ask("GET", f"containers/{self._container.id}/json"))["State"]
        return found

    def service(self, name: str) -> Service:
        """The container of that name beside it, itself under its own. Raises ``UnsupportedByBackend``."""
        if self._container.beside is None or name == self._spec.place.name:
            return only_itself(self, name, self._spec.place.name)
        return self._container.beside.service(name)

    async def destroy(self) -> None:
        """Kill everything and remove every trace. Safe to repeat."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._destroy())
        await asyncio.shield(self._ending)

    async def _destroy(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        try:
            await self._network.close()
            with suppress(EngineSilent):  # then it is the reaper's
                within = _WEDGED_SECONDS if self._wedged else REMOVE_SEC
                await remove(self._engine, self._container.id, within)
        finally:
            await self._leave()
            self._on_destroyed(self.id)

    async def _leave(self) -> None:
        try:
            if self._container.beside is not None:
                await self._container.beside.remove()
        finally:
            await self._engine.close()
            if self.relay is not None:
                await asyncio.to_thread(shutil.rmtree, self.relay, ignore_errors=True)

    # --- files --------------------------------------------------------------------------------------------------------

    async def put(self, source: Path, destination: str, *, user: str | None = None) -> None:
        """Copy a host file or tree in: modes, symlinks and hard links kept, owner ``user``."""
        self._refuse_when_gone()
        owner = self._user(user)
        await self._files.put(source, destination, (owner.uid, owner.gid))

    async def get(self, source: str, destination: Path, limits: TransferLimits | None = None) -> None:
        """Copy a file or tree out to a new host path. Raises ``TransferRefused`` for devices or caps."""
        self._refuse_when_gone()
        await self._files.get(source, destination, limits or TransferLimits())

    async def read(self, path: str, max_bytes: int) -> bytes | None:
        """A regular file's bytes, ``None`` where there is none; symlinks refused, never longer than the cap."""
        self._refuse_when_gone()
        return await self._files.read(path, max_bytes)

    async def snapshot(self, destination: Path, limits: TransferLimits | None = None) -> Snapshot:
        """Keep the final filesystem as a tar at ``destination``. Every process must be dead."""
        self._refuse_when_gone()
        if await self.processes():
            raise SandboxError("processes still run; kill them all before keeping the final state", where=self.id)
        container = self._container
        return await FinalState(self._engine, container.id, self._files, container.volumes).write(
            destination, limits or TransferLimits()
        )

    async def empty_volumes(self) -> None:
        """Take out of the image's own volumes what it put in them: a kept state has all of what was there."""
        if self._container.volumes:
            argv = ["/bin/sh", "-c", EMPTY, "sh", *self._container.volumes]
            await self.exec(ExecRequest(argv=argv, user="root", cwd="/"))

    async def processes(self) -> int:
        """How many run beside the container's own, as the engine sees them from outside."""
        self._refuse_when_gone()
        return 0 if self._stopped else max(0, len(await self._pids()) - _OWN_PROCESSES)

    async def disk_used(self) -> int:
        """Bytes that the container's own files and volumes take on the engine's disk."""
        self._refuse_when_gone()
        return (await self.measure()).bytes

    async def measure(self) -> DiskUse:
        """What it takes on the engine's disk, or that this can't be said."""
        return await disk_use(self._engine, self._container.id, await self._pids())

    async def stop_above(self, limit: int) -> None:
        """End it where it takes more than that on the engine's disk, and runs."""
        if (await self._state())["Running"] and (await self.measure()).is_over(limit):
            await self._stop()

    # --- watching -----------------------------------------------------------------------------------------------------

    async def _pids(self) -> Sequence[int]:
        """Of all its processes, as this machine numbers them."""
        columns = "hpid" if self._engine.is_podman else "-eo pid"
        try:
            answer = await self._engine.ask("GET", f"containers/{self._container.id}/top", ps_args=columns)
        except EngineError as error:
            if (await self._state())["Running"]:
                raise error
            return []
        rows = (answer or {}).get("Processes") or ()  # an engine says nothing of one that is just ending
        return [int(row[0]) for row in rows if row]

    async def _watch_disk(self) -> None:
        """No storage driver that is common limits a container's disk, so it is measured, and killed when it is over."""
        pause, stopped = _TICK, False
        while self._ending is None:
            await asyncio.sleep(pause)
            if not self._running and not stopped:
                continue
            with suppress(SandboxError):
                began = time.monotonic()
                used = await self.measure()
                pause = min(max(_TICK, (time.monotonic() - began) * WALK_SHARE), LATEST_SEC)
                if stopped:  # it wrote on until it was, which is not the next command's doing
                    stopped, self._ceiling = False, max(self._ceiling, used.bytes) + self._limit // _GRACE
                elif used.is_over(self._ceiling):
                    for number, known in self._running.items():
                        self._running[number] = known or LimitKind.DISK
                    await self._stop()
                    stopped, pause = True, 0.0

    def _user(self, name: str | None) -> User:
        if name is None:
            return self._container.user
        if name not in self._container.users:
            raise UnsupportedByBackend(f"the image has no user {name!r}", where="user")
        return self._container.users[name]

    def _refuse_when_gone(self) -> None:
        if self._ending is not None:
            raise SandboxGone(where=self.id)


_OWN_PROCESSES = 2
"""The engine's init and the shell that waits."""
