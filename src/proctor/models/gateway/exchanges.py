"""A call from its request to its answer: tries of its model, then of its declared fallbacks."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.models.calls import End, Purpose
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.retries import AGAIN, ELSEWHERE, wait_before
from proctor.models.gateway.sessions import Session
from proctor.models.gateway.tries import Answer, Prepared, Try

__all__ = ["Exchange"]


class Exchange:
    """One call of a session. Raises what ``Try.run`` raises where nothing could be sent at all."""

    def __init__(self, parts: GatewayParts, session: Session, purpose: Purpose) -> None:
        self._parts, self._session, self._purpose = parts, session, purpose
        self._number = 0

    async def run(self, chain: Sequence[Prepared], *, timeout_sec: float | None = None) -> Answer:
        """The first answer of a chain, else the last refusal. ``timeout_sec``: for all of it, ``None``: the first
        provider's own."""
        whole = timeout_sec or chain[0].provider.timeout_sec
        deadline = self._parts.clock.monotonic() + whole
        answer = await self._of_model(chain[0], deadline)
        for prepared in chain[1:]:
            if answer.end not in ELSEWHERE:
                break
            answer = await self._of_model(prepared, deadline)
        return answer

    async def _of_model(self, prepared: Prepared, deadline: float) -> Answer:
        """Tries of one model, with waits between them."""
        first = self._number
        while True:
            answer = await self._try(prepared, deadline)
            if answer.end not in AGAIN:
                return answer
            wait = wait_before(self._number - first + 1, answer.wait_sec)
            if wait is None or self._parts.clock.monotonic() + wait >= deadline:
                return answer
            await self._parts.sleep(wait)

    async def _try(self, prepared: Prepared, deadline: float) -> Answer:
        self._number += 1
        one = Try(self._parts, self._session, prepared, purpose=self._purpose, number=self._number)
        breakers, model = self._parts.breakers, prepared.model
        if (wait := breakers.wait_of(model)) > 0:
            return one.held_back(wait)
        try:
            answer = await one.run(max(1.0, deadline - self._parts.clock.monotonic()))
        except BaseException:
            breakers.unknown(model)
            raise
        if answer.end is End.UNAVAILABLE:
            breakers.failed(model, retry_after=answer.wait_sec)
        else:
            breakers.worked(model)
        return answer
