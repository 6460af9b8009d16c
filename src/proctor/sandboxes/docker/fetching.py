"""One at a time for each image, and in turn at each registry, for all of a worker's attempts."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from proctor.sandboxes.docker.credentials import Credentials
from proctor.sandboxes.pulls import OwnTurns, PullTurns
from proctor.sandboxes.registries import registry_of

__all__ = ["Fetching"]


class Fetching:
    """Whoever wants the same image waits for the first, who then finds it; event loops don't share."""

    def __init__(self, credentials: Credentials | None = None, turns: PullTurns | None = None) -> None:
        """``credentials``: whose a pull is made as; ``None``: nobody's. ``turns``: ``None``: this process's own."""
        self._credentials, self._turns = credentials, turns or OwnTurns()
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, defaultdict[str, asyncio.Lock]] = WeakKeyDictionary()

    @asynccontextmanager
    async def alone(self, image: str) -> AsyncIterator[None]:
        """Held while an image is pulled or built."""
        async with self._lock(image):
            yield

    async def pull_headers(self, image: str) -> Mapping[str, str]:
        """What tells the image's registry who asks. Raises ``ImagePullFailed``."""
        return await self._credentials.header(registry_of(image)) if self._credentials else {}

    async def build_headers(self) -> Mapping[str, str]:
        """The same for the registries of a build's base images. Raises ``ImagePullFailed``."""
        return await self._credentials.headers_of_all() if self._credentials else {}

    async def turn(self, image: str) -> None:
        """Returns when another pull from the image's registry is within its limit; who comes first is first."""
        registry = registry_of(image)
        async with self._lock(f"turn/{registry}"):
            while wait := await self._turns.take(registry):
                await asyncio.sleep(wait)

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(asyncio.get_running_loop(), defaultdict(asyncio.Lock))[name]
