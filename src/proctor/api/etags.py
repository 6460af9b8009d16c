"""Entity tags: a GET's answer that is what the caller has already is 304, without its body."""

from __future__ import annotations

import hashlib
from typing import Any

from starlette.requests import Request

__all__ = ["ETags"]

_LARGEST = 8 << 20
"""A larger answer is streamed and has no tag."""


class ETags:
    """ASGI middleware: tags JSON answers of GET by their bytes."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Tagged(send, Request(scope).headers.get("if-none-match", "")).send)


class _Tagged:
    """One answer, held back until all of it is there."""

    def __init__(self, send: Any, known: str) -> None:
        self._send, self._known = send, known
        self._start: Any = None
        self._body = b""

    async def send(self, message: Any) -> None:
        """Take one message of the app's."""
        if message["type"] == "http.response.start" and _is_taggable(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            await self._take(message)

    async def _take(self, message: Any) -> None:
        self._body += message.get("body", b"")
        more = message.get("more_body", False)
        if more and len(self._body) <= _LARGEST:
            return
        start, self._start = self._start, None
        if more:
            await self._send(start)
            await self._send({**message, "body": self._body})
            return
        own = dict(start["headers"]).get(b"etag")
        tag = own.decode() if own else f'"{hashlib.blake2b(self._body, digest_size=16).hexdigest()}"'
        added = [] if own else [(b"etag", tag.encode())]
        headers = [*start["headers"], *added, (b"cache-control", b"private, no-cache")]
        if tag in [one.strip().removeprefix("W/") for one in self._known.split(",")]:
            kept = [pair for pair in headers if pair[0] not in (b"content-length", b"content-type")]
            await self._send({**start, "status": 304, "headers": kept})
            await self._send({"type": "http.response.body", "body": b""})
            return
        await self._send({**start, "headers": headers})
        await self._send({"type": "http.response.body", "body": self._body})


def _is_taggable(start: Any) -> bool:
    """JSON that does not say itself for how long it may be kept."""
    said = dict(start["headers"])
    kind: bytes = said.get(b"content-type", b"")
    return bool(start["status"] == 200) and kind.startswith(b"application/json") and b"cache-control" not in said
