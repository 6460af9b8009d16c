"""Answers whose body is held whole: a GET's answer that is what the caller has already is 304, without its body, and a
large one is compressed for whoever takes that.

The tag is of the JSON, however it is sent; that of a compressed answer is weak, since its bytes are others (RFC 9110).
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from typing import Any

from starlette.requests import Request

from proctor.api.encodings import takes

__all__ = ["ETags"]

_LARGEST = 8 << 20
"""A larger answer is streamed and has no tag."""
SMALLEST = 16 << 10
"""Smaller answers fit a handful of packets, which compressing them would not make fewer by much."""
_ASIDE = 128 << 10
"""From here on compressing takes milliseconds, in which other requests should be answered."""
_LEVEL = 1
"""A third of the time of level 6, for a tenth more bytes."""
_GZIP = 31
"""What zlib calls a window of 32 KiB with gzip's head and end."""


class ETags:
    """ASGI middleware: tags JSON answers of GET by their bytes, and compresses large ones."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Held(send, Request(scope)).send)


class _Held:
    """One answer, held back until all of it is there."""

    def __init__(self, send: Any, request: Request) -> None:
        self._send = send
        self._known = request.headers.get("if-none-match", "")
        self._takes_gzip = takes(request, "gzip")
        self._start: Any = None
        self._pieces: list[bytes] = []
        self._size = 0

    async def send(self, message: Any) -> None:
        """Take one message of the app's."""
        if message["type"] == "http.response.start" and _is_taggable(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            await self._take(message)

    async def _take(self, message: Any) -> None:
        piece = message.get("body", b"")
        self._pieces.append(piece)
        self._size += len(piece)
        more = message.get("more_body", False)
        if more and self._size <= _LARGEST:
            return
        start, self._start = self._start, None
        body = b"".join(self._pieces)
        if more:
            await self._send(start)
            await self._send({**message, "body": body})
        else:
            await self._answer(start, body)

    async def _answer(self, start: Any, body: bytes) -> None:
        large = len(body) >= SMALLEST
        tag = _tag(start, body)
        headers = [pair for pair in start["headers"] if pair[0] not in (b"etag", b"content-length")]
        headers += [(b"vary", b"accept-encoding")] if large else []
        headers += [(b"cache-control", b"private, no-cache")]
        squeezed = large and self._takes_gzip
        headers += [(b"etag", (f"W/{tag}" if squeezed else tag).encode())]
        if tag in [one.strip().removeprefix("W/") for one in self._known.split(",")]:
            kept = [pair for pair in headers if pair[0] != b"content-type"]
            await self._send({**start, "status": 304, "headers": kept})
            await self._send({"type": "http.response.body", "body": b""})
            return
        if squeezed:
            body = await _compressed(body)
            headers += [(b"content-encoding", b"gzip")]
        headers += [(b"content-length", str(len(body)).encode())]
        await self._send({**start, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


def _tag(start: Any, body: bytes) -> str:
    """The answer's own, without its weakness, else one of its bytes."""
    own: bytes | None = dict(start["headers"]).get(b"etag")
    if own is not None:
        return own.decode().removeprefix("W/")
    return f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'


async def _compressed(body: bytes) -> bytes:
    return _gzip(body) if len(body) < _ASIDE else await asyncio.to_thread(_gzip, body)


def _gzip(body: bytes) -> bytes:
    """Without a time in its head: the same bytes for the same body."""
    return zlib.compress(body, _LEVEL, wbits=_GZIP)


def _is_taggable(start: Any) -> bool:
    """JSON that does not say itself for how long it may be kept."""
    said = dict(start["headers"])
    kind: bytes = said.get(b"content-type", b"")
    return bool(start["status"] == 200) and kind.startswith(b"application/json") and b"cache-control" not in said
