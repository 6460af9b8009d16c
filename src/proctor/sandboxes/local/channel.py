"""The host's end of the keeper's control socket. What arrives is parsed as if the agent had written it.

A packet is ``kind, number, value`` (one byte, two 32-bit integers) in both directions. A command goes over
in a memory file beside its streams, so no packet is ever larger than that.
"""

from __future__ import annotations

import array
import asyncio
import errno
import os
import socket
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress

from proctor.sandboxes.errors import ExecChannelError, SandboxGone
from proctor.sandboxes.local.launch import memory_file

__all__ = ["Channel"]

_MESSAGE = struct.Struct("<BIi")
_EXEC, _KILL_EXEC, _KILL_SESSION, _KILL_ALL = 1, 2, 3, 4
_HELLO, _DONE, _FAILED, _KILLED = 1, 2, 3, 4
_KILL_SECONDS = 30.0
"""How long processes may take to be gone once killed; one that waits for a disk can take a while."""


class Channel:
    """Asks the keeper to start and kill, and hands out what it says."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._number = 0
        self._hello: asyncio.Future[int] = self._loop.create_future()
        self._waiting: dict[tuple[int, int], asyncio.Future[int]] = {(_HELLO, 0): self._hello}
        self._sessions: dict[str, int] = {}
        self.lost = False
        self._loop.add_reader(control.fileno(), self._take)

    async def ready(self) -> None:
        """Returns when the keeper has closed itself to others and waits for commands."""
        await self._hello

    async def start(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, streams: Sequence[int], session: str
    ) -> tuple[int, asyncio.Future[int]]:
        """Start a command; the future is its wait status. ``streams``: (stdin,) stdout and stderr."""
        entries = [f"{name}={value}" for name, value in env.items()]
        fields = [str(len(argv)), cwd, *argv, *entries, ""]
        payload = memory_file("exec", b"\0".join(os.fsencode(text) for text in fields))
        try:
            number = self._next()
            done = self._expect(_DONE, number)
            kernel_name = self._sessions.setdefault(session, len(self._sessions) + 1)
            await self._send(_EXEC, number, kernel_name, (payload, *streams))
        finally:
            os.close(payload)
        return number, done

    async def kill_exec(self, number: int) -> None:
        """Kill what is left of one exec's own session."""
        await self._kill(_KILL_EXEC, number)

    async def kill_session(self, session: str) -> None:
        """Kill what is left of every exec of that name."""
        if session in self._sessions:
            await self._kill(_KILL_SESSION, self._sessions[session])

    async def kill_all(self) -> None:
        """Kill everything but the keeper."""
        await self._kill(_KILL_ALL, 0)

    def forget(self, number: int) -> None:
        """Nobody waits for this exec any more."""
        self._waiting.pop((_DONE, number), None)

    def close(self) -> None:
        """Let go of the socket; whoever still waits learns that the sandbox is gone."""
        if self._control.fileno() >= 0:
            self._loop.remove_reader(self._control.fileno())
            self._control.close()
        self._fail(SandboxGone())

    async def _kill(self, kind: int, value: int) -> None:
        number = self._next()
        gone = self._expect(_KILLED, number)
        await self._send(kind, number, value, ())
        try:
            await asyncio.wait_for(gone, _KILL_SECONDS)
        except TimeoutError as error:
            raise ExecChannelError("processes were killed and did not end") from error
        finally:
            self._waiting.pop((_KILLED, number), None)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _expect(self, kind: int, number: int) -> asyncio.Future[int]:
        if self.lost or self._control.fileno() < 0:
            raise SandboxGone()
        future: asyncio.Future[int] = self._loop.create_future()
        self._waiting[kind, number] = future
        return future

    async def _send(self, kind: int, number: int, value: int, fds: Sequence[int]) -> None:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        while True:
            try:
                self._control.sendmsg([_MESSAGE.pack(kind, number, value)], ancillary)
                return
            except BlockingIOError:
                await asyncio.sleep(0.001)
            except OSError as error:
                if error.errno == errno.ETOOMANYREFS:
                    await asyncio.sleep(0.001)
                    continue
                self._broken()
                raise ExecChannelError(f"the keeper does not listen: {error}") from error

    def _take(self) -> None:
        with suppress(BlockingIOError):
            try:
                packet = self._control.recv(_MESSAGE.size + 1)
            except BlockingIOError:
                raise
            except OSError:
                packet = b""
            if len(packet) != _MESSAGE.size:
                self._broken()
                return
            self._dispatch(*_MESSAGE.unpack(packet))

    def _dispatch(self, kind: int, number: int, value: int) -> None:
        failed = kind == _FAILED
        future = self._waiting.pop((_DONE if failed else kind, number), None)
        if future is None or future.done():
            return
        if failed:
            future.set_exception(ExecChannelError(f"the keeper could not start it: {os.strerror(value)}"))
        else:
            future.set_result(value)

    def _broken(self) -> None:
        """The socket is at its end or what came is no message: nothing more is believed."""
        self.lost = True
        self._loop.remove_reader(self._control.fileno())
        self._fail(ExecChannelError("its first process is gone"))

    def _fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(error)
                future.exception()  # retrieved here: not every waiter is still there to do so
