"""Upstreams: how a request gets to a provider and its answer back, a piece at a time.

``HttpUpstream`` is aiohttp's client; the mock provider answers in the process itself, and litellm's worker is an HTTP
server of ours. A request that never left costs nothing; one that left and whose answer never came may have been
billed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from proctor.models.errors import ModelsExtraMissing
from proctor.models.providers.catalogue import Provider
from proctor.models.wires.interfaces import WireName

if TYPE_CHECKING:
    import aiohttp

__all__ = [
    "Broken",
    "HttpIncoming",
    "HttpUpstream",
    "Incoming",
    "Outgoing",
    "Unreachable",
    "Upstream",
    "address_of",
    "whole",
]

CONNECT_SEC: float = 15.0
"""To a provider; those in use answer a SYN within a second."""
LARGE_BODY: int = 1024 * 1024
"""Bytes; a larger one is written in pieces, so that others have their turn meanwhile."""
KEEP_SEC: float = 15.0
"""An idle connection is kept for less than providers keep it: one that they close under a request would be charged."""
GATHER_SEC: float = 0.005
"""What a stream brings so soon after the piece before it is passed on together: one write for several events of a
model that is fast, while the first piece, those of a slow one and the end never wait."""

_BELOW_VERSION = frozenset({WireName.OPENAI_CHAT, WireName.OPENAI_RESPONSES, WireName.OPENAI_EMBEDDINGS})


class Unreachable(Exception):
    """No connection came about: nothing was sent."""


class Broken(Exception):
    """The request was sent, and no whole answer came."""


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """One request. ``path`` begins with a slash; ``key`` is the value of the secret, empty where none is needed."""

    provider: Provider
    wire: WireName
    model: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    stream: bool
    key: str
    timeout_sec: float


class Incoming(Protocol):
    """One answer."""

    @property
    def status(self) -> int:
        """Its HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers."""
        ...

    def pieces(self) -> AsyncIterator[bytes]:
        """Its body as it comes. Raises ``Broken``."""
        ...

    async def close(self) -> None:
        """No more of it is wanted. Safe to repeat."""
        ...


class Upstream(Protocol):
    """One way to providers."""

    async def send(self, request: Outgoing) -> Incoming:
        """Send a request and wait for the head of the answer. Raises ``Unreachable`` and ``Broken``."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


@lru_cache(maxsize=1024)
def address_of(base: str, wire: WireName, path: str) -> str:
    """Where a request goes. OpenAI's paths begin below the version (``/chat/completions``), the others' with it.

    A base address may be a host alone, or end in the version as in ``OPENAI_BASE_URL``; either does for every wire.
    """
    has_path = bool(urlsplit(base).path.strip("/"))
    if wire in _BELOW_VERSION:
        return f"{base}{path}" if has_path else f"{base}/v1{path}"
    return base.removesuffix("/v1") + path


async def whole(incoming: Incoming, most: int) -> bytes:
    """A body. Raises ``Broken`` for one that is too long to be an answer."""
    body = bytearray()
    async for piece in incoming.pieces():
        body += piece
        if len(body) > most:
            raise Broken(f"more than {most:,} bytes")
    return bytes(body)


class HttpUpstream:
    """Over HTTP, with connections that are kept. Made and used in one loop."""

    def __init__(self) -> None:
        """Raises ``ModelsExtraMissing``."""
        try:
            import aiohttp
        except ModuleNotFoundError as error:
            raise ModelsExtraMissing() from error
        self._aiohttp = aiohttp
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Outgoing) -> Incoming:
        """By POST. Redirects are not followed: a key goes nowhere but to its provider."""
        aiohttp, session = self._aiohttp, self._opened()
        timeout = aiohttp.ClientTimeout(total=request.timeout_sec, sock_connect=CONNECT_SEC)
        try:
            response = await session.post(
                address_of(request.provider.base_url, request.wire, request.path),
                data=aiohttp.BytesPayload(request.body) if len(request.body) < LARGE_BODY else BytesIO(request.body),
                headers=request.headers,
                timeout=timeout,
                allow_redirects=False,
            )
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            raise Unreachable(type(error).__name__) from error
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Broken(type(error).__name__) from error
        return HttpIncoming(response, aiohttp.ClientError, gather_sec=GATHER_SEC if request.stream else 0.0)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            aiohttp = self._aiohttp
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_SEC)
            self._session = aiohttp.ClientSession(
                connector=connector,
                skip_auto_headers=("User-Agent", "Accept-Encoding"),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        return self._session

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None


class HttpIncoming:
    """An answer over HTTP. ``closed``: what is to be done besides once it is read or given up."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        error: type[Exception],
        closed: Callable[[], Awaitable[object]] | None = None,
        *,
        gather_sec: float = 0.0,
    ) -> None:
        """``error``: aiohttp's own, which is imported where it is needed alone. ``gather_sec``: the least time between
        two pieces."""
        self._response, self._error, self._closed = response, error, closed
        self._gather_sec = gather_sec

    @property
    def status(self) -> int:
        """As it came."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """As they came."""
        return self._response.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        """See ``Incoming``."""
        content, loop, last = self._response.content, asyncio.get_running_loop(), -math.inf
        whole = loop.create_future()
        content.on_eof(lambda: whole.set_result(None))
        try:
            while piece := await content.readany():
                wait = last + self._gather_sec - loop.time()
                if wait > 0 and not whole.done():
                    await asyncio.wait((whole,), timeout=wait)
                    if content.exception() is None:  # else it is raised once this piece is passed on
                        piece += content.read_nowait()
                last = loop.time()
                yield piece
        except (self._error, TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            raise Broken(type(error).__name__) from error
        finally:
            self._response.release()
            await self._end()

    async def close(self) -> None:
        """See ``Incoming``."""
        self._response.close()
        await self._end()

    async def _end(self) -> None:
        closed, self._closed = self._closed, None
        if closed is not None:
            await closed()
