"""An HTTP proxy that connects to allowed hosts and to nothing else (RFC 9110: CONNECT, and absolute-form requests).

It listens on the loopback of a sandbox that has no other interface: there is no way around it, also not for names,
since the sandbox asks no resolver. What is allowed is decided by the host that the client names; it is resolved once,
and the connection goes to the very address that was judged.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from http.client import HTTPException, parse_headers
from io import BytesIO
from urllib.parse import urlsplit, urlunsplit

from proctor.sandboxes.egress.rules import Address, Rules

__all__ = ["PROXY", "EgressProxy", "proxy_variables"]

PROXY: tuple[str, int] = ("127.0.0.1", 3128)
"""Where a sandbox finds it: the port that HTTP proxies have by custom."""

_HEAD_BYTES = 1 << 16
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 30.0
_CONNECTIONS = 64
"""Of one sandbox at a time, two sockets each."""
_OF_ALL = max(_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8)
"""Of all sandboxes together: a quarter of the worker's descriptors, which its own work needs too."""
_open: set[asyncio.Task[None]] = set()
_PIECE = 1 << 16
_OF_THE_HOP = frozenset(
    {"connection", "proxy-connection", "proxy-authorization", "keep-alive", "host", "te", "upgrade"}
)


class _Refused(Exception):
    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


def proxy_variables(beside: Iterable[str] = ()) -> Mapping[str, str]:
    """The environment by which programs find the proxy, in both spellings that are in use.

    ``beside``: hosts that are reached without it.
    """
    address = f"http://{PROXY[0]}:{PROXY[1]}"
    lower = {
        "http_proxy": address,
        "https_proxy": address,
        "no_proxy": ",".join(("localhost", "127.0.0.1", "::1", *beside)),
    }
    return {**lower, **{name.upper(): value for name, value in lower.items()}}


class EgressProxy:
    """Serves one sandbox, on the event loop it was opened in."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def open(self, listener: socket.socket) -> None:
        """Serve what connects to ``listener``."""
        self._server = await asyncio.start_server(self._accept, sock=listener, limit=_HEAD_BYTES)

    async def close(self) -> None:
        """Accept nothing more and break off what is under way."""
        if self._server is not None:
            self._server.close()
        for task in list(self._serving):
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        _open.add(task)
        try:
            await self._serve(reader, writer)
        except* (OSError, asyncio.CancelledError):
            pass  # either side went away, or the sandbox ends
        finally:
            self._serving.discard(task)
            _open.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._serving) > _CONNECTIONS or len(_open) > _OF_ALL:
                raise _Refused(503, "too many connections at once")
            method, target, head = await _request(reader)
            if method == "CONNECT":
                host, port, greeting = *_authority(target, None), b""
            else:
                host, port, greeting = _absolute(method, target, head)
            there, away = await self._connect(host, port)
        except _Refused as refused:
            writer.write(_answer(refused))
            await writer.drain()
            return
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                away.write(greeting)
            await _both(_pump(reader, away), _pump(there, writer))
        finally:
            away.close()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self._rules.permits(host):
            raise _Refused(403, f"{host!r} is not among the allowed hosts")
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                return await self._connected(host, port)
        except TimeoutError as error:
            raise _Refused(504, f"{host!r} did not answer") from error
        except UnicodeError as error:
            raise _Refused(400, "a name that no resolver takes") from error
        except OSError as error:
            raise _Refused(502, f"{host!r} can't be reached: {error}") from error

    async def _connected(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = self._rules.reachable(list(dict.fromkeys(str(one[4][0]) for one in found)), _is_own)
        if not addresses:
            raise _Refused(403, f"{host!r} has no public address")
        for address in addresses[:-1]:
            with suppress(OSError):
                return await asyncio.open_connection(address, port)
        return await asyncio.open_connection(addresses[-1], port)


async def _request(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    """Method, target, and the lines below them."""
    try:
        async with asyncio.timeout(_HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
    except TimeoutError as error:
        raise _Refused(408, "the request did not come in time") from error
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise _Refused(400, "no request came, or one that is too long") from error
    line, _, rest = head.partition(b"\r\n")
    words = line.decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[1].isprintable():
        raise _Refused(400, "no HTTP/1 request")
    return words[0], words[1], rest


def _authority(text: str, port: int | None) -> tuple[str, int]:
    """``host:port``, the host without brackets."""
    try:
        parts = urlsplit(f"//{text}")
        found = parts.port or port
    except ValueError as error:
        raise _Refused(400, "no host and port") from error
    if parts.hostname is None or not found or parts.path or parts.username is not None:
        raise _Refused(400, "no host and port")
    return parts.hostname, found


def _absolute(method: str, target: str, head: bytes) -> tuple[str, int, bytes]:
    """Host, port and what is sent there, of ``METHOD http://host/path``: one request, then the connection ends."""
    try:
        parts = urlsplit(target)
    except ValueError as error:
        raise _Refused(400, "a request line that can't be read") from error
    if parts.scheme != "http":
        raise _Refused(400, "a proxy takes CONNECT, or http:// in the request line")
    host, port = _authority(parts.netloc, 80)
    origin = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    try:
        fields = parse_headers(BytesIO(head))
    except HTTPException as error:
        raise _Refused(400, "headers that can't be read") from error
    kept = [(name, value) for name, value in fields.items() if name.lower() not in _OF_THE_HOP]
    lines = [f"{method} {origin} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in kept]
    return host, port, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def _answer(refused: _Refused) -> bytes:
    body = f"Proctor: {refused.words}.\n".encode("ascii", "backslashreplace")
    head = f"HTTP/1.1 {refused.status} Refused\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _is_own(address: Address) -> bool:
    """Whether this machine has the address: then it can be bound."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


async def _both(*pumps: Coroutine[None, None, None]) -> None:
    """Until both directions are done, or one breaks off."""
    async with asyncio.TaskGroup() as group:
        for pump in pumps:
            group.create_task(pump)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(_PIECE):
        sink.write(piece)
        await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()
