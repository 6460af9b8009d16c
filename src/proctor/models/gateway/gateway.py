"""The gateway of a process: sessions are opened here, and every call goes through here.

It has a thread and an event loop of its own, so that streams to agents never wait for the supervision of sandboxes,
nor that for them. What is public here may be called from any loop.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from proctor.models.cache import CacheKey
from proctor.models.calls import Call, End, Purpose
from proctor.models.conversation import ChatRequest, Reply
from proctor.models.errors import CallFailed
from proctor.models.gateway.embedding import embedding_request, read_vectors
from proctor.models.gateway.exchanges import Exchange
from proctor.models.gateway.keeping import Keeping
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.preparing import Passing, passed_on, spoken
from proctor.models.gateway.sessions import Session
from proctor.models.gateway.tries import Answer, Prepared
from proctor.models.wires.interfaces import Fault

if TYPE_CHECKING:
    from proctor.models.gateway.endpoints import Endpoints

__all__ = ["Gateway"]

LARGE_AT_ONCE: int = 8
"""Requests of several megabytes that are worked on at once: each takes several times its size."""
_T = TypeVar("_T")
_FAULTS: dict[End, Fault] = {
    End.AUTH: Fault.AUTH,
    End.RATE_LIMIT: Fault.RATE_LIMIT,
    End.MODEL_UNKNOWN: Fault.MODEL_UNKNOWN,
    End.UNSUPPORTED: Fault.UNSUPPORTED,
    End.CONTEXT: Fault.CONTEXT,
    End.REFUSED: Fault.REFUSED,
    End.INVALID: Fault.INVALID,
}


class Gateway:
    """One to a process. ``make`` makes its parts, in its own loop, when it is first used."""

    def __init__(self, make: Callable[[], GatewayParts], close: Callable[[GatewayParts], Coroutine[None, None, None]]):
        self._make, self._close_parts = make, close
        self._parts: GatewayParts | None = None
        self._large: asyncio.Semaphore | None = None
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._endpoints: dict[str, Endpoints] = {}

    # --- from any loop ---------------------------------------------------------------------------------------------

    async def complete(
        self, session: Session, request: ChatRequest, purpose: Purpose = Purpose.AGENT, cached: CacheKey | None = None
    ) -> tuple[Reply, Call]:
        """Ask in our words. ``cached``: what the answer is for, where one that is kept does as well; never for agents.

        Raises ``CallFailed``, ``BudgetExhausted``, ``LimitReached``, ``RequestInvalid``,
        ``ReplyInvalid``."""
        return await asyncio.wrap_future(self._submit(self._complete(session, request, purpose, cached)))

    async def embed(self, session: Session, texts: Sequence[str]) -> tuple[list[list[float]], Call]:
        """Vectors of texts, in their order, by the session's model, and the call that brought them.

        Raises ``CallFailed``, ``BudgetExhausted``, ``LimitReached``, ``PriceUnknown``, ``RequestInvalid``,
        ``ReplyInvalid``."""
        return await asyncio.wrap_future(self._submit(self._embed(session, texts)))

    async def serve(self, session: Session, folder: Path) -> Path:
        """Serve a session's calls at a Unix socket in ``folder``; its path. Until ``leave``."""
        return await asyncio.wrap_future(self._submit(self._serve(session, folder)))

    async def leave(self, session: Session) -> None:
        """End a session: nothing more is answered, and what is under way is broken off. Safe to repeat."""
        session.end()
        if self._loop is not None:
            await asyncio.wrap_future(self._submit(self._leave(session)))

    def close(self) -> None:
        """Write down what there is and stop. Safe to repeat; it may be used again."""
        with self._lock:
            loop, thread = self._loop, self._thread
            if loop is None or thread is None:
                return
            asyncio.run_coroutine_threadsafe(self._closed(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
            self._loop = self._thread = self._parts = self._large = None

    def _submit(self, work: Coroutine[None, None, _T]) -> Future[_T]:
        with self._lock:
            if self._loop is None:
                self._loop = _new_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="models", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    # --- in its own loop -------------------------------------------------------------------------------------------

    @property
    def parts(self) -> GatewayParts:
        """What its calls share; in its own loop alone."""
        if self._parts is None:
            self._parts = self._make()
        return self._parts

    @property
    def large(self) -> asyncio.Semaphore:
        """Turns of requests that are large; in its own loop alone."""
        if self._large is None:
            self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        return self._large

    async def passed(self, session: Session, passing: Passing) -> Answer:
        """A foreign request to its answer. Raises ``RequestInvalid``, ``ModelUndeclared``, ``BudgetExhausted``,
        ``LimitReached``, ``PriceUnknown``."""
        chain = session.declared.chain(passing.facts.model)
        return await self._exchanged(session, passed_on(self.parts.catalogue, passing, chain), Purpose.AGENT)

    async def _exchanged(self, session: Session, chain: list[Prepared], purpose: Purpose) -> Answer:
        return await Exchange(self.parts, session, purpose).run(chain)

    async def _complete(
        self, session: Session, request: ChatRequest, purpose: Purpose, cached: CacheKey | None
    ) -> tuple[Reply, Call]:
        chain = spoken(self.parts.catalogue, self.parts.prices, request, session.declared.chain(request.model))
        kept = Keeping(self.parts, session, chain, cached) if cached and purpose is not Purpose.AGENT else None
        if kept is not None and (found := await kept.found(purpose)) is not None:
            return found
        answer = await self._exchanged(session, chain, purpose)
        call = answer.call
        assert call is not None  # it was not asked to stream
        _refuse_failed(answer)
        wire = next(one.wire for one in chain if one.model == call.model)
        reply = wire.read_reply(json.loads(answer.body))
        if kept is not None:
            await kept.keep(answer.body, call, reply)
        return reply, call

    async def _embed(self, session: Session, texts: Sequence[str]) -> tuple[list[list[float]], Call]:
        model = session.declared.model
        chain = passed_on(self.parts.catalogue, embedding_request(model, texts), session.declared.chain(model))
        answer = await self._exchanged(session, chain, Purpose.EMBEDDING)
        call = answer.call
        assert call is not None  # it was not asked to stream
        _refuse_failed(answer)
        return read_vectors(json.loads(answer.body), len(texts)), call

    async def _serve(self, session: Session, folder: Path) -> Path:
        from proctor.models.gateway.endpoints import Endpoints

        endpoints = Endpoints(self, session)
        path = await endpoints.open(folder)
        self._endpoints[session.token] = endpoints
        return path

    async def _leave(self, session: Session) -> None:
        endpoints = self._endpoints.pop(session.token, None)
        if endpoints is not None:
            await endpoints.close()

    async def _closed(self) -> None:
        for endpoints in [*self._endpoints.values()]:
            await endpoints.close()
        self._endpoints.clear()
        if self._parts is not None:
            await self._close_parts(self._parts)


def _new_loop() -> asyncio.AbstractEventLoop:
    """An event loop in C where it is installed: a third of the processor time of a streamed answer."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _refuse_failed(answer: Answer) -> None:
    """Raises ``CallFailed`` for one that is none."""
    if answer.end is not End.DONE:
        raise CallFailed(
            _words(answer),
            fault=_FAULTS.get(answer.end, Fault.UNAVAILABLE),
            http_status=None if answer.call is None else answer.call.http_status,
            retry_after=answer.wait_sec,
        )


def _words(answer: Answer) -> str:
    """What a refusal says, for a reader: the provider's own words, cut."""
    text = answer.body[:2000].decode("utf-8", "replace")
    return f"{answer.end.value}: {text}" if text else answer.end.value
