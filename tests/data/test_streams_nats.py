"""NATS as a source, with the real server: nothing is lost and nothing doubled, whoever dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.js.api import AckPolicy, ConsumerConfig

from proctor.jobs.errors import StreamClosed
from proctor.jobs.values import Job
from proctor.sdk.sending import Sender
from proctor.sdk.streams import Streams
from proctor.streaming.errors import NatsExtraMissing, SourceUnusable
from proctor.streaming.nats import Feeder, NatsSource
from tests.conftest import Urls
from tests.data.desk import Desk
from tests.data.nats_server import NatsServer
from tests.data.programs import started
from tests.data.test_streams import judge_what_is_there, opened

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue", "no_process_is_left")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    folder = tmp_path / "nats"
    folder.mkdir()
    made = NatsServer(folder)
    made.start()
    made.make_stream()
    yield made
    made.stop()


@pytest.fixture
def streams(desk: Desk) -> Streams:
    return Streams(desk.platform)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What refuses a connection is asked again for two seconds only."""
    monkeypatch.setattr("proctor.streaming.nats.CONNECT_SEC", 2.0)


def message(n: int) -> bytes:
    return json.dumps({"id": f"e{n}", "expected": "x", "output": "x"}).encode()


def source(server: NatsServer, **more: Any) -> NatsSource:
    return NatsSource(**{"url": server.url, "stream": "answers", "consumer": "proctor", **more})


def make_impatient_consumer(server: NatsServer) -> None:
    """One that delivers again after a second what was not acknowledged."""

    async def make(client: Client) -> None:
        wanted = ConsumerConfig(durable_name="proctor", ack_policy=AckPolicy.EXPLICIT, ack_wait=1)
        await client.jetstream().add_consumer("answers", wanted)

    server.ask(make)


class Feeding:
    """A feeder in a thread, which a test stops once it has seen enough."""

    def __init__(self, streams: Streams, wanted: NatsSource, *, after: Callable[[], None] = lambda: None) -> None:
        self.sent = 0
        self._enough = threading.Condition()
        self._sender, self._source, self._after = Sender(streams, "bot"), wanted, after
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _send(self, lines: Sequence[bytes]) -> frozenset[int]:
        told = self._sender.send(lines)
        self._after()
        with self._enough:
            self.sent += len(lines)
            self._enough.notify_all()
        return frozenset(one.row for one in told.refusals)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(Feeder(self._source, self._send).run(self._stopping))
        except BaseException as error:  # noqa: BLE001  raised by the test that waits
            self.failure = error
        finally:
            self._loop.close()
            with self._enough:
                self._enough.notify_all()

    def wait_for(self, messages: int) -> None:
        self.wait_until(lambda: self.sent >= messages)

    def wait_until(self, enough: Callable[[], bool]) -> None:
        """Looked at again after each batch that is durable."""
        with self._enough:
            assert self._enough.wait_for(lambda: enough() or self.failure is not None, timeout=60)
        if self.failure is not None:
            raise self.failure


@contextmanager
def feeding(streams: Streams, wanted: NatsSource, **more: Any) -> Iterator[Feeding]:
    made = Feeding(streams, wanted, **more)
    made._thread.start()
    try:
        yield made
    finally:
        if made._thread.is_alive():
            made._loop.call_soon_threadsafe(made._stopping.set)
        made._thread.join()


def there(desk: Desk, job: Job) -> list[str]:
    judge_what_is_there(desk, job)
    return sorted(str(row["example"]) for row in desk.rows(job))


def test_messages_become_rows_and_are_acknowledged_once_they_are_durable(
    desk: Desk, streams: Streams, server: NatsServer
) -> None:
    job = opened(streams)
    server.publish([message(n) for n in range(20)])
    with feeding(streams, source(server)) as feeder:
        feeder.wait_for(20)
    assert server.unsettled() == (0, 0)
    assert there(desk, job) == sorted(f"e{n}" for n in range(20))
    assert streams.stream("bot").job.cut.chunks < 20


