"""HTTP/1.1 as uvicorn speaks it over httptools, which bounds no head: here one is bounded in bytes and in time.

A head, and anything else that comes without a body growing by it, may be ``HEAD_BYTES`` long; a head must be whole
``HEAD_SEC`` after its connection or its first byte. What can't be read is told as a problem like every other error.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["HEAD_BYTES", "HEAD_SEC", "BoundedProtocol"]

HEAD_BYTES: int = 64 * 1024
HEAD_SEC: float = 20.0


class _HeadTooLarge(Exception):
    """Raised into the parser, which stops then."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head, self._unread, self._moved = 0, 0, False
        self._status = HTTPStatus.BAD_REQUEST
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Its first head must come."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take some bytes."""
        self._moved = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._unread = 0 if self._moved else self._unread + len(data)
        if self._unread > HEAD_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._head = 0
        self._expect_head()

    def on_url(self, url: bytes) -> None:
        """A piece of its target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        self._moved = True
        self._head_came()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of its body, which has limits of its own."""
        self._moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """It is whole."""
        self._moved = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What the parser stopped at."""
        self._refuse(self._status)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > HEAD_BYTES:
            self._status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise _HeadTooLarge()

    def _expect_head(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(HEAD_SEC, self._refuse, HTTPStatus.REQUEST_TIMEOUT)

    def _head_came(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer so, and hang up."""
        if self.transport.is_closing():
            return
        problem = {"type": "about:blank", "title": status.phrase, "status": status.value, **_WORDS[status]}
        body = json.dumps({**problem, "where": None, "request_id": "", "trace_id": "", "errors": []}).encode()
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/problem+json\r\n"
        ending = f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write((head + ending).encode() + body)
        self.transport.close()


_WORDS: dict[HTTPStatus, dict[str, str]] = {
    HTTPStatus.BAD_REQUEST: {
        "code": "request-invalid",
        "detail": "It is no HTTP request.",
        "remedy": "Send HTTP/1.1.",
    },
    HTTPStatus.REQUEST_TIMEOUT: {
        "code": "timeout",
        "detail": f"Its head was not whole within {HEAD_SEC:g} s.",
        "remedy": "Send a request's head at once.",
    },
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: {
        "code": "too-large",
        "detail": f"Its head is larger than {HEAD_BYTES // 1024} KiB.",
        "remedy": "Send fewer and shorter headers.",
    },
}
