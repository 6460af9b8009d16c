"""One at a time for each image, and no more pulls a minute than a registry bears, for all of a worker's attempts."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from proctor.sandboxes.docker.credentials import Credentials
from proctor.sandboxes.registries import registry_of

__all__ = ["PULLS_PER_MINUTE", "Fetching"]

PULLS_PER_MINUTE: int = 60
"""Of one registry. Only what is not here is pulled at all."""
_MINUTE = 60.0


class Fetching:
    """Whoever wants the same image waits for the first, who then finds it; event loops don't share."""

    def __init__(self, credentials: Credentials | None = None) -> None:
        """``credentials``: whose a pull is made as; ``None``: nobody's."""
        self._credentials = credentials
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, defaultdict[str, asyncio.Lock]] = WeakKeyDictionary()
        self._pulls: defaultdict[str, deque[float]] = defaultdict(deque)

    @asynccontextmanager
    async def alone(self, image: str) -> AsyncIterator[None]:
        """Held while an image is pulled or built."""
        locks = self._locks.setdefault(asyncio.get_running_loop(), defaultdict(asyncio.Lock))
        async with locks[image]:
            yield

    async def pull_headers(self, image: str) -> Mapping[str, str]:
        """What tells the image's registry who asks. Raises ``ImagePullFailed``."""
        return await self._credentials.header(registry_of(image)) if self._credentials else {}

    async def build_headers(self) -> Mapping[str, str]:
        """The same for the registries of a build's base images. Raises ``ImagePullFailed``."""
        return await self._credentials.headers_of_all() if self._credentials else {}

    async def turn(self, image: str) -> None:
        """Returns when another pull from the image's registry is within its limit, and counts it."""
        pulls = self._pulls[registry_of(image)]
        while True:
            now = time.monotonic()
            while pulls and pulls[0] <= now - _MINUTE:
                pulls.popleft()
            if len(pulls) < PULLS_PER_MINUTE:
                pulls.append(now)
                return
            await asyncio.sleep(pulls[0] + _MINUTE - now)
