"""A worker of a server: takes cells of any run set of any tenant, until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import structlog

from proctor.app import Server
from proctor.engine.recording import Decided
from proctor.engine.scratch import remove_scratch
from proctor.engine.worker import Worker, WorkerSettings
from proctor.queue.workers import WorkerIdentity
from proctor.serving.secrets import AttemptSecrets

__all__ = ["ServerWorker"]

_NOBODY = UUID(int=0)
"""What a worker shares is of no tenant; each attempt names its own."""

_log = structlog.get_logger(__name__)


class ServerWorker:
    """Runs in a thread of its own until it is stopped; running attempts finish first."""

    def __init__(self, server: Server) -> None:
        settings, identity = server.settings, WorkerIdentity.of_this_process()
        platform = server.platform(_NOBODY)
        backend = platform.backend(settings.server_sandbox)
        parts = platform.runner_parts(backend, identity.owner, {})
        self._parts = replace(parts, opener=AttemptSecrets(server))
        wanted = WorkerSettings(
            slots=settings.server_slots, scope=None, lease_sec=settings.lease_sec, node=platform.node(backend)
        )
        self._stopping = False
        self._worker = Worker(server.database, self._parts, identity, wanted, _tell)

    def stop(self) -> None:
        """No new attempts; running ones finish."""
        self._stopping = True
        self._worker.stop()

    def cancel(self) -> None:
        """Running attempts end now, as cancelled: their cells are queued again."""
        self._stopping = True
        self._worker.cancel()

    def run(self) -> None:
        """Work until it is stopped."""
        try:
            asyncio.run(self._worker.run(lambda: not self._stopping))
        finally:
            remove_scratch(self._parts.scratch)


def _tell(batch: Sequence[Decided]) -> None:
    for decided in batch:
        _log.debug("cell.settled", outcome=decided.outcome.outcome.value)
