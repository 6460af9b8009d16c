"""One try of a call: room for it, the request, its answer, and a line in the ledger whatever became of it.

What a try costs is known only from the answer's own usage. Where a request was sent and none came, or a stream broke
off, it is charged at its worst case, since the provider may bill it: a budget is never overspent, and the line says
``abandoned`` or ``unavailable``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from proctor.kernel.ids import new_id
from proctor.models.calls import Call, End, Purpose
from proctor.models.conversation import TokenUsage
from proctor.models.errors import BudgetExhausted, LimitReached, PriceUnknown
from proctor.models.gateway.hiding import UsageHider
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.sessions import Session
from proctor.models.gateway.streams import MeteredStream
from proctor.models.gateway.upstreams import Broken, Incoming, Outgoing, Unreachable, whole
from proctor.models.ports import Admission, Price, Reservation
from proctor.models.providers.catalogue import Provider
from proctor.models.rates.headers import asked_wait
from proctor.models.wires.fields import glanced
from proctor.models.wires.interfaces import Fault, Reading, RequestFacts, Wire

__all__ = ["Answer", "Prepared", "Try"]

LARGEST_ANSWER: int = 64 * 1024 * 1024
"""Bytes of a whole answer: the largest that models give, with their images, are a tenth of this."""
LARGEST_REFUSAL: int = 1024 * 1024

_UNTOLD = TokenUsage()
_ENDS: Mapping[Fault, End] = {
    Fault.AUTH: End.AUTH,
    Fault.QUOTA: End.AUTH,
    Fault.RATE_LIMIT: End.RATE_LIMIT,
    Fault.UNAVAILABLE: End.UNAVAILABLE,
    Fault.MODEL_UNKNOWN: End.MODEL_UNKNOWN,
    Fault.UNSUPPORTED: End.UNSUPPORTED,
    Fault.CONTEXT: End.CONTEXT,
    Fault.REFUSED: End.REFUSED,
    Fault.INVALID: End.INVALID,
}
"""An account without credit is as good as a key that opens nothing: somebody has to change it."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A request as it goes to one model."""

    provider: Provider
    name: str
    """The model's, as the provider names it."""
    model: str
    """``provider/name``."""
    wire: Wire
    body: bytes
    facts: RequestFacts
    headers: Mapping[str, str]
    hides_usage: bool = False
    """Whether the caller did not ask for what the stream says of its usage."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of a try or of a whole call. ``pieces`` of a stream that began well; else ``body``."""

    end: End
    call: Call | None
    """``None`` while a stream goes on."""
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    pieces: MeteredStream | None = None
    model: str = ""
    """The model of the chain that answers, ``provider/name``; empty: none does."""
    wait_sec: float | None = None
    """What the provider said to wait."""


