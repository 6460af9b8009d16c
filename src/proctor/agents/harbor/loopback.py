"""A port of this machine's loopback that leads to the gateway's socket, for an agent that runs in this process."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

__all__ = ["Loopback"]

_PIECE: int = 1 << 16


class Loopback:
    """Open until it is closed; every connection is one to the socket."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._server: asyncio.Server | None = None

    async def open(self) -> int:
        """Listen; the port."""
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_unix_connection(self._socket)
            await asyncio.gather(_pass(reader, far_writer), _pass(far_reader, writer))
            far_writer.close()
        writer.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except OSError:  # one of the two is gone
        writer.close()
