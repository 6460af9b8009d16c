"""``python -m proctor.models.mock``: the mock provider as a server; prints its address and serves until it is ended."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from proctor.kernel.errors import ProctorError
from proctor.models.mock.script import NO_SCRIPT, Script, read_script
from proctor.models.mock.server import MockServer


def main() -> int:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m proctor.models.mock", description="A provider that is scripted.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: one that is free")
    parser.add_argument("--script", type=Path, help="a TOML file of rules")
    parser.add_argument("--key", help="which callers must have; for tests, as everyone on the machine can read it")
    options = parser.parse_args()
    try:
        script = read_script(options.script) if options.script else NO_SCRIPT
    except ProctorError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    asyncio.run(_serve(script, options.key, options.host, options.port))
    return 0


async def _serve(script: Script, key: str | None, host: str, port: int) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with MockServer(script, key=key, host=host, port=port) as server:
        print(server.address, flush=True)
        await ended.wait()


if __name__ == "__main__":
    sys.exit(main())