class Try:
    """One request to one model."""

    def __init__(
        self, parts: GatewayParts, session: Session, prepared: Prepared, *, purpose: Purpose, number: int
    ) -> None:
        self._parts, self._session, self._prepared = parts, session, prepared
        self._purpose, self._number = purpose, number
        self._id: UUID = new_id()
        self._price: Price | None = parts.prices.of(prepared.model)
        self._worst = self._price.worst(prepared.facts) if self._price is not None else None
        self._started_at: datetime = parts.clock.now()
        self._started = parts.clock.monotonic()
        self._first_byte: float | None = None
        self._reservation: Reservation | None = None
        self._admission: Admission | None = None
        self._is_admitted = True
        """Whether its admission still has to be ended."""
        self._settled = False

    async def run(self, timeout_sec: float) -> Answer:
        """Make it. Raises ``BudgetExhausted``, ``LimitReached``, ``PriceUnknown`` before anything is sent."""
        await self._reserve(timeout_sec)
        try:
            return await self._admitted(timeout_sec)
        except BaseException:  # whoever asked went away; what may have been sent is charged
            sent = self._admission is not None
            self._settle(self._call(End.ABANDONED, cost=self._worst if sent else 0))
            raise

    def held_back(self, wait_sec: float) -> Answer:
        """It is not made: a breaker is open. No line of the ledger, since nothing was asked."""
        call = self._call(End.UNAVAILABLE)
        self._session.add(call, retry_after=wait_sec)
        told = self._prepared.wire.write_error(503, Fault.UNAVAILABLE, "The model fails; it is asked again later.")
        return Answer(
            end=End.UNAVAILABLE,
            call=call,
            status=503,
            headers={"retry-after": f"{wait_sec:.0f}"},
            body=json.dumps(told).encode(),
            wait_sec=wait_sec,
        )

    async def _reserve(self, timeout_sec: float) -> None:
        """Room for the worst case, in the attempt's own bounds and in every budget."""
        wait = min(timeout_sec, self._parts.patience_sec)
        try:
            self._session.hold(self._worst)
        except LimitReached:
            self._session.add(self._call(End.LIMIT))
            raise
        try:
            self._reservation = await self._parts.spending.reserve(
                self._session.payer, self._worst, wait_sec=wait, model=self._prepared.model
            )
        except BaseException as error:
            self._session.let_go(self._worst)
            if isinstance(error, BudgetExhausted | PriceUnknown):
                whose = error.scope if isinstance(error, BudgetExhausted) else error.code
                self._session.add(self._call(End.BUDGET, code=whose))
            raise

    async def _admitted(self, timeout_sec: float) -> Answer:
        provider = self._prepared.provider
        own = [name for name in provider.keys if self._session.keys.get(name)]
        if provider.keys and not own:
            return self._refused(End.AUTH, 401, f"None of {', '.join(provider.keys)} is set.")
        try:
            self._admission = await self._parts.rates.admit(
                str(self._session.payer.tenant),
                provider.name,
                own or [""],
                provider.limit,
                self._tokens(),
                wait_sec=min(timeout_sec, self._parts.patience_sec),
            )
        except TimeoutError:
            return self._refused(End.RATE_LIMIT, 429, "The provider's rate has no room.")
        return await self._sent_to(self._outgoing(timeout_sec))

    def _tokens(self) -> int:
        """About what a provider counts against a rate: a token for four bytes, and the longest answer."""
        facts = self._prepared.facts
        return facts.text_bytes // 4 + (facts.max_output_tokens or 0)

    def _outgoing(self, timeout_sec: float) -> Outgoing:
        one = self._prepared
        assert self._admission is not None
        key = self._session.keys.get(self._admission.key, "")
        return Outgoing(
            provider=one.provider,
            wire=one.wire.name,
            model=one.name,
            path=one.wire.path(one.name, stream=one.facts.stream),
            headers={"Content-Type": "application/json", **one.wire.headers(key), **one.headers},
            body=one.body,
            stream=one.facts.stream,
            key=key,
            timeout_sec=timeout_sec,
        )

    async def _sent_to(self, request: Outgoing) -> Answer:
        try:
            incoming = await self._parts.upstream(request.provider).send(request)
        except Unreachable as error:
            return self._refused(End.UNAVAILABLE, 502, f"The provider can't be reached: {error}.")
        except Broken as error:
            return self._refused(End.UNAVAILABLE, 502, f"The provider did not answer: {error}.", cost=self._worst)
        try:
            return await self._answered(incoming)
        except Broken as error:
            await incoming.close()
            return self._refused(End.UNAVAILABLE, 502, f"The answer broke off: {error}.", cost=self._worst)
        except BaseException:
            await incoming.close()
            raise

    async def _answered(self, incoming: Incoming) -> Answer:
        assert self._admission is not None
        self._parts.rates.learn(self._admission, incoming.headers)
        if incoming.status != 200:
            return await self._refusal_of(incoming)
        if self._prepared.facts.stream:
            return await self._streaming(incoming)
        body = await whole(incoming, LARGEST_ANSWER)
        self._first_byte = self._parts.clock.monotonic()
        return self._whole_answer(incoming, body)

    # --- refusals --------------------------------------------------------------------------------------------------

    async def _refusal_of(self, incoming: Incoming) -> Answer:
        """What the provider said instead of an answer; it bills none of it."""
        body = await whole(incoming, LARGEST_REFUSAL)
        error = self._prepared.wire.read_error(incoming.status, body)
        wait = asked_wait(incoming.headers, self._parts.clock.now())
        end = _ENDS[error.fault]
        if end is End.RATE_LIMIT and self._admission is not None:
            self._parts.rates.throttled(self._admission, retry_after=wait)
            self._is_admitted = False
        call = self._settle(self._call(end, incoming.status, code=error.code), wait=wait)
        return Answer(end=end, call=call, status=incoming.status, headers=incoming.headers, body=body, wait_sec=wait)

    def _refused(self, end: End, status: int, message: str, *, cost: int | None = 0) -> Answer:
        """What no provider said. ``status``: as our caller is told; the ledger keeps that there was no answer."""
        call = self._settle(self._call(end, cost=cost))
        fault = Fault(end.value)
        body = self._prepared.wire.write_error(status, fault, message)
        return Answer(end=end, call=call, status=status, headers={}, body=json.dumps(body).encode())

    # --- answers ---------------------------------------------------------------------------------------------------

    def _whole_answer(self, incoming: Incoming, body: bytes) -> Answer:
        document = glanced(body)
        if not isinstance(document, dict):
            return self._refused(End.UNAVAILABLE, 502, "The provider's answer is no JSON object.", cost=self._worst)
        reading = self._prepared.wire.read_whole(document)
        call = self._ended(reading, End.DONE)
        if call.end is not End.DONE:
            another = call.end is End.UNDECLARED
            words = f"{reading.model!r} answered instead." if another else "The provider's answer has no end."
            told = self._prepared.wire.write_error(502, Fault.UNAVAILABLE, words)
            return Answer(end=call.end, call=call, status=502, headers={}, body=json.dumps(told).encode())
        return Answer(
            end=End.DONE, call=call, status=200, headers=incoming.headers, body=body, model=self._prepared.model
        )

    async def _streaming(self, incoming: Incoming) -> Answer:
        """Wait for the first piece: until then another try costs the caller nothing."""
        pieces = incoming.pieces()
        first = await anext(pieces, None)
        if first is None:
            raise Broken("it is empty")
        self._first_byte = self._parts.clock.monotonic()
        return Answer(
            end=End.DONE,
            call=None,
            status=200,
            headers=incoming.headers,
            model=self._prepared.model,
            pieces=MeteredStream(
                first,
                incoming,
                pieces,
                meter=self._prepared.wire.meter(),
                hider=UsageHider() if self._prepared.hides_usage else None,
                ended=self._ended,
            ),
        )

    def _ended(self, reading: Reading, came: End) -> Call:
        """The line of an answer that began well. ``came``: ``DONE`` where all of it did, else what broke it off."""
        one, price = self._prepared, self._price
        finished = came is End.DONE and (reading.finish is not None or reading.usage.total is not None)
        cost = price.cost(reading.usage) if price is not None else None
        if not finished:
            cost = self._worst if cost is None or self._worst is None else max(cost, self._worst)
        if reading.error is not None:
            end = _ENDS[reading.error.fault]
        elif not finished:
            end = End.UNAVAILABLE if came is End.DONE else came
        else:
            end = End.DONE if one.provider.is_same(one.name, reading.model) else End.UNDECLARED
        answered = reading.model or one.name
        return self._settle(self._call(end, 200, usage=reading.usage, cost=cost, answered=answered))

    # --- the ledger ------------------------------------------------------------------------------------------------

    def _settle(self, call: Call, *, wait: float | None = None) -> Call:
        """Write the try's line, once, and give its room back."""
        if self._settled or self._reservation is None:
            return call
        self._settled = True
        self._session.let_go(self._worst)
        self._session.add(call, retry_after=wait)
        self._parts.spending.settle(self._reservation, call)
        if self._admission is not None and self._is_admitted:
            self._parts.rates.done(self._admission, tokens=call.usage.total)
        return call

    def _call(
        self,
        end: End,
        http_status: int | None = None,
        *,
        usage: TokenUsage = _UNTOLD,
        cost: int | None = 0,
        code: str = "",
        answered: str = "",
    ) -> Call:
        one, price, worst = self._prepared, self._price, self._worst
        return Call(
            id=self._id,
            payer=self._session.payer,
            purpose=self._purpose,
            wire=one.wire.name,
            provider=one.provider.name,
            model=one.model,
            answered=answered,
            key=self._admission.key if self._admission is not None else "",
            end=end,
            http_status=http_status,
            code=code,
            tries=self._number,
            started_at=self._started_at,
            seconds=self._parts.clock.monotonic() - self._started,
            first_byte_sec=None if self._first_byte is None else self._first_byte - self._started,
            usage=usage,
            cost_nano=cost,
            reserved_nano=worst,
            price_version=price.version if price is not None else "",
            overrun=cost is not None and worst is not None and cost > worst,
        )
