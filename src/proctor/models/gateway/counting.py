"""``/v1/messages/count_tokens``: how many tokens a request would have. It is free, and asked of the provider itself."""

from __future__ import annotations

import json

from proctor.kernel.canonical import Json
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.preparing import Passing
from proctor.models.gateway.sessions import Session
from proctor.models.gateway.upstreams import Broken, Outgoing, Unreachable, whole
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.fields import glanced
from proctor.models.wires.interfaces import WireName
from proctor.models.wires.usage import told

__all__ = ["counted"]

COUNT_SEC: float = 30.0
LARGEST: int = 64 * 1024
"""Bytes of an answer that holds one number."""
BYTES_A_TOKEN: int = 4
"""Where a provider can't be asked: about what English has."""


async def counted(parts: GatewayParts, session: Session, passing: Passing) -> dict[str, Json]:
    """``{"input_tokens": N}``: by the provider where it speaks the wire, else by bytes. Raises ``RequestInvalid``."""
    model = session.declared.chain(passing.facts.model)[0]
    provider, name = parts.catalogue.of(model)
    estimate: dict[str, Json] = {"input_tokens": -(-len(passing.raw) // BYTES_A_TOKEN)}
    keys = [one for one in provider.keys if session.keys.get(one)]
    if provider.is_mock or not provider.speaks(WireName.ANTHROPIC) or (provider.keys and not keys):
        return estimate
    wire = WIRES[WireName.ANTHROPIC]
    key = session.keys[keys[0]] if keys else ""
    request = Outgoing(
        provider=provider,
        wire=WireName.ANTHROPIC,
        model=name,
        path=f"{wire.path(name, stream=False)}/count_tokens",
        headers={"Content-Type": "application/json", **wire.headers(key)},
        body=json.dumps({**passing.body, "model": name}).encode(),
        stream=False,
        key=key,
        timeout_sec=COUNT_SEC,
    )
    try:
        incoming = await parts.upstream(provider).send(request)
    except (Unreachable, Broken):
        return estimate
    try:
        body = await whole(incoming, LARGEST)
    except Broken:
        return estimate
    finally:
        await incoming.close()
    document = glanced(body) if incoming.status == 200 else None
    found = told(document, "input_tokens") if isinstance(document, dict) else None
    return estimate if found is None else {"input_tokens": found}
