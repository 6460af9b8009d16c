"""A process's feed: one thread reads what is published, and every open connection gets its share in the event loop.

Nothing is lost between what is kept and what comes: a reader is registered with the feed before the last look at what
is kept, so that an event is in that look or comes afterwards. The thread begins with the first reader.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID

import structlog
from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.errors import DatabaseUnavailable
from proctor.database.listening import listen, notified
from proctor.kernel.errors import ProctorError, UsageError
from proctor.notifications import outbox
from proctor.notifications.readers import Ended, Reader, come_to, is_new
from proctor.notifications.topics import Frame, frame_of

__all__ = ["Feed", "TooManyStreams"]

POLL_SEC: float = 0.5
"""How late an event comes whose notification was lost, and how long the thread may take to end."""
PAGE: int = 500
"""Events of one look: fewer than may wait for a reader."""
RETRY_SEC: float = 1.0
START_SEC: float = 10.0
"""A stream that can't begin in that time is refused: the database does not answer."""
OFFERS_AT_ONCE: int = 4_000
"""Then the event loop's other work has its turn: some 2 ms."""
MOST_STREAMS: int = 5_000
MOST_OF_TENANT: int = 2_500
"""Open connections of a process: what their buffers and file handles may take, and that one tenant leaves some."""

_log = structlog.get_logger(__name__)


class TooManyStreams(UsageError):
    """As many streams are open as may be."""

    code = "too-many-streams"
    remedy = "Close some, or follow several topics on one."


class _Page(NamedTuple):
    """What is kept, up to a position."""

    position: int
    frames: list[Frame]


