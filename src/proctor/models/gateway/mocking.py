"""The mock provider as an upstream: it answers in this process, on whichever wire it is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

from proctor.models.gateway.upstreams import Broken, Outgoing
from proctor.models.mock.responses import Response, respond
from proctor.models.mock.script import Script
from proctor.models.wires.catalogue import WIRES

__all__ = ["MockUpstream"]


class MockUpstream:
    """Answers as the mock provider's server does, without one."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def send(self, request: Outgoing) -> MockIncoming:
        """The answer; what it can't read is refused as a provider refuses it."""
        wire, body = WIRES[request.wire], json.loads(request.body)
        return MockIncoming(await respond(wire, body, self._script, model=request.model, stream=request.stream))

    async def close(self) -> None:
        """There is nothing to close."""


class MockIncoming:
    """One answer of it."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._pieces, self._left = response.pieces, response.drop_after

    async def pieces(self) -> AsyncIterator[bytes]:
        """Piece by piece, up to where it is to break off."""
        for piece in self._pieces:
            await asyncio.sleep(0)  # others have their turn, as they do where a network is between
            yield piece if self._left is None else piece[: self._left]
            if self._left is not None:
                self._left -= len(piece)
                if self._left <= 0:
                    raise Broken("the script says so")

    async def close(self) -> None:
        """No more of it."""
        self._pieces = iter(())
