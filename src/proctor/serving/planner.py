"""The planner: one in an installation, by advisory lock; it looks after every tenant's run sets."""

from __future__ import annotations

import threading
from uuid import UUID

import structlog
from sqlalchemy import Connection, text

from proctor.app import Server
from proctor.database.engine import Database
from proctor.engine.overseeing import oversee
from proctor.identity.service import tenants
from proctor.kernel.errors import ProctorError

__all__ = ["Planner"]

LOOK_SEC: float = 1.0
"""Between two looks: how late a run set's end is told at the most."""
_LOCK = 0x70726F63746F72
"""The advisory lock's number: "proctor"."""

_log = structlog.get_logger(__name__)


class Planner:
    """Runs in a thread of its own until it is stopped."""

    def __init__(self, server: Server) -> None:
        self._database: Database = server.database
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End after the look that is under way."""
        self._stopping.set()

    def run(self) -> None:
        """Look after run sets, as long as this one is the planner; else wait to become it."""
        while not self._stopping.is_set():
            try:
                self._look()
            except ProctorError as error:
                _log.warning("planner.failed", error=str(error))
            self._stopping.wait(LOOK_SEC)

    def _look(self) -> None:
        with self._database.scheduler() as connection:
            if not connection.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": _LOCK}).scalar_one():
                return
            for tenant in _all(connection):
                if self._stopping.is_set():
                    return
                oversee(self._database, tenant)


def _all(connection: Connection) -> list[UUID]:
    return [one.id for one in tenants(connection)]
