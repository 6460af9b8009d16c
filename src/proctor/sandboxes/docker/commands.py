"""One exec of an engine: what it said, and how it ended."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from proctor.sandboxes.docker.engine import Engine, EngineError
from proctor.sandboxes.docker.leavings import is_of_its_users
from proctor.sandboxes.errors import ExecChannelError
from proctor.sandboxes.interfaces import ExecRequest
from proctor.sandboxes.output import Kept

__all__ = ["SIGNALLED", "Command", "code_of"]

SIGNALLED = 128
"""An engine tells the end by signal n as exit code 128 + n, as shells do: the one can't be told from the other."""
_NOT_STARTED = 126


class Command:
    """One exec of an engine: what it said, and how it ended."""

    def __init__(
        self, engine: Engine, container: str, request: ExecRequest, body: Mapping[str, Any], *, told: bool = True
    ) -> None:
        self._engine, self._container, self._request, self._body = engine, container, request, body
        self.stdout = Kept("stdout", request.output_limit, request.on_output)
        self.stderr = Kept("stderr", request.output_limit, request.on_output)
        self.session = asyncio.Event()
        """Set when its first line has come."""
        self.session_id: int | None = None
        self._head: bytes | None = b"" if told else None

    async def run(self) -> int:
        """The exit code, when everything it said has been taken. Raises ``EngineError``, ``ExecChannelError``."""
        made = await self._engine.ask("POST", f"containers/{self._container}/exec", self._body)
        await self._talk(str(made["Id"]))
        code = await self._code(str(made["Id"]))
        if code == _NOT_STARTED and self._head is not None and not self.session.is_set():
            self._refuse(self.stdout.end())
        return code

    def _refuse(self, said: bytes) -> None:
        """An engine that can't tell who a command is to run as says so where its output would be."""
        error = EngineError(500, said.decode(errors="replace").strip()[:500])
        if is_of_its_users(error):
            raise error

    async def _talk(self, exec_id: str) -> None:
        import aiohttp
        from aiodocker import DockerError

        try:
            await self._listen(exec_id)
        except (DockerError, aiohttp.ClientError, OSError, AssertionError) as error:  # it asserts that a line is up
            raise ExecChannelError(f"the container engine broke off: {error}") from error

    async def _listen(self, exec_id: str) -> None:
        from aiodocker.execs import Exec

        async with Exec(self._engine.docker, exec_id, tty=False).start() as stream:
            writing = asyncio.create_task(self._write(stream)) if self._request.stdin else None
            try:
                while (message := await stream.read_out()) is not None:
                    if message.stream == 1:
                        self.stdout.feed(message.data)
                    else:
                        self._take_stderr(message.data)
            finally:
                if writing is not None:
                    writing.cancel()
                    with suppress(asyncio.CancelledError, Exception):
                        await writing

    async def _write(self, stream: Any) -> None:
        for place in range(0, len(self._request.stdin), 1 << 16):
            await stream.write_in(self._request.stdin[place : place + (1 << 16)])
        stream._resp.connection.transport.write_eof()  # the library has no half-close of its own

    def _take_stderr(self, piece: bytes) -> None:
        if self._head is None:
            self.stderr.feed(piece)
            return
        head, line, rest = (self._head + piece).partition(b"\n")
        if not line:
            self._head = head
            return
        self._head = None
        if head.strip().isdigit():
            self.session_id = int(head)
        else:
            rest = head + line + rest
        self.session.set()
        if rest:
            self.stderr.feed(rest)

    async def _code(self, exec_id: str) -> int:
        for pause in (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0):
            await asyncio.sleep(pause)
            found = await self._engine.ask("GET", f"exec/{exec_id}/json")
            if not found["Running"] and found["ExitCode"] is not None:
                return int(found["ExitCode"])
        raise ExecChannelError("the engine closed a command's output and says that it runs")


def code_of(reading: asyncio.Task[int]) -> int:
    """How a command ended that we killed; what went with its container has no end of its own."""
    if reading.done() and not reading.cancelled() and reading.exception() is None:
        return reading.result()
    return SIGNALLED + signal.SIGKILL
