"""The live streams: how late an event is at 2,000 open connections, and how many a second go through the outbox.

A server (API and relay in one process) holds the connections, half of them server-sent events and half WebSockets, of
client processes. Events are committed one by one; how late one is runs from its commit to its bytes at a client. Two
ways to spread them: 20 tenants with 100 connections each, and one tenant whose every event goes to all.

The outbox: events inserted in batches, without a relay (the bare rate), while a relay publishes, and a backlog that a
relay works off. Run: ``python -m benchmarks.live [--json]``.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
from sqlalchemy import text
from tests.api.listening import relaying

from benchmarks.timing import load_average
from proctor.app import Server, open_server
from proctor.database.engine import Database
from proctor.identity.api_keys import NewKey, issue_key
from proctor.identity.audit_log import Actor
from proctor.identity.permissions import ROLES, Role
from proctor.identity.service import tenant_id
from proctor.identity.setup import found_tenant
from proctor.kernel.ids import new_id
from proctor.settings import Settings

CLIENTS: int = 2
GROUPS: int = 20
PER_SEC: float = 80.0
"""Connections that a client process opens a second: under the rate that one key may."""
BATCH: int = 1_000
INSERT = text("""
    INSERT INTO proctor.event (tenant_id, id, name, subject, trace_id, payload)
    SELECT :tenant, gen_random_uuid(), 'attempt.ended', gen_random_uuid(), 'bench',
           jsonb_build_object('run_set', :tenant, 'cell', gen_random_uuid(), 'number', :first + n, 'class', 'passed')
    FROM generate_series(0, :count - 1) n
""")
_NUMBER = re.compile(rb'"number":(\d+)')


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=2_000)
    parser.add_argument("--events", type=int, default=100_000, help="through the outbox")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each way to spread events")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proctor-live-") as name:
        Path(name).chmod(0o711)
        settings = Settings(home=Path(name) / "home", tenant="bench")
        with open_server(settings) as server:
            found: dict[str, Any] = {"outbox": measure_outbox(server, options.events)}
            spread = [found_keys(server, f"spread-{number}", 1) for number in range(GROUPS)]
            crowd = found_keys(server, "crowd", GROUPS)
            with _serving(settings) as (url, process):
                live = {"connections": options.connections, "seconds": options.seconds, "process": process, "url": url}
                found["spread"] = measure_live(server, [keys[0] for keys in spread], per_sec=20.0, **live)
                found["crowd"] = measure_live(server, crowd, per_sec=1.0, **live)
    found["load_average"] = load_average()
    print(json.dumps(found, indent=None if options.json else 2))


# --- the outbox -------------------------------------------------------------------------------------------------------


def measure_outbox(server: Server, events: int) -> dict[str, Any]:
    """Rates a second, of all events."""
    tenant, database = tenant_id("outbox"), server.database
    bare = _rate(events, lambda: _insert_all(database, tenant, events))
    with relaying(server):
        backlog = _rate(events, lambda: _until_published(database))
        together = _rate(events, lambda: _insert_and_wait(database, tenant, events))
    bare_again = _rate(events, lambda: _insert_all(database, tenant, events))
    mean = (bare + bare_again) / 2
    return {
        "events": events,
        "bare_insert_per_sec": round(mean),
        "backlog_published_per_sec": round(backlog),
        "inserted_and_published_per_sec": round(together),
        "ratio_to_bare": round(together / mean, 2),
    }


def _insert_all(database: Database, tenant: UUID, events: int) -> None:
    for first in range(0, events, BATCH):
        database.as_tenant(tenant, lambda c, first=first: c.execute(INSERT, _row(tenant, first, BATCH)))  # type: ignore[misc]


def _insert_and_wait(database: Database, tenant: UUID, events: int) -> None:
    _insert_all(database, tenant, events)
    _until_published(database)


def _until_published(database: Database) -> None:
    left = text("SELECT EXISTS (SELECT FROM proctor.event WHERE published_at IS NULL)")
    while database.as_scheduler(lambda c: c.execute(left).scalar_one()):
        time.sleep(0.01)


def _row(tenant: UUID, first: int, count: int) -> dict[str, Any]:
    return {"tenant": tenant, "first": first, "count": count}


def _rate(events: int, work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return events / (time.monotonic() - began)


# --- connections ------------------------------------------------------------------------------------------------------


def found_keys(server: Server, name: str, count: int) -> list[tuple[UUID, str]]:
    """A tenant's keys, each with whose it is."""

    def work(connection: Any) -> list[tuple[UUID, str]]:
        founded = found_tenant(
            connection, server.secret, Actor(), name=name, owner=f"o@{name}.example", administrator=False
        )
        user = founded.issued.key.user_id
        issued = [
            issue_key(
                connection,
                founded.tenant,
                Actor(),
                NewKey(user=user, name=f"key-{number}"),
                may=ROLES[Role.OWNER],
                secret=server.secret,
            )
            for number in range(count)
        ]
        return [(founded.tenant, one.secret) for one in issued]

    return server.database.as_tenant(tenant_id(name), work)


