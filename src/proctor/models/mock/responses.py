"""A whole HTTP answer of the mock provider, whoever carries it: its server, or the gateway in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from proctor.kernel.canonical import Json
from proctor.models.errors import RequestInvalid
from proctor.models.mock.answers import MockError, plan
from proctor.models.mock.script import Script
from proctor.models.mock.vectors import embedded
from proctor.models.wires.fields import encoded
from proctor.models.wires.interfaces import Fault, Wire, WireName

__all__ = ["Response", "refusal", "respond"]

_JSON: Mapping[str, str] = {"content-type": "application/json"}
_STREAM: Mapping[str, str] = {"content-type": "text/event-stream", "cache-control": "no-cache"}


@dataclass(frozen=True, kw_only=True)
class Response:
    """An answer, or a refusal."""

    status: int = 200
    headers: Mapping[str, str]
    pieces: Iterator[bytes]
    drop_after: int | None = None
    """Bytes of the body after which the connection is dropped."""


async def respond(
    wire: Wire, body: Mapping[str, Json], script: Script, *, model: str = "", stream: bool = False
) -> Response:
    """What a request is answered, after the delay that its script wants; what can't be read is refused.

    ``model`` and ``stream``: what the path says, on a wire that says them there.
    """
    try:
        if wire.name is WireName.OPENAI_EMBEDDINGS:
            return Response(headers=_JSON, pieces=iter([encoded(embedded(body))]))
        asked = wire.read_request(body, model=model, stream=stream)
    except RequestInvalid as error:
        return refusal(wire, MockError(status=400, fault=Fault.INVALID, message=str(error)))
    planned = plan(wire.name, asked, script)
    await asyncio.sleep(planned.delay_sec)
    if isinstance(planned.outcome, MockError):
        return refusal(wire, planned.outcome)
    if asked.stream:
        pieces = wire.stream_reply(planned.outcome, body)
        return Response(headers=_STREAM, pieces=pieces, drop_after=planned.drop_after)
    whole = encoded(wire.write_reply(planned.outcome))
    return Response(headers=_JSON, pieces=iter([whole]), drop_after=planned.drop_after)


def refusal(wire: Wire, error: MockError) -> Response:
    """A refusal in the words of a wire."""
    waits = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}
    body = wire.write_error(error.status, error.fault, error.message, code=error.code)
    return Response(status=error.status, headers={**_JSON, **waits}, pieces=iter([encoded(body)]))
