"""A proxy that drops what real ones drop: idle connections, and now and then a busy one.

It passes bytes on and ends no TLS: the client's certificate check still sees the server's own certificate. A random
drop is decided by a seed for each connection, by its number, so that a run can be repeated.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

__all__ = ["Proxy", "flaky_proxy"]

CHUNK: int = 1 << 16


@dataclass
class Proxy:
    """A running proxy, and what it did so far."""

    port: int = 0
    accepted: int = 0
    dropped_idle: int = 0
    dropped_at_random: int = 0
    open: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def dropped(self) -> int:
        return self.dropped_idle + self.dropped_at_random


class _Dropped(Exception):
    """The proxy ends this connection without a word to either side."""


@contextmanager
def flaky_proxy(
    port: int, seed: int, idle_sec: float, drop_probability: float, *, spare_bytes: int = 8192
) -> Iterator[Proxy]:
    """Listen on a free port of this machine and pass on to ``port``.

    A connection with no byte in either direction for ``idle_sec`` is dropped. Each chunk from the client, after its
    first ``spare_bytes`` (handshake and sign-in), drops the connection with ``drop_probability``.
    """
    proxy = Proxy()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="flaky-proxy")
    thread.start()

    def run(work: Coroutine[object, object, object]) -> object:
        return asyncio.run_coroutine_threadsafe(work, loop).result(10)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        proxy.accepted += 1
        chance = random.Random(f"{seed}/{proxy.accepted}")
        task = asyncio.current_task()
        assert task is not None
        proxy.open.add(task)
        try:
            await _Relay(proxy, chance, idle_sec, drop_probability, spare_bytes).run(port, reader, writer)
        finally:
            proxy.open.discard(task)

    async def start() -> asyncio.Server:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        proxy.port = server.sockets[0].getsockname()[1]
        return server

    async def stop(server: asyncio.Server) -> None:
        server.close()
        for task in tuple(proxy.open):
            task.cancel()
        await asyncio.gather(*proxy.open, return_exceptions=True)
        await server.wait_closed()

    try:
        server = run(start())
        assert isinstance(server, asyncio.Server)
        try:
            yield proxy
        finally:
            run(stop(server))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class _Relay:
    """One connection: two pumps and one clock."""

    def __init__(self, proxy: Proxy, chance: random.Random, idle: float, probability: float, spare: int) -> None:
        self.proxy, self.chance = proxy, chance
        self.idle, self.probability, self.spare = idle, probability, spare
        self.moved_at = asyncio.get_running_loop().time()

    async def run(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.transport.abort()
            return
        tasks = [
            asyncio.create_task(self._pump(reader, up_writer, from_client=True)),
            asyncio.create_task(self._pump(up_reader, writer, from_client=False)),
            asyncio.create_task(self._watch_idle()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for end in (writer, up_writer):
                end.transport.abort()
                with suppress(OSError):
                    await end.wait_closed()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, from_client: bool) -> None:
        while chunk := await source.read(CHUNK):
            self.moved_at = asyncio.get_running_loop().time()
            if from_client:
                self._perhaps_drop(len(chunk))
            sink.write(chunk)
            await sink.drain()

    def _perhaps_drop(self, size: int) -> None:
        self.spare -= size
        if self.spare < 0 and self.chance.random() < self.probability:
            self.proxy.dropped_at_random += 1
            raise _Dropped

    async def _watch_idle(self) -> None:
        clock = asyncio.get_running_loop().time
        while (left := self.moved_at + self.idle - clock()) > 0:
            await asyncio.sleep(left)
        self.proxy.dropped_idle += 1
