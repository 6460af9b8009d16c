"""Ends of live streams for tests: a real server with a relay, and readers of it that keep what they got."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from httpx2 import Client
from sqlalchemy import text
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from proctor.app import Server
from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.serving.http import listen, serve_http
from proctor.serving.relay import Relay
from proctor.serving.roles import Address

INSERT = text(
    "INSERT INTO proctor.event (tenant_id, id, name, subject, trace_id, payload)"
    " VALUES (:tenant, :id, :name, :subject, 'trace', CAST(:payload AS jsonb))"
)
NOWHERE = "01a22e2c-a2fa-78c5-aaf7-000000000003"
"""The id of nothing."""
PATIENCE_SEC = 20.0
"""The machine may be busy."""


@dataclass
class Live:
    """A server whose relay can be stopped."""

    server: Server
    url: str
    told: threading.Event
    """Set to stop it."""

    def emit(
        self, tenant: UUID, run_set: UUID, name: str = "attempt.ended", payload: dict[str, Any] | None = None
    ) -> str:
        """Commit an event; its id."""
        identity = new_id()
        values = row(tenant, identity, run_set, name, payload or {})
        self.server.database.as_tenant(tenant, lambda c: c.execute(INSERT, values))
        return str(identity)

    @contextmanager
    def sse(self, key: str, query: str = "", **headers: str) -> Iterator[Sse]:
        """An open stream."""
        said = {"Authorization": f"Bearer {key}", **{name.replace("_", "-"): value for name, value in headers.items()}}
        with (
            Client(base_url=self.url, timeout=PATIENCE_SEC) as http,
            http.stream("GET", f"/api/v1/events{query}", headers=said) as response,
        ):
            assert response.status_code == 200, response.read()
            yield Sse(response.iter_lines())

    @contextmanager
    def socket(self, key: str | None, extra: Mapping[str, str] | None = None, **more: Any) -> Iterator[Socket]:
        """An open socket; ``extra``: headers."""
        said = {**({} if key is None else {"Authorization": f"Bearer {key}"}), **(extra or {})}
        with connect(self.url.replace("http", "ws") + "/ws", additional_headers=said, **more) as connection:
            yield Socket(connection)


def row(tenant: UUID, identity: UUID, run_set: UUID, name: str, payload: dict[str, Any]) -> dict[str, Any]:
    own = name.startswith("run_set.")
    document = payload if own else {"run_set": str(run_set), **payload}
    subject = run_set if own else identity
    return {"tenant": tenant, "id": identity, "name": name, "subject": subject, "payload": json.dumps(document)}


@dataclass
class Sse:
    """Reads blocks."""

    lines: Iterator[str]
    last: str = ""

    def block(self) -> dict[str, str]:
        """The next block's fields; a comment's is empty."""
        fields: dict[str, str] = {}
        for line in self.lines:
            if not line:
                self.last = fields.get("id", self.last)
                return fields
            name, _, value = line.partition(": ")
            if name != ":":
                fields[name] = value
        raise EOFError

    def event(self) -> dict[str, Any]:
        """The next event, of whatever name."""
        while "data" not in (block := self.block()):
            pass
        return {**json.loads(block["data"]), "event": block["event"]}

    def ids(self, count: int) -> list[str]:
        """The next events' ids."""
        return [self.event()["id"] for _ in range(count)]

    def rest(self) -> list[dict[str, Any]]:
        """Every event until the stream ends."""
        found = []
        try:
            while True:
                found.append(self.event())
        except EOFError:
            return found


@dataclass
class Socket:
    """Says and hears JSON."""

    connection: ClientConnection

    def say(self, **message: Any) -> None:
        self.connection.send(json.dumps(message))

    def hear(self) -> Any:
        return json.loads(self.connection.recv(timeout=PATIENCE_SEC))

    def subscribe(self, *topics: str, **more: Any) -> Any:
        """What is answered."""
        self.say(subscribe=list(topics), **more)
        return self.hear()

    def ids(self, count: int) -> list[str]:
        return [self.hear()["event"]["id"] for _ in range(count)]

    def rest(self) -> tuple[list[Any], int]:
        """What is heard until the socket is closed, and the code of that."""
        heard = []
        try:
            while True:
                heard.append(self.hear())
        except ConnectionClosed as closed:
            return heard, closed.rcvd.code if closed.rcvd else 0

    def code(self) -> int:
        """The code that it is closed with."""
        return self.rest()[1]


@contextmanager
def relaying(server: Server) -> Iterator[None]:
    """A relay in a thread."""
    relay = Relay(server)
    thread = threading.Thread(target=relay.run)
    thread.start()
    try:
        yield
    finally:
        relay.stop()
        thread.join()


@contextmanager
def serving(server: Server, port: int = 0) -> Iterator[Live]:
    """The API on a socket of its own, in a thread."""
    told, started, urls = threading.Event(), threading.Event(), list[str]()

    def ready(url: str) -> None:
        urls.append(url)
        started.set()

    thread = threading.Thread(target=serve_http, args=(server, listen(Address(port=port)), ready, told))
    thread.start()
    assert started.wait(PATIENCE_SEC)
    try:
        yield Live(server=server, url=urls[0], told=told)
    finally:
        told.set()
        thread.join()


def wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SEC
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


@dataclass
class Writer:
    """A transaction that is open for as long as a test likes."""

    database: Database
    tenant: UUID
    ids: list[str] = field(default_factory=list)

    @contextmanager
    def open(self, run_set: UUID) -> Iterator[None]:
        """Takes its sequence at the start, commits at the end."""
        with self.database.tenant(self.tenant) as connection:
            identity = new_id()
            connection.execute(INSERT, row(self.tenant, identity, run_set, "attempt.ended", {}))
            self.ids.append(str(identity))
            yield


def topic(run_set: UUID) -> str:
    return f"run-set:{run_set}"
