"""What the live streams bear: relays and servers that are killed, and clients that come back."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from proctor.app import Server
from proctor.kernel.ids import new_id
from proctor.sdk.remote import events as client_events
from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.errors import ServerRefused
from tests.api.conftest import SECRET, Tenant
from tests.api.listening import NOWHERE, Live, relaying, serving, topic, wait_until
from tests.conftest import Urls


@pytest.fixture
def live(server: Server) -> Iterator[Live]:
    with relaying(server), serving(server) as found:
        yield found


# --- relays that die --------------------------------------------------------------------------------------------------

RELAY = """
import sys
from sqlalchemy.engine import make_url
from proctor.database.engine import Database
from proctor.notifications import outbox
from proctor.serving import relay

class Server:
    database = Database(make_url(sys.argv[1]), make_url(sys.argv[2]))

relay.BATCH = 7
print("ready", flush=True)
relay.Relay(Server()).run()
"""


def test_relays_that_are_killed_lose_nothing_and_repeat_nothing(server: Server, acme: Tenant, urls: Urls) -> None:
    run_set, rounds, each = new_id(), 6, 60
    addresses = [url.render_as_string(hide_password=False) for url in (urls.app, urls.scheduler)]
    with serving(server) as live, live.sse(acme.owner_key) as stream, live.socket(acme.owner_key) as ws:
        stream.block()
        ws.subscribe("all")
        sent: list[str] = []
        for number in range(rounds):
            sent += [live.emit(acme.id, run_set) for _ in range(each)]
            with subprocess.Popen([sys.executable, "-c", RELAY, *addresses], stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                process.stdout.readline()
                time.sleep(0.02 * number)
                os.kill(process.pid, signal.SIGKILL)
        with relaying(server):
            assert sorted(stream.ids(len(sent))) == sorted(sent)
            assert sorted(ws.ids(len(sent))) == sorted(sent)
    assert len(acme.owner.get("events/history?limit=1000")["items"]) == len(sent)


def test_a_server_that_is_killed_again_and_again_loses_nothing(
    acme: Tenant, server: Server, urls: Urls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """API and relay in one process, killed between commits and deliveries; the client comes back with its last id."""
    monkeypatch.setattr(client_events, "LONGEST_WAIT_SEC", 0.2)
    port, run_set, sent, got = free_port(), new_id(), list[str](), list[str]()
    database = {"PROCTOR_DATABASE_URL": urls.app, "PROCTOR_DATABASE_SCHEDULER_URL": urls.scheduler}
    environment = {
        **os.environ,
        **{name: url.render_as_string(hide_password=False) for name, url in database.items()},
        "PROCTOR_SERVER_SECRET": SECRET.decode(),
        "PROCTOR_HOME": str(tmp_path / "other"),
    }
    command = [sys.executable, "-m", "proctor", "serve", "--roles", "api,relay", "--port", str(port), "--json"]
    writer = Live(server=server, url=f"http://127.0.0.1:{port}", told=threading.Event())

    def write() -> None:
        while not writer.told.is_set():
            sent.append(writer.emit(acme.id, run_set))

    with RemoteClient.open(writer.url, acme.owner_key) as client:
        events = client.events(topics=[topic(run_set)], after="0")
        writing = threading.Thread(target=write)
        for number in range(4):
            with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
                if number == 0:
                    writing.start()
                got += [next(events).id for _ in range(20 + number)]  # type: ignore[union-attr]
                os.kill(process.pid, signal.SIGKILL)
        writer.told.set()
        writing.join()
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
            got += [next(events).id for _ in range(len(sent) - len(got))]  # type: ignore[union-attr]
            process.terminate()
        events.close()  # type: ignore[attr-defined]
    assert got == sent


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


# --- the SDK ----------------------------------------------------------------------------------------------------------


def test_the_client_comes_back_where_it_was(server: Server, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_events, "FIRST_WAIT_SEC", 0.05)
    run_set = new_id()
    with relaying(server), ExitStack() as opened:
        with serving(server) as live:
            client = opened.enter_context(RemoteClient.open(live.url, acme.owner_key))
            events = client.events(topics=[topic(run_set)], after="0")
            sent = [live.emit(acme.id, run_set) for _ in range(3)]
            got = [next(events).id for _ in range(2)]  # type: ignore[union-attr]
        sent.append(live.emit(acme.id, run_set))
        with serving(server, port=int(live.url.rpartition(":")[2])):
            got += [next(events).id for _ in range(2)]  # type: ignore[union-attr]
            assert got == sent
            events.close()  # type: ignore[attr-defined]


def test_the_client_tells_of_a_gap_and_of_a_refusal(live: Live, acme: Tenant) -> None:
    kept = live.emit(acme.id, new_id())
    wait_until(lambda: len(acme.owner.get("events/history")["items"]) == 1)
    with RemoteClient.open(live.url, acme.owner_key) as client:
        gap, event = client.events(after=NOWHERE, wait=0)
        assert gap == client_events.EventsLost(after=NOWHERE)
        assert isinstance(event, client_events.LiveEvent)
        assert event.id == kept
        with pytest.raises(ServerRefused, match="topic"):
            list(client.events(topics=["suite:1"]))
    with RemoteClient.open(live.url, "proctor_wrong") as client, pytest.raises(ServerRefused):
        list(client.events())
