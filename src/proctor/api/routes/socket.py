"""``/ws``: the same events over a WebSocket, whose topics may change while it is open.

One task serves a socket: it sends what comes and does what is asked, in turns, so that a page of the past and an event
of now are never sent twice or in the wrong order. Another only receives, and no faster than what it hands on is done.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, TypeVar

import structlog
from fastapi import APIRouter, WebSocket
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.websockets import WebSocketDisconnect

from proctor.api import problems
from proctor.api.asking import key_of, opens
from proctor.api.live import BEGINNING, HEARTBEAT_SEC, Live, Standing, id_of, live_of, place_of_id
from proctor.api.middleware import RateLimiter
from proctor.api.sessions import OriginRefused, cookie_of, is_own
from proctor.identity.errors import Unauthenticated
from proctor.identity.permissions import Permission
from proctor.identity.principals import Principal
from proctor.kernel.errors import ProctorError, UsageError
from proctor.notifications.readers import Ended, Overflow, Reader
from proctor.notifications.topics import MOST_TOPICS, Frame, TopicInvalid, checked_topics
from proctor.telemetry.context import note

__all__ = ["router"]

_log = structlog.get_logger(__name__)
router = APIRouter()
KEY_SEC: float = 5.0
"""How long a browser may take to send its key: nobody without one keeps a connection."""
MESSAGE_BYTES: int = 16 * 1024
"""A hundred topics are 5 KB."""
WISHES_PER_SEC: float = 5.0
WISHES_AT_ONCE: int = 20


class Close:
    """Codes that a socket is closed with: those of the protocol, and of HTTP after a 4."""

    RESTART = 1012
    OVERFLOW = 1013
    MALFORMED = 4400
    UNAUTHENTICATED = 4401
    FORBIDDEN = 4403
    TOO_LATE = 4408
    TOO_MANY = 4429


class MessageInvalid(UsageError):
    """The message is none that is understood."""

    code = "message-invalid"
    remedy = 'Send {"subscribe": ["run-set:ID"], "after": "ID"} or {"unsubscribe": [...]}; first {"key": "..."}.'


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


M = TypeVar("M", bound=_Message)


class _Key(_Message):
    key: str = Field(min_length=1, max_length=500)


class _Wish(_Message):
    subscribe: list[str] = Field(default=[], max_length=MOST_TOPICS)
    unsubscribe: list[str] = Field(default=[], max_length=MOST_TOPICS)
    after: str | None = Field(default=None, max_length=64)


@router.websocket("/ws")
async def listen(socket: WebSocket, permission: Annotated[Permission, opens(Permission.RUNS_READ)]) -> None:
    """Serve one socket until one side closes it."""
    live = live_of(socket)
    try:
        key = await _admitted(socket)
        principal = await _principal(live, key, permission)
    except _Closed as closed:
        await _end(socket, closed.code, closed.error)
        return
    except WebSocketDisconnect:
        return
    socket.state.principal = principal
    note(tenant=principal.tenant, user=principal.user, key=principal.key)
    await _serve(socket, live, principal, Standing(live, key, permission))


class _Closed(Exception):  # how a socket ends, not what broke
    def __init__(self, code: int, error: ProctorError | None = None) -> None:
        self.code, self.error = code, error


async def _admitted(socket: WebSocket) -> str:
    """The key: of the header, of the browser's session, or of the first message of the socket.

    Raises ``_Closed``, ``WebSocketDisconnect``.
    """
    if not is_own(socket):
        raise _Closed(Close.FORBIDDEN, OriginRefused())
    if "authorization" in socket.headers:
        try:
            return key_of(socket)
        except Unauthenticated as error:
            raise _Closed(Close.UNAUTHENTICATED, error) from error
    await socket.accept()  # a browser tells its page nothing of a socket that was not opened
    kept = cookie_of(socket)
    if kept is not None:
        return kept
    try:
        async with asyncio.timeout(KEY_SEC):
            return _read(_Key, await _text(socket)).key
    except TimeoutError as error:
        raise _Closed(Close.TOO_LATE, Unauthenticated()) from error


async def _principal(live: Live, key: str, permission: Permission) -> Principal:
    """Raises ``_Closed``."""
    try:
        principal = await live.look(key)
        principal.require(permission)
    except Unauthenticated as error:
        raise _Closed(Close.UNAUTHENTICATED, error) from error
    except UsageError as error:
        raise _Closed(Close.FORBIDDEN, error) from error
    except ProctorError as error:
        raise _Closed(Close.RESTART, error) from error
    return principal


async def _serve(socket: WebSocket, live: Live, principal: Principal, standing: Standing) -> None:
    try:
        with live.feed.reader(principal.tenant) as reader:
            if socket.application_state.name == "CONNECTING":
                await socket.accept()
            served = _Socket(socket, live, reader)
            async with _receiving(socket, reader, served.wishes):
                await served.run(standing)
    except _Closed as closed:
        await _end(socket, closed.code, closed.error)
    except Overflow:
        await _end(socket, Close.OVERFLOW, None)
    except Ended:
        await _end(socket, Close.RESTART, None)
    except ProctorError as error:
        await _end(socket, Close.TOO_MANY if isinstance(error, UsageError) else Close.RESTART, error)
    except WebSocketDisconnect:
        return


class _Socket:
    """One socket whose caller is known."""

    def __init__(self, socket: WebSocket, live: Live, reader: Reader) -> None:
        self._socket, self._live, self._reader = socket, live, reader
        self.wishes: asyncio.Queue[str | None] = asyncio.Queue(1)
        self._rate = RateLimiter(WISHES_PER_SEC, WISHES_AT_ONCE)

    async def run(self, standing: Standing) -> None:
        """Raises ``Ended``, ``_Closed``, ``ProctorError``, ``WebSocketDisconnect``."""
        while True:
            await self._send(await self._reader.take(HEARTBEAT_SEC))
            while not self.wishes.empty():
                await self._do(self.wishes.get_nowait())
            if not await standing.holds():
                raise _Closed(Close.UNAUTHENTICATED, Unauthenticated())

    async def _do(self, text: str | None) -> None:
        if not self._rate.admits(b""):
            raise _Closed(Close.TOO_MANY)
        wish = _read(_Wish, text)
        try:
            left, joined = checked_topics(wish.unsubscribe), checked_topics(wish.subscribe)
            if len(joined | self._reader.follows.keys()) > MOST_TOPICS:
                raise TopicInvalid()
            place = None if wish.after is None else await place_of_id(self._live, self._reader.tenant, wish.after)
        except UsageError as error:
            raise _Closed(Close.MALFORMED, error) from error
        self._live.feed.leave(self._reader, left)
        if left:
            await self._say({"unsubscribed": sorted(left)})
        if joined and wish.after is None:
            await self._join(joined)
        elif joined:
            await self._follow(joined, wish.after or BEGINNING, place)

    async def _join(self, topics: frozenset[str]) -> None:
        """Where other topics are followed, something of theirs may still come from before the newest event."""
        first = not self._reader.follows
        newest = await self._live.feed.join(self._reader, topics)
        await self._say({"subscribed": sorted(topics), "after": id_of(newest) if first else None})

    async def _follow(self, topics: frozenset[str], after: str, place: int | None) -> None:
        known = after if place is not None else BEGINNING
        await self._say({"subscribed": sorted(topics), "after": known})
        if place is None:
            await self._say({"gap": {"after": after}})
        async for frames in self._live.feed.follow(self._reader, topics, place or 0):
            await self._send(frames)

    async def _send(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            await self._write(f'{{"event":{frame.text}}}')

    async def _say(self, document: dict[str, Any]) -> None:
        await self._write(json.dumps(document))

    async def _write(self, text: str) -> None:
        """Raises ``WebSocketDisconnect``."""
        try:
            await self._socket.send_text(text)
        except RuntimeError as error:  # how uvicorn tells that it closed one that answered no ping
            raise WebSocketDisconnect() from error


@asynccontextmanager
async def _receiving(socket: WebSocket, reader: Reader, wishes: asyncio.Queue[str | None]) -> AsyncIterator[None]:
    """Hand on what the other side says, one message at a time; the reader ends when it leaves."""

    async def receive() -> None:
        try:
            while True:
                await wishes.put(await _text(socket))
                reader.wake()
        except WebSocketDisconnect:
            reader.end(Ended())

    task = asyncio.create_task(receive())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _text(socket: WebSocket) -> str | None:
    """The next message; ``None`` for one that is not text or is too long. Raises ``WebSocketDisconnect``."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1006))
    text: str | None = message.get("text")
    return text if text is not None and len(text) <= MESSAGE_BYTES else None


def _read(kind: type[M], text: str | None) -> M:
    """Raises ``_Closed``."""
    try:
        return kind.model_validate_json(text or "")
    except ValidationError as error:
        raise _Closed(Close.MALFORMED, MessageInvalid()) from error


async def _end(socket: WebSocket, code: int, error: ProctorError | None) -> None:
    """Say why, and close; a socket that was not opened yet is answered as a request is."""
    with suppress(WebSocketDisconnect, RuntimeError):  # it has gone
        if socket.application_state.name == "CONNECTING" and error is not None:
            await socket.send_denial_response(problems.answer(socket, error))
            return
        if error is not None:
            if code in (Close.UNAUTHENTICATED, Close.FORBIDDEN):
                _log.warning("access.refused", code=error.code)
            told = {"code": error.code, "detail": error.message if isinstance(error, UsageError) else ""}
            await socket.send_text(json.dumps({"error": told}))
        await socket.close(code)
