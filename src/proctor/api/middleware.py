"""What holds for every request: an id, limits of size and time and rate, headers, and one line in the log.

Plain ASGI, since a framework's own middleware would put each request into a task of its own. The outermost is first.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import structlog
from starlette.requests import Request

from proctor.api import problems
from proctor.kernel.errors import OwnFault, UsageError

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
)
"""No browser may take what we answer for anything else, frame it, or let another site read it. There is no
``Access-Control-Allow-Origin``: other sites get nothing."""
_TARS = ("/api/v1/suites", "/api/v1/imports")
_PUSHES = "/api/v1/pushes"
"""Routes that take more than a document."""
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
    seconds: float = 60.0
    """As long as a statement may take."""
    per_second: float = 100.0
    burst: int = 200
    """Requests of one key or, without one, of one address."""


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

    def __init__(self, app: _App, *, limits: Limits) -> None:
        self._app, self._limits = app, limits
        self._rate = RateLimiter(limits.per_second, limits.burst)

    async def __call__(self, scope: Any, receive: _Receive, send: _Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, seen = Request(scope), _Seen()
        request.state.request_id = _request_id(request)
        answering = self._answering(send, request.state.request_id, seen)
        try:
            await self._guarded(request, receive, answering, seen)
        except Exception:  # noqa: BLE001  the last line of defence: a problem instead of a broken connection
            _log.exception("request.broke", path=request.url.path, request_id=request.state.request_id)
            if not seen.status:
                await problems.fault(request)(scope, receive, answering)
        finally:
            _tell(request, seen)

    async def _guarded(self, request: Request, receive: _Receive, send: _Send, seen: _Seen) -> None:
        refusal = self._refusal(request)
        if refusal is not None:
            await problems.answer(request, refusal)(request.scope, receive, send)
            return
        limited = _Body(receive, self._most(request), send)
        try:
            async with asyncio.timeout(None if _is_stream(request) else self._limits.seconds) as time_limit:
                await self._app(request.scope, limited.receive, _unhurried(limited.send, time_limit))
            if limited.exceeded and not seen.status:
                await problems.answer(request, TooLarge())(request.scope, receive, send)
        except TooLarge as error:
            await problems.answer(request, error)(request.scope, receive, send)
        except TimeoutError:
            if not seen.status:
                await problems.answer(request, TooLate())(request.scope, receive, send)

    def _refusal(self, request: Request) -> UsageError | None:
        if not self._rate.admits(_caller(request)):
            return RateLimited()
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._most(request):
            return TooLarge()
        return None

    def _most(self, request: Request) -> int:
        if _is_upload(request):
            return self._limits.upload_bytes
        pushes = request.url.path.startswith(f"{_PUSHES}/")
        return self._limits.push_bytes if pushes or request.url.path == _PUSHES else self._limits.body_bytes

    def _answering(self, send: _Send, request_id: str, seen: _Seen) -> _Send:
        async def answering(message: _Message) -> None:
            if message["type"] == "http.response.start":
                seen.status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS, (b"x-request-id", request_id.encode())]
            await send(message)

        return answering


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


def _request_id(request: Request) -> str:
    """A caller's own, where it is a plain word; else a new one."""
    given = request.headers.get("x-request-id", "")
    return given if _OWN_ID.fullmatch(given) else uuid4().hex


def _caller(request: Request) -> bytes:
    """Whose bucket it is: a key's, without keeping the key."""
    key = request.headers.get("authorization")
    address = request.client.host if request.client else ""
    return hashlib.blake2b((key or address).encode(), digest_size=16).digest()


def _is_stream(request: Request) -> bool:
    """Answers that go on for as long as somebody listens, and uploads."""
    return request.headers.get("accept", "") == "text/event-stream" or _is_upload(request)


def _is_upload(request: Request) -> bool:
    """By its route, which reads it piece by piece, as well as by its kind: no other may be sent so much."""
    path, kind = request.url.path, request.headers.get("content-type", "")
    if request.method == "POST":
        return path in _TARS and kind.startswith("application/x-tar")
    return request.method == "PUT" and path.startswith(f"{_PUSHES}/objects/") and kind == "application/octet-stream"


def _tell(request: Request, seen: _Seen) -> None:
    principal = getattr(request.state, "principal", None)
    _log.info(
        "request",
        method=request.method,
        route=getattr(request.scope.get("route"), "path", None),
        status=seen.status,
        ms=round((time.monotonic() - seen.started) * 1000, 1),
        tenant=str(principal.tenant) if principal else None,
        request_id=request.state.request_id,
    )
