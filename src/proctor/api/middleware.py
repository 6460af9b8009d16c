"""What holds for every request: an id, limits of size and time and rate, headers, and one line in the log.

Plain ASGI, since a framework's own middleware would put each request into a task of its own. The outermost is first.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import structlog
from starlette.requests import HTTPConnection

from proctor.api import problems
from proctor.api.sessions import cookie_of
from proctor.kernel.errors import OwnFault, UsageError
from proctor.telemetry.context import Parent, bound_here, new_trace_id, note, read_traceparent
from proctor.telemetry.context import scope as telling
from proctor.telemetry.spans import Span, span

__all__ = ["Limits", "RateLimiter", "RequestGuard"]

_log = structlog.get_logger(__name__)
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_App = Callable[[Any, _Receive, _Send], Awaitable[None]]

_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"strict-transport-security", b"max-age=31536000"),
    (b"cache-control", b"no-store"),
)
"""No browser may take what we answer for anything else, frame it, or let another site read it, and nobody on the way
may keep it, where the answer does not say otherwise itself. There is no ``Access-Control-Allow-Origin``: other sites
get nothing."""
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines: their lines would bury the others'."""
_BEGINNINGS = ("http.response.start", "websocket.http.response.start", "websocket.accept")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWN_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request may take."""

    body_bytes: int = 1 << 20
    """A JSON body: a run-set file of ten thousand profiles is smaller."""
    upload_bytes: int = 1 << 30
    """The archive of a suite, or one object of a run set that is pushed."""
    push_bytes: int = 16 << 20
    """A page of its cells."""
    dataset_bytes: int = 10 << 30
    """The file of a dataset; its route takes less where the disk has no room for it."""
    seconds: float = 60.0
    """As long as a statement may take."""
    per_second: float = 100.0
    burst: int = 200
    """Requests of one key or, without one, of one address."""


@dataclass(frozen=True, kw_only=True)
class Exempt:
    """Routes by method and path that a limit does not hold for; nothing that a caller says exempts a request."""

    streams: frozenset[str]
    """Answers that go on for as long as somebody listens."""
    uploads: tuple[str, ...]
    """Bodies that are read piece by piece, larger and for longer. One that ends with ``/`` stands for all below it."""
    pages: tuple[str, ...] = ()
    """JSON bodies that are larger."""
    datasets: frozenset[str] = frozenset()
    """Uploads that are larger than all others."""
    guesses: frozenset[str] = frozenset()
    """Where keys are tried out: counted by address, since a guesser could come as somebody else each time."""

    def is_lasting(self, method: str, path: str) -> bool:
        """Whether an answer may take as long as it needs."""
        route = f"{method} {path}"
        return route in self.streams or route in self.datasets or _is_any(route, self.uploads)

    def is_dataset(self, request: HTTPConnection) -> bool:
        """Whether its body is a dataset's file, read piece by piece."""
        return _route(request) in self.datasets

    def is_upload(self, request: HTTPConnection) -> bool:
        """Whether its body is read piece by piece."""
        return _is_any(_route(request), self.uploads)

    def is_page(self, request: HTTPConnection) -> bool:
        """Whether its body is a larger document."""
        return _is_any(_route(request), self.pages)


class TooLarge(UsageError):
    """The request's body is larger than this route takes."""

    code = "too-large"
    remedy = "Send less at once."


class TooLate(OwnFault):
    """The answer took too long."""

    code = "timeout"
    remedy = "Try it again, or ask for less at once."


class RateLimited(UsageError):
    """Too many requests at once."""

    code = "rate-limited"
    remedy = "Wait as long as Retry-After says."


class RateLimiter:
    """A token bucket for each caller, for this process; the least recently seen are forgotten first."""

    def __init__(self, per_second: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = per_second, burst, clock
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def admits(self, caller: bytes) -> bool:
        """Whether one more is within what the caller may."""
        now = self._clock()
        left, then = self._buckets.pop(caller, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._rate)
        admitted = left >= 1
        self._buckets[caller] = (left - 1 if admitted else left, now)
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)
        return admitted


_CALLERS: int = 100_000
"""Buckets that are kept: some 20 MB."""


@dataclass
class _Seen:
    """What became of one request."""

    status: int = 0
    started: float = field(default_factory=time.monotonic)


