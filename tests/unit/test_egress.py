"""The way out to allowed hosts: what the rules permit, and what the proxy answers to hostile clients."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address

import pytest

from proctor.sandboxes.egress import EgressProxy, Rules, proxy
from proctor.sandboxes.egress.proxy import proxy_variables

_TOO_LONG = (
    b"HTTP/1.1 400 Refused\r\nContent-Length: 48\r\nConnection: close\r\n\r\n"
    b"Proctor: no request came, or one that is too long.\n"
)
LISTED = ("pypi.org", "*.example.com", "203.0.113.0/24", "2001:db8::1")


@pytest.mark.parametrize(
    ("host", "permitted"),
    [
        ("pypi.org", True),
        ("PyPI.org.", True),
        ("a.pypi.org", False),
        ("pypi.org.evil.net", False),
        ("evilpypi.org", False),
        ("a.example.com", True),
        ("a.b.example.com", True),
        ("example.com", False),
        (".example.com", False),
        ("badexample.com", False),
        ("203.0.113.7", True),
        ("::ffff:203.0.113.7", True),
        ("203.0.114.7", False),
        ("0xcb007107", False),
        ("3405803783", False),
        ("2001:db8:0::1", True),
        ("2001:db8::2", False),
        ("pypi.org\x00.evil.net", False),
        ("pypi.org%00", False),
        ("a" * 250 + ".example.com", False),
        ("", False),
    ],
)
def test_a_host_is_permitted_by_name_or_address(host: str, permitted: bool) -> None:
    assert Rules(LISTED).permits(host) is permitted


def test_addresses_of_this_machine_and_its_neighbours_are_not_reached() -> None:
    private = [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "::1", "::", "fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1", "ff02::1",
    ]  # fmt: skip
    assert Rules(()).reachable([*private, "1.1.1.1", "2606:4700::1111"]) == ["1.1.1.1", "2606:4700::1111"]
    opened = Rules((), opened=("10.1.0.0/16", "127.0.0.1/32"))
    assert opened.reachable(private) == ["127.0.0.1", "10.1.2.3", "::ffff:127.0.0.1"]


def test_an_address_of_this_machine_is_not_reached_though_it_is_public() -> None:
    own = ip_address("1.1.1.1")
    assert Rules(()).reachable(["1.1.1.1", "1.0.0.1"], lambda address: address == own) == ["1.0.0.1"]
    assert Rules((), opened=("1.1.1.1/32",)).reachable(["1.1.1.1"], lambda _: True) == ["1.1.1.1"]
    assert proxy._is_own(ip_address("127.0.0.1"))
    assert not proxy._is_own(ip_address("1.1.1.1"))


Asking = Callable[[bytes], Awaitable[bytes]]


@asynccontextmanager
async def serving(*hosts: str, opened: tuple[str, ...] = ("127.0.0.0/8",)) -> AsyncIterator[Asking]:
    """A proxy, and how it is asked: the whole of what it answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    place = listener.getsockname()
    served = EgressProxy(Rules(hosts, opened=opened))
    await served.open(listener)

    async def ask(request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(*place)
        try:
            writer.write(request)
            return await asyncio.wait_for(reader.read(), 10)
        except ConnectionResetError:  # it was not read to its end
            return b""
        finally:
            writer.close()
            with suppress(ConnectionResetError):
                await writer.wait_closed()

    try:
        yield ask
    finally:
        await served.close()


@asynccontextmanager
async def upstream() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that keeps what it was sent, answers and closes; its port."""
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], heard


async def test_a_request_is_sent_on_for_the_host_that_was_judged() -> None:
    async with serving("localhost") as ask, upstream() as (port, heard):
        request = f"GET http://localhost:{port}?a=b HTTP/1.1\r\nHost: evil.net\r\nProxy-Connection: x\r\nA: b\r\n\r\n"
        assert (await ask(request.encode())).endswith(b"hello")
        assert heard == [f"GET /?a=b HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\nA: b\r\n\r\n".encode()]


async def test_a_tunnel_carries_both_ways() -> None:
    async with serving("localhost") as ask, upstream() as (port, heard):
        said = await ask(f"CONNECT localhost:{port} HTTP/1.1\r\n\r\nanything\r\n\r\n".encode())
        assert said.startswith(b"HTTP/1.1 200 ")
        assert said.endswith(b"hello")
        assert heard == [b"anything\r\n\r\n"]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"CONNECT evil.net:443 HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT localhost HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT localhost:99999 HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT localhost:x HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT localhost@evil.net:443 HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http://localhost@evil.net/ HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http://evil.net#localhost/ HTTP/1.1\r\n\r\n", b"40"),
        (b"GET http://evil.net\\localhost/ HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT " + b"a" * 64 + b".localhost:443 HTTP/1.1\r\n\r\n", b"400"),
        (b"GET ftp://localhost/ HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (b"GET http://localhost/\x01\nHost:evil HTTP/1.1\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", b"400"),
        (b"GET http://localhost/ HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"400"),
    ],
)
async def test_what_is_no_request_for_a_listed_host_is_refused(request_: bytes, status: bytes) -> None:
    async with serving("localhost", "*.localhost") as ask:
        assert (await ask(request_)).startswith(b"HTTP/1.1 " + status)


async def test_a_head_without_an_end_is_cut_off() -> None:
    async with serving("localhost") as ask:
        assert (await ask(b"GET http://localhost/ HTTP/1.1\r\n" + b"a" * (1 << 20))) in (b"", _TOO_LONG)


async def test_a_listed_host_that_is_this_machine_is_refused() -> None:
    async with serving("localhost", opened=()) as ask, upstream() as (port, heard):
        assert b"no public address" in await ask(f"GET http://localhost:{port}/ HTTP/1.1\r\n\r\n".encode())
        assert heard == []


async def test_a_client_that_says_nothing_and_one_too_many_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "_HEAD_SECONDS", 0.05)
    monkeypatch.setattr(proxy, "_CONNECTIONS", 0)
    async with serving("localhost") as ask:
        assert b" 503 " in await ask(b"")
        monkeypatch.setattr(proxy, "_CONNECTIONS", 1)
        assert b" 408 " in await ask(b"GET http://local")


def test_programs_find_the_proxy_in_either_spelling() -> None:
    found = proxy_variables()
    assert found["http_proxy"] == found["HTTPS_PROXY"] == "http://127.0.0.1:3128"
    assert "localhost" in found["no_proxy"]
