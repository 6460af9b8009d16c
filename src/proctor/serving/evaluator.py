"""An evaluator of a server: scores chunks of any job of any tenant until it is told to stop; keeps results in order."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path
from uuid import UUID

import structlog

from proctor.app import Server, data_folder
from proctor.engine.worker import recover
from proctor.identity.service import tenants
from proctor.jobs import service as jobs
from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
from proctor.kernel.errors import ProctorError
from proctor.results.merging import Merger
from proctor.results.retention import Retainer
from proctor.sdk.judging import resources_of
from proctor.sdk.secrets import kept_secrets
from proctor.streaming import service as streaming

__all__ = ["ServerEvaluator"]

MERGE_SEC: float = 30.0
"""Between looks for batches that are worth merging: a job's come to rest a minute after its last."""

_NOBODY = UUID(int=0)
"""What an evaluator shares is of no tenant; each job names its own."""

_log = structlog.get_logger(__name__)


class ServerEvaluator:
    """Runs in a thread of its own until it is stopped; chunks under way finish first."""

    def __init__(self, server: Server) -> None:
        self._server = server
        settings = ChunkWorkerSettings(
            processes=server.settings.evaluation_processes, lease_sec=server.settings.lease_sec
        )
        resources = resources_of(server.platform(_NOBODY), lambda one: partial(kept_secrets, server.platform(one)))
        self._worker = ChunkWorker(server.database, server.objects, settings, recover=recover, resources=resources)
        self._stopping = threading.Event()

    def stop(self) -> None:
        """No new chunks."""
        self._stopping.set()
        self._worker.stop()

    def run(self) -> None:
        """Work until it is stopped."""
        keeper = threading.Thread(target=self._keep_house, name="merger", daemon=True)
        keeper.start()
        self._worker.run(lambda: not self._stopping.is_set())
        keeper.join()

    def _keep_house(self) -> None:
        """Every tenant's in turn; what is wrong with one's results keeps no other's from their turn."""
        folder = data_folder(self._server.settings, "tmp")
        while not self._stopping.wait(MERGE_SEC):
            try:
                found = self._server.database.as_scheduler(tenants)
            except ProctorError as error:
                _log.warning("results.not_kept_in_order", error=str(error))
                continue
            for tenant in found:
                self._try_to_keep(tenant.id, folder)

    def _try_to_keep(self, tenant: UUID, folder: Path) -> None:
        if self._stopping.is_set():
            return
        try:
            self._keep(tenant, folder)
        except ProctorError as error:
            _log.warning("results.not_kept_in_order", tenant=str(tenant), error=str(error))

    def _keep(self, tenant: UUID, folder: Path) -> None:
        database, objects, begun = self._server.database, self._server.objects, time.monotonic()
        merger = Merger(database, objects, tenant, folder)
        merged = merger.merge()
        merger.remove()
        unkept = database.as_tenant(tenant, lambda c: jobs.unkept(c, tenant))
        gone = Retainer(database, objects, tenant, folder).let_go(unkept)
        gone += streaming.let_go(database, objects, tenant)
        if merged or gone:
            seconds = round(time.monotonic() - begun, 3)
            _log.info("results.kept_in_order", merged=merged, rolled_up=gone, seconds=seconds)
