"""The real NATS server, from its wheel, with JetStream on a folder of its own."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import nats
from nats.aio.client import Client
from nats.js.api import StreamConfig

from tests.acceptance.conftest import free_port

T = TypeVar("T")


class NatsServer:
    """One on this machine, which may be stopped and started again with what it keeps."""

    def __init__(self, folder: Path, *arguments: str, config: str = "") -> None:
        self.port, self._folder, self._arguments = free_port(), folder, list(arguments)
        if config:
            (folder / "nats.conf").write_text(config)
            self._arguments += ["-c", str(folder / "nats.conf")]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        program = shutil.which("nats-server", path=str(Path(sys.executable).parent)) or "nats-server"
        command = [program, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self._folder / "js")]
        self._process = subprocess.Popen(
            [*command, *self._arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while True:  # it listens within moments; the test's own timeout ends a wait for one that never does
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self._process.poll() is None, "it ended"

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def ask(self, work: Callable[[Client], Awaitable[T]], **login: Any) -> T:
        """Do something as a client of it."""

        async def asked() -> T:
            client = await nats.connect(self.url, **login)
            try:
                return await work(client)
            finally:
                await client.close()

        return asyncio.run(asked())

    def make_stream(self, name: str = "answers", **login: Any) -> None:
        async def work(client: Client) -> None:
            await client.jetstream().add_stream(StreamConfig(name=name, subjects=[f"{name}.>"]))

        self.ask(work, **login)

    def publish(self, messages: Sequence[bytes], name: str = "answers", **login: Any) -> None:
        async def work(client: Client) -> None:
            stream = client.jetstream()
            for message in messages:
                await stream.publish(f"{name}.one", message)

        self.ask(work, **login)

    def unsettled(self, consumer: str = "proctor", name: str = "answers") -> tuple[int, int]:
        """Messages that were delivered and not settled, and those that wait."""

        async def work(client: Client) -> tuple[int, int]:
            found = await client.jetstream().consumer_info(name, consumer)
            return int(found.num_ack_pending or 0), int(found.num_pending or 0)

        return self.ask(work)
