"""NATS as a source: messages of a JetStream consumer become rows, and are acknowledged once those are durable.

A message is one row as JSON. Its key is its place in the JetStream stream, so that one that is delivered again is not
doubled; what is no row is counted with its reason and never delivered again.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from proctor.streaming.errors import NatsExtraMissing, SourceUnusable
from proctor.streaming.rows import keyed

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

__all__ = ["Feeder", "NatsSource", "need_nats_extra"]

BATCH: int = 1_000
"""Messages of one append at the most: what a consumer lets be unacknowledged unless it says otherwise."""
GATHER_SEC: float = 0.2
"""How long messages wait for others."""
CONNECT_SEC: float = 10.0
"""For the first connection; one that breaks later is tried again until it is there."""
AGAIN_SEC: int = 1
"""Between tries to connect again."""
ANSWER_SEC: float = 5.0
"""For what is asked of JetStream before the first message."""
_SCHEMES = frozenset({"nats", "tls", "ws", "wss"})

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class NatsSource:
    """Where messages come from. ``consumer``: a durable one; it is made where there is none.

    ``credentials``: a file of the account's tool; ``ca``, ``certificate``, ``key``: PEM files. Raises
    ``SourceUnusable`` for what can't be.
    """

    url: str
    stream: str
    consumer: str
    credentials: Path | None = None
    token: str | None = None
    user: str | None = None
    password: str | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in _SCHEMES or not parts.hostname:
            raise SourceUnusable("It must be such as nats://HOST:4222 or tls://HOST:4222.", where="--nats")
        if parts.username is not None or parts.password is not None:
            raise SourceUnusable(
                "A login on the command line can be read by everybody on the machine.",
                where="--nats",
                remedy="Name a file with --credentials, or set PROCTOR_NATS_TOKEN or PROCTOR_NATS_USER.",
            )
        for name, where in ((self.stream, "--stream"), (self.consumer, "--consumer")):
            if not name or any(one in " \t\r\n.*>/\\" or not one.isprintable() for one in name):
                raise SourceUnusable("It must be a name without spaces, dots, * and >.", where=where)
        for path, where in self._files:
            if path is not None and not path.is_file():
                raise SourceUnusable("There is no such file.", where=f"{where}: {path}")

    @property
    def _files(self) -> tuple[tuple[Path | None, str], ...]:
        return (
            (self.credentials, "--credentials"),
            (self.ca, "--tls-ca"),
            (self.certificate, "--tls-certificate"),
            (self.key, "--tls-key"),
        )

    def tls(self) -> ssl.SSLContext | None:
        """How the server is known, where the URL or a file asks for TLS. Raises ``SourceUnusable``."""
        if urlsplit(self.url).scheme not in ("tls", "wss") and self.ca is None and self.certificate is None:
            return None
        try:
            context = ssl.create_default_context(cafile=None if self.ca is None else str(self.ca))
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise SourceUnusable(f"They can't be read as PEM: {error}.", where="--tls-ca, --tls-certificate") from error
        return context


class Feeder:
    """Takes messages until it is told to stop."""

    def __init__(self, source: NatsSource, send: Callable[[Sequence[bytes]], frozenset[int]]) -> None:
        """``send``: makes lines durable, called in a thread of its own, and says which of them, from 1, are refused."""
        self._source, self._send = source, send

    async def run(self, stopping: asyncio.Event) -> None:
        """Feed until ``stopping``; what was taken is sent and acknowledged first.

        Raises ``SourceUnusable``, ``NatsExtraMissing``, and what ``send`` does: then nothing of it is acknowledged.
        """
        need_nats_extra()
        client = await self._connected()
        try:
            messages = await self._subscribed(client)
            while not stopping.is_set():
                batch = await self._fetched(messages)
                if batch:
                    await self._feed(batch)
        finally:
            with suppress(Exception):  # it may be away: what was not acknowledged is delivered again
                await asyncio.wait_for(client.flush(), ANSWER_SEC)
            await client.close()

    async def _connected(self) -> Client:
        import nats
        from nats.errors import Error

        source = self._source
        try:
            async with asyncio.timeout(CONNECT_SEC):
                return await nats.connect(
                    source.url,
                    name="proctor",
                    user_credentials=None if source.credentials is None else str(source.credentials),
                    token=source.token,
                    user=source.user,
                    password=source.password,
                    tls=source.tls(),
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=AGAIN_SEC,
                    error_cb=_note_error,
                    disconnected_cb=_note_disconnected,
                    reconnected_cb=_note_reconnected,
                )
        except (Error, OSError, TimeoutError, ValueError) as error:
            raise SourceUnusable(f"No connection: {_words(error)}.", where=source.url) from error

    async def _subscribed(self, client: Client) -> JetStreamContext.PullSubscription:
        """Raises ``SourceUnusable`` for a stream that there is not, and a consumer that can't be pulled from."""
        from nats.errors import Error
        from nats.js.api import AckPolicy, ConsumerConfig
        from nats.js.errors import NotFoundError

        source, js = self._source, client.jetstream(timeout=ANSWER_SEC)
        try:
            try:
                found = await js.consumer_info(source.stream, source.consumer)
            except NotFoundError:
                wanted = ConsumerConfig(durable_name=source.consumer, ack_policy=AckPolicy.EXPLICIT)
                found = await js.add_consumer(source.stream, wanted)
            if found.config.ack_policy != AckPolicy.EXPLICIT or found.config.deliver_subject is not None:
                raise SourceUnusable(
                    "It must be a pull consumer that acknowledges each message.", where=f"--consumer {source.consumer}"
                )
            return await js.pull_subscribe_bind(consumer=source.consumer, stream=source.stream)
        except (Error, TimeoutError) as error:
            where = f"--stream {source.stream} --consumer {source.consumer}"
            raise SourceUnusable(f"JetStream refuses it: {_words(error)}.", where=where) from error

    async def _fetched(self, messages: JetStreamContext.PullSubscription) -> list[Msg]:
        from nats.errors import Error

        try:
            found: list[Msg] = await messages.fetch(BATCH, timeout=GATHER_SEC)
        except TimeoutError:
            return []
        except Error as error:
            _log.info("nats.not_fetched", error=_words(error))
            await asyncio.sleep(AGAIN_SEC)
            return []
        return found

    async def _feed(self, batch: Sequence[Msg]) -> None:
        lines = [keyed(message.data, _key(self._source, message)) for message in batch]
        refused = await asyncio.to_thread(self._send, lines)
        for place, message in enumerate(batch, 1):
            await _settle(message, refused=place in refused)


def need_nats_extra() -> None:
    """Raises ``NatsExtraMissing`` where the library is not installed."""
    if find_spec("nats") is None:
        raise NatsExtraMissing("The library nats-py is missing.")


def _key(source: NatsSource, message: Msg) -> str:
    """Where it lies in its stream, and when it came there: a stream that is made anew counts from one again."""
    told = message.metadata
    place = f"{source.stream}\0{told.sequence.stream}\0{told.timestamp.isoformat()}"
    return f"nats-{told.sequence.stream}-{hashlib.sha256(place.encode()).hexdigest()[:32]}"


async def _settle(message: Msg, *, refused: bool) -> None:
    """A message whose answer is lost is delivered again, and known."""
    from nats.errors import Error

    with suppress(Error, OSError, TimeoutError):
        await (message.term() if refused else message.ack())


def _words(error: BaseException) -> str:
    return str(error)[:300] or type(error).__name__


async def _note_error(error: Exception) -> None:
    _log.info("nats.error", error=_words(error))


async def _note_disconnected() -> None:
    _log.warning("nats.disconnected")


async def _note_reconnected() -> None:
    _log.info("nats.reconnected")
