"""An evaluator of a server: scores chunks of any job of any tenant, until it is told to stop; merges what they left."""

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
from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
from proctor.kernel.errors import ProctorError
from proctor.results.merging import Merger
from proctor.sdk.judging import asking_of
from proctor.sdk.secrets import kept_secrets

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
        asking = asking_of(server.platform(_NOBODY), lambda tenant: partial(kept_secrets, server.platform(tenant)))
        self._worker = ChunkWorker(server.database, server.objects, settings, recover=recover, asking=asking)
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
        folder = data_folder(self._server.settings, "tmp")
        while not self._stopping.wait(MERGE_SEC):
            begun = time.monotonic()
            try:
                merged = self._merge(folder)
            except ProctorError as error:
                _log.warning("results.not_merged", error=str(error))
            else:
                if merged:
                    _log.info("results.merged", batches=merged, seconds=round(time.monotonic() - begun, 3))

    def _merge(self, folder: Path) -> int:
        merged = 0
        for tenant in self._server.database.as_scheduler(tenants):
            if self._stopping.is_set():
                break
            merger = Merger(self._server.database, self._server.objects, tenant.id, folder)
            merged += merger.merge()
            merger.remove()
        return merged
