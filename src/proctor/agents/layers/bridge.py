"""Runs an agent whose HTTP client needs TCP: a port of the loopback leads to the gateway's Unix socket while it runs.

``python bridge.py SOCKET COMMAND...``: ``@PROCTOR_PORT@`` in its words and environment becomes the port. It stands
alone in a sandbox, with nothing of Proctor beside it.
"""

from __future__ import annotations

import asyncio
import os
import sys

_PIECE = 1 << 16


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except OSError:  # one of the two is gone
        writer.close()


async def _run(socket: str, command: list[str]) -> int:
    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(socket)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pass(reader, far_writer), _pass(far_reader, writer))
        for one in (writer, far_writer):
            one.close()

    server = await asyncio.start_server(join, "127.0.0.1", 0)
    port = str(server.sockets[0].getsockname()[1])
    words = [word.replace("@PROCTOR_PORT@", port) for word in command]
    environment = {
        name: value.replace("@PROCTOR_PORT@", port)
        for name, value in os.environ.items()  # noqa: TID251 - it runs in a sandbox, and this is the agent's
    }
    child = await asyncio.create_subprocess_exec(*words, env=environment)
    code = await child.wait()
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    # At once: what an agent has left open must not keep it.
    os._exit(asyncio.run(_run(sys.argv[1], sys.argv[2:])))
