"""The relay: one in an installation, by advisory lock; it publishes the outbox's events and prunes old ones.

It looks for events by itself, and writers notify nobody: a NOTIFY takes a lock that is held to the end of the commit,
so that writers would wait for one another. Its own NOTIFY, once a turn, wakes those who read.
"""

from __future__ import annotations

import threading
import time

import structlog
from sqlalchemy import Connection

from proctor.app import Server
from proctor.database.engine import Database
from proctor.kernel.errors import ProctorError
from proctor.notifications import outbox

__all__ = ["Relay"]

TURN_SEC: float = 0.05
"""Between two looks: how late an event is published. A look that finds nothing takes half a millisecond."""
QUIET_TURN_SEC: float = 0.2
"""The same when nothing has happened for a while: the first event after it waits a little longer."""
QUIET_AFTER_SEC: float = 5.0
BATCH: int = 2_000
"""Events of one statement: under a tenth of a second's work, and all of them become visible at once."""
CANDIDATE_SEC: float = 1.0
"""How soon another relay takes over."""
PRUNE_SEC: float = 60.0

_log = structlog.get_logger(__name__)


class Relay:
    """Runs in a thread of its own until it is stopped."""

    def __init__(self, server: Server) -> None:
        self._database: Database = server.database
        self._stopping = threading.Event()
        self._prunes_at = 0.0

    def stop(self) -> None:
        """End after the turn that is under way."""
        self._stopping.set()

    def run(self) -> None:
        """Publish, as long as this one is the relay; else wait to become it."""
        while not self._stopping.is_set():
            try:
                with self._database.apart() as connection:
                    self._serve(connection)
            except ProctorError as error:
                _log.warning("relay.failed", error=str(error))
                self._stopping.wait(CANDIDATE_SEC)

    def _serve(self, connection: Connection) -> None:
        while not outbox.lead(connection):
            if self._stopping.wait(CANDIDATE_SEC):
                return
        busy_until = 0.0
        while not self._stopping.is_set():
            published = outbox.publish(connection, BATCH)
            if published:
                busy_until = time.monotonic() + QUIET_AFTER_SEC
            if published < BATCH:
                self._prune(connection)
                self._stopping.wait(TURN_SEC if time.monotonic() < busy_until else QUIET_TURN_SEC)

    def _prune(self, connection: Connection) -> None:
        if time.monotonic() >= self._prunes_at and not outbox.prune(connection):
            self._prunes_at = time.monotonic() + PRUNE_SEC
