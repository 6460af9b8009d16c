"""A question that may have been answered before: the kept answer, with a line of the ledger that says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from proctor.kernel.ids import new_id
from proctor.models.cache import CacheKey, Kept
from proctor.models.calls import Call, End, Purpose
from proctor.models.conversation import Finish, Reply, TokenUsage
from proctor.models.errors import ReplyInvalid
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.sessions import Session
from proctor.models.gateway.tries import Prepared

__all__ = ["Keeping"]

_WHOLE = frozenset({Finish.STOP, Finish.TOOL_CALLS})
"""An answer that was cut off or refused may be another the next time."""


class Keeping:
    """One question and its key."""

    def __init__(self, parts: GatewayParts, session: Session, chain: Sequence[Prepared], key: CacheKey) -> None:
        self._parts, self._session, self._chain, self._key = parts, session, chain, key
        self._request = {"model": chain[0].model, "body": json.loads(chain[0].body)}

    async def found(self, purpose: Purpose) -> tuple[Reply, Call] | None:
        """What is kept, if its model may answer now too."""
        cache, tenant = self._parts.cache, self._session.payer.tenant
        if cache is None:
            return None
        kept = await asyncio.to_thread(cache.get, tenant, self._key, self._request)
        one = next((one for one in self._chain if kept is not None and one.model == kept.model), None)
        if kept is None or one is None:
            return None
        try:
            reply = one.wire.read_reply(kept.body)
        except ReplyInvalid:
            return None
        call = self._line(one, kept, purpose)
        reservation = await self._parts.spending.reserve(self._session.payer, 0, wait_sec=0, model=one.model)
        self._parts.spending.settle(reservation, call)
        self._session.add(call)
        return reply, call

    async def keep(self, body: bytes, call: Call, reply: Reply) -> None:
        """Keep a whole answer."""
        cache = self._parts.cache
        if cache is not None and call.end is End.DONE and reply.finish in _WHOLE:
            kept = Kept(body=json.loads(body), model=call.model, answered=call.answered)
            await asyncio.to_thread(cache.put, self._session.payer.tenant, self._key, self._request, kept)

    def _line(self, one: Prepared, kept: Kept, purpose: Purpose) -> Call:
        return Call(
            id=new_id(),
            payer=self._session.payer,
            purpose=purpose,
            wire=one.wire.name,
            provider=one.provider.name,
            model=one.model,
            answered=kept.answered,
            key="",
            end=End.CACHED,
            http_status=None,
            code="",
            tries=0,
            started_at=self._parts.clock.now(),
            seconds=0.0,
            first_byte_sec=None,
            usage=TokenUsage.none(),
            cost_nano=0,
            reserved_nano=0,
            price_version="",
        )