def test_what_is_no_row_is_counted_with_its_reason_and_never_delivered_again(
    desk: Desk, streams: Streams, server: NatsServer
) -> None:
    job = opened(streams)
    bad = [b"", b"nonsense", b"\xff\x00", b'{"id": "a"}', b"[" * 3_000, b'{"id": "k", "output": "x", "key": "own"}']
    server.publish([message(0), *bad, message(1)])
    with feeding(streams, source(server)) as feeder:
        feeder.wait_for(8)
    assert server.unsettled() == (0, 0)
    assert there(desk, job) == ["e0", "e1", "k"]
    assert streams.stream("bot").refused == 5
    assert sorted(one.field for one in streams.refusals("bot")) == ["", "", "", "", "output"]


def test_a_message_that_is_delivered_again_is_not_doubled(desk: Desk, streams: Streams, server: NatsServer) -> None:
    """Its acknowledgement was lost: the feeder died after the rows were durable."""
    job = opened(streams)
    server.publish([message(n) for n in range(10)])
    make_impatient_consumer(server)

    def die() -> None:
        raise RuntimeError("the process was killed here")

    with feeding(streams, source(server), after=die) as feeder, pytest.raises(RuntimeError):
        feeder.wait_for(10)
    assert server.unsettled() == (10, 0)
    with feeding(streams, source(server)) as feeder:
        feeder.wait_for(10)
    assert server.unsettled() == (0, 0)
    assert there(desk, job) == sorted(f"e{n}" for n in range(10))


def test_a_stream_that_is_made_anew_counts_from_one_and_loses_nothing(
    desk: Desk, streams: Streams, server: NatsServer
) -> None:
    job = opened(streams)
    for _ in range(2):
        server.publish([message(7)])
        with feeding(streams, source(server)) as feeder:
            feeder.wait_for(1)

        async def remove(client: Client) -> None:
            await client.jetstream().delete_stream("answers")

        server.ask(remove)
        server.make_stream()
    assert there(desk, job) == ["e7", "e7"]