class Feed:
    """Its methods belong to one event loop, except ``close``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: asyncio.Future[None] | None = None
        self._position: int | None = None
        self._readers: set[Reader] = set()
        self._tenants: Counter[UUID] = Counter()
        self._by_topic: defaultdict[tuple[UUID, str], set[Reader]] = defaultdict(set)

    # --- readers ------------------------------------------------------------------------------------------------------

    @contextmanager
    def reader(self, tenant: UUID) -> Iterator[Reader]:
        """A reader that follows nothing yet. Raises ``TooManyStreams``."""
        if len(self._readers) >= MOST_STREAMS or self._tenants[tenant] >= MOST_OF_TENANT:
            raise TooManyStreams()
        reader = Reader(tenant)
        self._readers.add(reader)
        self._tenants[tenant] += 1
        if self._stopping.is_set():
            reader.end(Ended())
        try:
            yield reader
        finally:
            self.leave(reader, list(reader.follows))
            self._readers.discard(reader)
            self._tenants[tenant] -= 1
            self._tenants += Counter()  # forgets those without any

    async def join(self, reader: Reader, topics: Iterable[str]) -> outbox.Newest | None:
        """Have what is published from now on come to a reader, after the event that is returned.

        Of topics that it follows nothing changes. Raises ``DatabaseUnavailable``.
        """
        await self._started()
        new = frozenset(topics) - reader.follows.keys()
        self._register(reader, dict.fromkeys(new, 0))
        newest = await asyncio.to_thread(self._newest, reader.tenant)
        self._register(reader, dict.fromkeys(new, newest.position if newest else 0))
        return newest

    async def follow(self, reader: Reader, topics: Iterable[str], after: int) -> AsyncIterator[list[Frame]]:
        """What is kept of topics after a position, page by page; the rest comes to the reader.

        What the reader follows already is in the pages too, from where it is read up to: so all that it gets from there
        on is in one order, and its last id is one to go on after. Raises ``DatabaseUnavailable``.
        """
        follows = reader.follows | dict.fromkeys(topics, after)
        await self._started()
        for registered in (False, True):
            if registered:
                self._register(reader, follows)
            async for page in self._kept(reader.tenant, min(follows.values())):
                frames = [frame for frame in page.frames if is_new(follows, frame)]
                follows = come_to(follows, page.position)
                yield frames
        reader.follows = follows

    async def place(self, tenant: UUID, identity: UUID) -> int | None:
        """Where a tenant's event stands, as long as it is kept. Raises ``DatabaseUnavailable``."""
        return await asyncio.to_thread(
            self._database.as_tenant, tenant, lambda c: outbox.position_of(c, tenant, identity)
        )

    def _register(self, reader: Reader, follows: Mapping[str, int]) -> None:
        reader.follows |= follows
        for topic in follows:
            self._by_topic[reader.tenant, topic].add(reader)

    def leave(self, reader: Reader, topics: Iterable[str]) -> None:
        """Follow these no more."""
        for topic in topics:
            reader.follows.pop(topic, None)
            place = reader.tenant, topic
            self._by_topic[place].discard(reader)
            if not self._by_topic[place]:
                del self._by_topic[place]

    async def _kept(self, tenant: UUID, after: int) -> AsyncIterator[_Page]:
        full, position = True, after
        while full:
            events = await asyncio.to_thread(self._page, tenant, position)
            full = len(events) == PAGE
            position = events[-1].position if events else position
            yield _Page(position, _frames(events))

    def _newest(self, tenant: UUID) -> outbox.Newest | None:
        return self._database.as_tenant(tenant, lambda c: outbox.newest_of(c, tenant))

    def _page(self, tenant: UUID, after: int) -> list[outbox.Event]:
        return self._database.as_tenant(tenant, lambda c: outbox.published_of(c, tenant, after, PAGE))

    # --- the thread's side --------------------------------------------------------------------------------------------

    async def _started(self) -> None:
        """Raises ``DatabaseUnavailable``."""
        if self._ready is None:
            self._loop = asyncio.get_running_loop()
            self._ready = self._loop.create_future()
            self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
            self._thread.start()
        try:
            async with asyncio.timeout(START_SEC):
                await asyncio.shield(self._ready)
        except TimeoutError:
            raise DatabaseUnavailable() from None

    def close(self) -> None:
        """End every stream, and the thread soon after. Any thread may call it."""
        self._stopping.set()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end_readers)

    async def closed(self) -> None:
        """Close, and wait for the thread."""
        self.close()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _end_readers(self) -> None:
        for reader in self._readers:
            reader.end(Ended())
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._database.apart() as connection:
                    self._read(connection)
            except ProctorError as error:
                _log.warning("feed.failed", error=str(error))
            except Exception:  # noqa: BLE001  whatever it was, streams must not fall silent
                _log.exception("feed.broke")
            self._stopping.wait(RETRY_SEC)

    def _read(self, connection: Connection) -> None:
        """Hand over what is published, from where the connection before this one was."""
        listen(connection, outbox.CHANNEL)
        if self._position is None:
            self._position = outbox.newest(connection)
            self._hand_over([])
        while not self._stopping.is_set():
            events = outbox.published(connection, self._position, PAGE)
            if events:
                self._position = events[-1].position
                self._hand_over(_frames(event for event in events if event.tenant_id in self._tenants))
            if len(events) < PAGE:
                notified(connection, POLL_SEC)

    def _hand_over(self, frames: Sequence[Frame]) -> None:
        """Wait until every reader has them, so that no more is in memory than a page."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._fan_out(frames), self._loop).result()

    async def _fan_out(self, frames: Sequence[Frame]) -> None:
        assert self._ready is not None
        if not self._ready.done():
            self._ready.set_result(None)
        offers = 0
        for frame in frames:
            readers = self._readers_of(frame)
            for reader in readers:
                reader.offer(frame)
            offers += len(readers)
            if offers >= OFFERS_AT_ONCE:
                offers = 0
                await asyncio.sleep(0)

    def _readers_of(self, frame: Frame) -> set[Reader]:
        found: set[Reader] = set()
        for topic in frame.topics:
            found |= self._by_topic.get((frame.tenant, topic), set())
        return found


def _frames(events: Iterable[outbox.Event]) -> list[Frame]:
    return [frame for frame in map(frame_of, events) if frame is not None]
