"""What a chunk needs of others before it can be scored: outputs that a target makes, and what sandboxes and models say.

All of it is waited for in one event loop, in a thread of its own, so that a worker goes on with other chunks meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from proctor.database.engine import Database
from proctor.jobs.generating import Generator
from proctor.jobs.judging import Panel
from proctor.jobs.orders import Order
from proctor.jobs.outside import Outside, Resources
from proctor.jobs.scorers import Scorers
from proctor.objects.store import ObjectStore

__all__ = ["Preparer"]


class Preparer:
    """Makes orders ready to be scored."""

    def __init__(
        self, database: Database, objects: ObjectStore, scorers: Scorers, resources: Resources | None, *, tries: int
    ) -> None:
        """``tries``: of a chunk in all."""
        self._outside = Outside(resources)
        self._generator = Generator(database, objects, self._outside, tries=tries)
        self._panel = Panel(database, objects, scorers, self._outside, tries=tries)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, order: Order, then: Callable[[Order, BaseException | None], None]) -> None:
        """Make it ready; ``then`` is told the order as it can be scored, or why it can't."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="preparer", daemon=True)
            self._thread.start()
        future = asyncio.run_coroutine_threadsafe(self._ready(order), self._loop)

        def done(found: Future[Order]) -> None:
            error = found.exception()
            then(order if error is not None else found.result(), error)

        future.add_done_callback(done)

    def close(self) -> None:
        """End; nothing is under way any more."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None
        self._outside.close()

    async def _ready(self, order: Order) -> Order:
        if order.target is not None:
            order = await self._generator.made(order)
        return await self._panel.judged(order)