def test_a_server_that_is_restarted_in_the_middle_loses_and_doubles_nothing(
    desk: Desk, streams: Streams, server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.streaming.nats.BATCH", 5)
    job = opened(streams)
    make_impatient_consumer(server)
    server.publish([message(n) for n in range(30)])
    with feeding(streams, source(server)) as feeder:
        feeder.wait_for(5)
        server.stop()
        server.start()
        server.publish([message(n) for n in range(30, 40)])
        feeder.wait_until(
            lambda: streams.stream("bot").job.cut.rows >= 40
        )  # what it forgot comes twice and counts once
    assert there(desk, job) == sorted(f"e{n}" for n in range(40))


def test_a_feeder_that_is_killed_loses_and_doubles_nothing_and_another_stops_when_told(
    desk: Desk, streams: Streams, server: NatsServer, urls: Urls
) -> None:
    job = opened(streams)
    make_impatient_consumer(server)
    server.publish([message(n) for n in range(100)])
    process = started(desk, urls, "feed_program", url=server.url)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "7\n"
        assert process.stdout.readline() == "7\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert sum(server.unsettled()) > 0
    process = started(desk, urls, "feed_program", url=server.url)
    assert process.stdout is not None
    with process.stdout:
        while streams.stream("bot").job.cut.rows < 100 or sum(server.unsettled()):
            assert process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read().endswith("stopped\n")
        assert process.wait() == 0
    assert there(desk, job) == sorted(f"e{n}" for n in range(100))


def test_a_stream_that_is_closed_ends_the_feeder_and_what_it_took_is_delivered_again(
    desk: Desk, streams: Streams, server: NatsServer
) -> None:
    opened(streams)
    streams.close("bot")
    server.publish([message(0)])
    with feeding(streams, source(server)) as feeder, pytest.raises(StreamClosed):
        feeder.wait_for(1)
    assert server.unsettled() == (1, 0)


# --- how it is connected to -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
def test_a_login_is_told_and_a_wrong_one_is_refused(desk: Desk, streams: Streams, tmp_path: Path) -> None:
    folder = tmp_path / "guarded"
    folder.mkdir()
    server = NatsServer(folder, "--auth", "open-sesame")
    server.start()
    try:
        server.make_stream(token="open-sesame")
        server.publish([message(0)], token="open-sesame")
        job = opened(streams)
        for wrong in ({}, {"token": "guess"}):
            with (
                feeding(streams, source(server, **wrong)) as feeder,
                pytest.raises(SourceUnusable, match="No connection") as caught,
            ):
                feeder.wait_for(1)
            assert "guess" not in str(caught.value)
        with feeding(streams, source(server, token="open-sesame")) as feeder:
            feeder.wait_for(1)
        assert there(desk, job) == ["e0"]
    finally:
        server.stop()


@pytest.mark.usefixtures("impatient")
def test_a_server_is_known_by_who_vouches_for_it(desk: Desk, streams: Streams, tmp_path: Path) -> None:
    import trustme

    folder = tmp_path / "tls"
    folder.mkdir()
    ca, stranger = trustme.CA(), trustme.CA()
    issued = ca.issue_cert("127.0.0.1")
    issued.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    ca.cert_pem.write_to_path(folder / "ca.pem")
    stranger.cert_pem.write_to_path(folder / "stranger.pem")
    pem = str(folder / "server.pem")
    server = NatsServer(folder, "--tls", "--tlscert", pem, "--tlskey", pem)
    server.start()
    try:
        context = source(server, ca=folder / "ca.pem").tls()
        server.make_stream(tls=context)
        server.publish([message(0)], tls=context)
        job = opened(streams)
        url = f"tls://127.0.0.1:{server.port}"
        with (
            feeding(streams, source(server, url=url, ca=folder / "stranger.pem")) as feeder,
            pytest.raises(SourceUnusable, match="No connection"),
        ):
            feeder.wait_for(1)
        with feeding(streams, source(server, url=url, ca=folder / "ca.pem")) as feeder:
            feeder.wait_for(1)
        assert there(desk, job) == ["e0"]
    finally:
        server.stop()


@pytest.mark.usefixtures("impatient")
def test_what_there_is_not_or_can_not_be_pulled_from_is_told(desk: Desk, streams: Streams, server: NatsServer) -> None:
    opened(streams)

    async def make(client: Client) -> None:
        pushed = ConsumerConfig(durable_name="pushed", deliver_subject="x", ack_policy=AckPolicy.EXPLICIT)
        await client.jetstream().add_consumer("answers", pushed)
        await client.jetstream().add_consumer(
            "answers", ConsumerConfig(durable_name="careless", ack_policy=AckPolicy.NONE)
        )

    server.ask(make)
    for wanted, words in (
        ({"stream": "gone"}, "JetStream refuses it"),
        ({"consumer": "pushed"}, "must be a pull consumer"),
        ({"consumer": "careless"}, "must be a pull consumer"),
    ):
        with feeding(streams, source(server, **wanted)) as feeder, pytest.raises(SourceUnusable, match=words):
            feeder.wait_for(1)
    server.stop()
    with feeding(streams, source(server)) as feeder, pytest.raises(SourceUnusable, match="No connection"):
        feeder.wait_for(1)


@pytest.mark.parametrize(
    ("wanted", "where"),
    [
        ({"url": "nats://user:secret@host"}, "--nats"),
        ({"url": "http://host"}, "--nats"),
        ({"url": "host"}, "--nats"),
        ({"stream": "a.b"}, "--stream"),
        ({"consumer": ""}, "--consumer"),
        ({"consumer": "a b"}, "--consumer"),
        ({"credentials": Path("/gone")}, "--credentials: /gone"),
        ({"ca": Path("/gone")}, "--tls-ca: /gone"),
    ],
)
def test_what_can_not_be_a_source_is_named(wanted: dict[str, Any], where: str) -> None:
    with pytest.raises(SourceUnusable) as caught:
        NatsSource(**{"url": "nats://host:4222", "stream": "s", "consumer": "c", **wanted})
    assert caught.value.where == where
    assert "secret" not in str(caught.value)


def test_without_the_library_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.streaming.nats.find_spec", lambda _name: None)
    feeder = Feeder(NatsSource(url="nats://h", stream="s", consumer="c"), lambda _: frozenset())
    with pytest.raises(NatsExtraMissing, match="nats-py"):
        asyncio.run(feeder.run(asyncio.Event()))
