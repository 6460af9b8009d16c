"""The planner: one in an installation, by advisory lock; it looks after every tenant's run sets, quotas and storage.

Once a minute it writes down how the installation is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from uuid import UUID

import structlog
from sqlalchemy import Connection, text

from proctor.app import Server
from proctor.engine.overseeing import oversee
from proctor.engine.quotas import keep_quotas
from proctor.identity.quotas import note_stored
from proctor.identity.requests import ANSWERS_AGE, remove_old
from proctor.identity.service import tenants
from proctor.kernel.errors import ProctorError
from proctor.serving.sampling import keep_sample

__all__ = ["Planner"]

LOOK_SEC: float = 1.5
"""Between two looks: how late a run set's end is told at the most."""
QUOTAS_SEC: float = 15.0
"""Between two looks at quotas: what is over one may go on so long."""
STORAGE_SEC: float = 600.0
"""Between two measurements of what tenants store: every object is listed for it, and old answers are forgotten."""
_LOCK = 0x70726F63746F72
"""The advisory lock's number: "proctor"."""

_log = structlog.get_logger(__name__)


class Planner:
    """Runs in a thread of its own until it is stopped."""

    def __init__(self, server: Server) -> None:
        self._database, self._objects = server.database, server.objects
        self._stopping = threading.Event()
        self._quotas = self._storage = -STORAGE_SEC
        self._minute = datetime.min.replace(tzinfo=UTC)

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
            everyone = [one.id for one in tenants(connection)]
            self._each(everyone, lambda tenant: oversee(self._database, tenant))
            self._sample(everyone)
            now = time.monotonic()
            if now - self._storage >= STORAGE_SEC:
                self._storage = now
                self._each(everyone, self._keep_house)
            if now - self._quotas >= QUOTAS_SEC:
                self._quotas = now
                self._each(everyone, lambda tenant: keep_quotas(self._database, tenant))

    def _sample(self, everyone: Sequence[UUID]) -> None:
        minute = datetime.now(UTC).replace(second=0, microsecond=0)
        if minute != self._minute:
            self._minute = minute
            keep_sample(self._database, everyone)

    def _each(self, everyone: Sequence[UUID], look: Callable[[UUID], object]) -> None:
        for tenant in everyone:
            if self._stopping.is_set():
                return
            look(tenant)

    def _keep_house(self, tenant: UUID) -> None:
        size = self._objects.size(f"{tenant}/")

        def work(connection: Connection) -> None:
            note_stored(connection, tenant, size)
            remove_old(connection, tenant, ANSWERS_AGE)

        self._database.as_tenant(tenant, work)