class RequestGuard:
    """Stands before the app; see the module."""

    def __init__(
        self, app: _App, *, limits: Limits, exempt: Exempt, answered: Callable[[str, str, int, float], None]
    ) -> None:
        """``answered`` is told method, route, status and seconds of each answer."""
        self._app, self._limits, self._exempt, self._answered = app, limits, exempt, answered
        self._rate = RateLimiter(limits.per_second, limits.burst)

    async def __call__(self, scope: Any, receive: _Receive, send: _Send) -> None:
        """One request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        request_id = request.state.request_id = _request_id(request)
        with telling(_parent(request), request_id=request_id) as here, span("request", serves=True) as told:
            request.state.trace_id = here.trace_id
            await self._answer(request, receive, send, told)

    async def _answer(self, request: HTTPConnection, receive: _Receive, send: _Send, told: Span) -> None:
        seen, scope = _Seen(), request.scope
        answering = self._answering(send, request, seen)
        try:
            await self._guarded(request, receive, answering, seen)
        except Exception:  # noqa: BLE001  the last line of defence: a problem instead of a broken connection
            _log.exception("request.broke")
            if not seen.status:
                await problems.fault(request)(scope, receive, answering)
        finally:
            self._tell(request, seen, told)

    async def _guarded(self, request: HTTPConnection, receive: _Receive, send: _Send, seen: _Seen) -> None:
        refusal = self._refusal(request)
        if refusal is not None:
            await problems.answer(request, refusal)(request.scope, receive, send)
            return
        limited = _Body(receive, self._most(request), send)
        try:
            async with asyncio.timeout(self._seconds(request)) as time_limit:
                await self._app(request.scope, limited.receive, _unhurried(limited.send, time_limit))
            if limited.exceeded and not seen.status:
                await problems.answer(request, TooLarge())(request.scope, receive, send)
        except TooLarge as error:
            await problems.answer(request, error)(request.scope, receive, send)
        except TimeoutError:
            if not seen.status:
                await problems.answer(request, TooLate())(request.scope, receive, send)

    def _refusal(self, request: HTTPConnection) -> UsageError | None:
        if not self._rate.admits(_caller(request, guesses=_route(request) in self._exempt.guesses)):
            return RateLimited()
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._most(request):
            return TooLarge()
        return None

    def _most(self, request: HTTPConnection) -> int:
        if self._exempt.is_dataset(request):
            return self._limits.dataset_bytes
        if self._exempt.is_upload(request):
            return self._limits.upload_bytes
        return self._limits.push_bytes if self._exempt.is_page(request) else self._limits.body_bytes

    def _seconds(self, request: HTTPConnection) -> float | None:
        lasting = request.scope["type"] == "websocket" or self._exempt.is_lasting(*_route(request).split(" ", 1))
        return None if lasting else self._limits.seconds

    def _answering(self, send: _Send, request: HTTPConnection, seen: _Seen) -> _Send:
        ids = ((b"x-request-id", request.state.request_id.encode()), (b"x-trace-id", request.state.trace_id.encode()))

        async def answering(message: _Message) -> None:
            if message["type"] in _BEGINNINGS:
                seen.status = message.get("status", 101)
                own = list(message.get("headers", ()))
                said = {name.lower() for name, _ in own}
                message["headers"] = [*own, *(pair for pair in _HEADERS if pair[0] not in said), *ids]
            await send(message)

        return answering

    def _tell(self, request: HTTPConnection, seen: _Seen, told: Span) -> None:
        """The route by its pattern, and never the path: what callers write there may be a name."""
        route = getattr(request.scope.get("route"), "path", "none")
        seconds = time.monotonic() - seen.started
        method = request.scope.get("method", "WEBSOCKET")
        self._answered(method, route, seen.status, seconds)
        note(**_things(request))
        log = _log.debug if route in _PROBES else _log.info
        log("request", method=method, route=route, status=seen.status, ms=round(seconds * 1000, 1))
        told.name, told.failed = f"{method} {route}", seen.status >= 500
        told.set(method=method, route=route, status=seen.status, **bound_here())


class _Body:
    """A request's body, no longer than it may be, whatever its header said; what an app answers to it then is lost."""

    def __init__(self, receive: _Receive, most: int, send: _Send) -> None:
        self._receive, self._left, self._send = receive, most, send

    @property
    def exceeded(self) -> bool:
        """Whether more came than may."""
        return self._left < 0

    async def receive(self) -> _Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self.exceeded:
            raise TooLarge()
        return message

    async def send(self, message: _Message) -> None:
        if not self.exceeded:
            await self._send(message)


def _unhurried(send: _Send, limit: asyncio.Timeout) -> _Send:
    """A download takes as long as its reader's line needs, once it has begun."""

    async def sending(message: _Message) -> None:
        if message["type"] == "http.response.start":
            kinds = [value for name, value in message["headers"] if name == b"content-type"]
            if kinds == [b"application/gzip"]:
                limit.reschedule(None)
        await send(message)

    return sending


def _request_id(request: HTTPConnection) -> str:
    """A caller's own, where it is a plain word; else a new one."""
    given = request.headers.get("x-request-id", "")
    return given if _OWN_ID.fullmatch(given) else uuid4().hex


def _parent(request: HTTPConnection) -> Parent:
    """The caller's trace, where its header is one; else a new one, of which the request is the beginning."""
    given = read_traceparent(request.headers.get("traceparent"))
    return given or Parent(trace_id=new_trace_id(), span_id="")


def _things(request: HTTPConnection) -> dict[str, str]:
    """What a path names by its whole id."""
    named = request.scope.get("path_params") or {}
    found = {name: str(named[name]) for name in ("run_set", "attempt", "operation") if name in named}
    return {name: value for name, value in found.items() if _ID.fullmatch(value)}


def _caller(request: HTTPConnection, *, guesses: bool) -> bytes:
    """Whose bucket it is: a key's, however it comes, without keeping the key; else an address's."""
    kept = cookie_of(request)
    key = request.headers.get("authorization") if kept is None else f"Bearer {kept}"
    address = request.client.host if request.client else ""
    return hashlib.blake2b((address if guesses or not key else key).encode(), digest_size=16).digest()


def _is_any(route: str, known: Sequence[str]) -> bool:
    return any(route.startswith(one) if one.endswith("/") else route == one for one in known)


def _route(request: HTTPConnection) -> str:
    return f"{request.scope.get('method')} {request.scope['path']}"
