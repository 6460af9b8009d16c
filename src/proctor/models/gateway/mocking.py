"""The mock provider as an upstream: it answers in this process, on whichever wire it is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping

from proctor.models.errors import RequestInvalid
from proctor.models.gateway.upstreams import Broken, Outgoing
from proctor.models.mock.answers import MockError, plan
from proctor.models.mock.script import Script
from proctor.models.mock.vectors import embedded
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import Fault, WireName

__all__ = ["MockUpstream"]


class MockUpstream:
    """Answers as the mock provider's server does, without one."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def send(self, request: Outgoing) -> MockIncoming:
        """The answer; what it can't read is refused as a provider refuses it."""
        wire, body = WIRES[request.wire], json.loads(request.body)
        try:
            if request.wire is WireName.OPENAI_EMBEDDINGS:
                return MockIncoming(200, iter([json.dumps(embedded(body)).encode()]))
            asked = wire.read_request(body, model=request.model, stream=request.stream)
        except RequestInvalid as error:
            return _refused(request, MockError(status=400, fault=Fault.INVALID, message=str(error)))
        planned = plan(request.wire, asked, self._script)
        await asyncio.sleep(planned.delay_sec)
        if isinstance(planned.outcome, MockError):
            return _refused(request, planned.outcome)
        if request.stream:
            pieces, kind = wire.stream_reply(planned.outcome, body), "text/event-stream"
        else:
            pieces, kind = iter([json.dumps(wire.write_reply(planned.outcome)).encode()]), "application/json"
        return MockIncoming(200, pieces, {"content-type": kind}, drop_after=planned.drop_after)

    async def close(self) -> None:
        """There is nothing to close."""


class MockIncoming:
    """One answer of it."""

    def __init__(
        self,
        status: int,
        pieces: Iterator[bytes],
        headers: Mapping[str, str] | None = None,
        *,
        drop_after: int | None = None,
    ) -> None:
        self.status = status
        self.headers: Mapping[str, str] = headers or {"content-type": "application/json"}
        self._pieces, self._left = pieces, drop_after

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


def _refused(request: Outgoing, error: MockError) -> MockIncoming:
    body = WIRES[request.wire].write_error(error.status, error.fault, error.message, code=error.code)
    headers = {"content-type": "application/json"}
    if error.retry_after is not None:
        headers["retry-after"] = f"{error.retry_after:g}"
    return MockIncoming(error.status, iter([json.dumps(body).encode()]), headers)