@contextmanager
def _serving(settings: Settings) -> Iterator[tuple[str, psutil.Process]]:
    command = [sys.executable, "-m", "proctor", "serve", "--roles", "api,relay", "--port", "0", "--json"]
    environment = {**os.environ, "PROCTOR_HOME": str(settings.home), "PROCTOR_TENANT": "bench"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = ""
        while not told.rstrip().endswith("}"):
            told += process.stdout.readline()
        try:
            yield json.loads(told)["url"], psutil.Process(process.pid)
        finally:
            process.terminate()


def measure_live(
    server: Server,
    keys: Sequence[tuple[UUID, str]],
    *,
    per_sec: float,
    connections: int,
    seconds: float,
    process: psutil.Process,
    url: str,
) -> dict[str, Any]:
    """Commit events, one after the other to the tenants of ``keys``, and gather when clients got them."""
    context = multiprocessing.get_context("spawn")
    ready, done = context.Barrier(CLIENTS + 1), context.Event()
    with context.Pool(CLIENTS, _share, (ready, done)) as pool:
        began = time.monotonic()
        each = [one for _, one in keys]
        running = [pool.apply_async(listen, (url, each, connections // CLIENTS, n)) for n in range(CLIENTS)]
        ready.wait(timeout=300)
        opened = time.monotonic() - began
        busy = sum(process.cpu_times()[:2])
        committed = _commit(server.database, [tenant for tenant, _ in keys], per_sec, seconds)
        used = sum(process.cpu_times()[:2]) - busy
        time.sleep(2)
        done.set()
        receipts = [receipt for one in running for receipt in one.get()]
    late = sorted(at - committed[number] for number, at in receipts)
    tenants = len({tenant for tenant, _ in keys})
    return {
        "connections": connections,
        "opened_in_sec": round(opened, 1),
        "events": len(committed),
        "deliveries": len(late),
        "missing": len(committed) * connections // tenants - len(late),
        "p50_ms": round(late[len(late) // 2] * 1000, 1),
        "p99_ms": round(late[len(late) * 99 // 100] * 1000, 1),
        "most_ms": round(late[-1] * 1000, 1),
        "server_cores": round(used / seconds, 2),
        "server_mib": round(process.memory_info().rss / 2**20),
    }


def _commit(database: Database, tenants: Sequence[UUID], per_sec: float, seconds: float) -> dict[int, float]:
    """When each event was committed."""
    committed: dict[int, float] = {}
    began, base = time.monotonic(), new_id().int % 1_000_000
    for number in range(int(per_sec * seconds)):
        time.sleep(max(0.0, began + number / per_sec - time.monotonic()))
        tenant, name = tenants[number % len(tenants)], base + number
        database.as_tenant(tenant, lambda c, tenant=tenant, name=name: c.execute(INSERT, _row(tenant, name, 1)))  # type: ignore[misc]
        committed[name] = time.monotonic()
    return committed


# --- in a client process ----------------------------------------------------------------------------------------------

_shared: list[Any] = []


def _share(ready: Any, done: Any) -> None:
    _shared[:] = [ready, done]


def listen(url: str, keys: Sequence[str], connections: int, seat: int) -> list[tuple[int, float]]:
    """Open connections, and what event came when to any of them."""
    return asyncio.run(_listen(url, keys, connections, seat))


async def _listen(url: str, keys: Sequence[str], connections: int, seat: int) -> list[tuple[int, float]]:
    host, _, port = url.removeprefix("http://").partition(":")
    receipts: list[tuple[int, float]] = []
    loop, opened = asyncio.get_running_loop(), list[_Ear]()
    for number in range(connections):
        kind = _Socket if number % 2 else _Sse
        place = number * CLIENTS + seat
        ear = kind(keys[place // 2 % len(keys)], receipts)
        await loop.create_connection(lambda ear=ear: ear, host, int(port))  # type: ignore[misc]
        opened.append(ear)
        await asyncio.sleep(1 / PER_SEC)
    await asyncio.gather(*(ear.open for ear in opened))
    ready, done = _shared
    await asyncio.to_thread(ready.wait)
    await asyncio.to_thread(done.wait)
    for ear in opened:
        ear.transport.close()
    return receipts


class _Ear(asyncio.Protocol):
    """Notes what event's number comes; parses nothing else, so that clients take little of the machine."""

    path, more, sign = "", "", b""
    transport: asyncio.Transport

    def __init__(self, key: str, receipts: list[tuple[int, float]]) -> None:
        self._key, self._receipts, self._rest = key, receipts, b""
        self.open: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(
            f"GET {self.path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._key}\r\n{self.more}\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        now, data = time.monotonic(), self._rest + data
        if not self.open.done() and self.sign in data:
            self.open.set_result(None)
        ends = 0
        for found in _NUMBER.finditer(data):
            if found.end() < len(data):
                self._receipts.append((int(found[1]), now))
                ends = found.end()
        self._rest = data[ends:][-200:]

    def connection_lost(self, error: Exception | None) -> None:
        if not self.open.done():
            self.open.set_exception(ConnectionError(f"refused: {self._rest[-200:]!r}"))


class _Sse(_Ear):
    path, sign = "/api/v1/events", b"retry: "


class _Socket(_Ear):
    path, sign = "/ws", b'{"subscribed"'
    more = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\n"
    )

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        ping = data.find(b"\x89\x04")
        if ping >= 0:
            self.transport.write(b"\x8a\x84" + bytes(4) + data[ping + 2 : ping + 6])
        if b"HTTP/1.1 101" in data:
            message = b'{"subscribe": ["all"]}'
            self.transport.write(bytes([0x81, 0x80 | len(message)]) + bytes(4) + message)  # the mask is zeros


if __name__ == "__main__":
    main()
