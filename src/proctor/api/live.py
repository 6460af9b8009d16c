"""What the live streams of a process share: the feed, and whether the keys that opened them still do."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from uuid import UUID

from starlette.requests import HTTPConnection

from proctor.api.lists import CursorInvalid
from proctor.app import Server
from proctor.identity.authentication import authenticate
from proctor.identity.permissions import Permission
from proctor.identity.principals import Principal
from proctor.kernel.errors import ProctorError
from proctor.notifications.feed import Feed
from proctor.notifications.outbox import Newest

__all__ = ["BEGINNING", "HEARTBEAT_SEC", "Live", "Standing", "id_of", "live_of", "place_of_id"]

HEARTBEAT_SEC: float = 15.0
"""Under the idle cut-offs of common proxies (30 s and more)."""
CHECK_SEC: float = 25.0
FRESH_SEC: float = 10.0
"""A stream looks at its key every 25 s and takes an answer that is 10 s old: with a heartbeat it ends within 60 s."""
_KEYS: int = 5_000
BEGINNING: str = "0"
"""The id before every event."""


class Live:
    """One for an app."""

    def __init__(self, server: Server) -> None:
        self.feed = Feed(server.database)
        self._server = server
        self._answers: OrderedDict[bytes, tuple[float, asyncio.Task[Principal]]] = OrderedDict()

    async def look(self, key: str) -> Principal:
        """Whose key it is, at this moment. Raises ``Unauthenticated``."""
        return await asyncio.to_thread(authenticate, self._server.database, self._server.secret, key)

    async def principal(self, key: str) -> Principal:
        """Whose key it is, looked up once for all streams that ask at a time. Raises ``Unauthenticated``."""
        digest, now = hashlib.blake2b(key.encode(), digest_size=16).digest(), time.monotonic()
        asked_at, answer = self._answers.pop(digest, (now - FRESH_SEC, None))
        if answer is None or asked_at + FRESH_SEC <= now:
            asked_at, answer = now, asyncio.create_task(self.look(key))
        self._answers[digest] = asked_at, answer
        if len(self._answers) > _KEYS:
            self._answers.popitem(last=False)
        return await asyncio.shield(answer)


class Standing:
    """Whether the key of one stream still opens it."""

    def __init__(self, live: Live, key: str, permission: Permission) -> None:
        self._live, self._key, self._permission = live, key, permission
        self._next = time.monotonic() + CHECK_SEC

    async def holds(self) -> bool:
        """Looked up now and then; a key that can't be looked up opens nothing."""
        if time.monotonic() < self._next:
            return True
        self._next = time.monotonic() + CHECK_SEC
        try:
            return self._permission in (await self._live.principal(self._key)).permissions
        except ProctorError:
            return False


def live_of(request: HTTPConnection) -> Live:
    """What the streams of an app share."""
    live = request.app.state.live
    assert isinstance(live, Live)
    return live


def id_of(newest: Newest | None) -> str:
    """The id to go on after."""
    return BEGINNING if newest is None else str(newest.id)


async def place_of_id(live: Live, tenant: UUID, after: str, *, where: str = "after") -> int | None:
    """Where to go on; ``None``: that event is not kept, or never was the tenant's. Raises ``CursorInvalid``."""
    if after == BEGINNING:
        return 0
    try:
        identity = UUID(after)
    except ValueError as error:
        raise CursorInvalid(where=where) from error
    return await live.feed.place(tenant, identity)
