"""A worker of one evaluation job in this process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from proctor.app import Platform
from proctor.jobs.service import JobService
from proctor.jobs.values import Job

if TYPE_CHECKING:
    from proctor.jobs.worker import Settled

__all__ = ["JobSession"]


class JobSession:
    """Works on one job in a thread of this process, until nothing of it is left or it is stopped."""

    def __init__(self, platform: Platform, job: Job) -> None:
        from proctor.engine.worker import recover
        from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
        from proctor.sdk.judging import environment_keys, resources_of

        self.job = job
        self.done = job.done
        """Evaluations that have a result."""
        self._service = JobService(platform.database, platform.tenant)
        settings = ChunkWorkerSettings(
            processes=platform.settings.evaluation_processes, scope=job.id, lease_sec=platform.settings.lease_sec
        )
        self._worker = ChunkWorker(
            platform.database,
            platform.objects,
            settings,
            recover=recover,
            resources=resources_of(platform, lambda _tenant: environment_keys),
            on_settled=self._settled,
        )
        self._thread = threading.Thread(target=self._run, name="evaluator", daemon=True)
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wait(self, timeout: float) -> bool:
        """Wait for the end, at most so many seconds; whether it ended. Raises what ended the worker."""
        self._thread.join(timeout)
        if self._failure is not None:
            raise self._failure
        return not self._thread.is_alive()

    def stop(self) -> None:
        """No new chunks; those under way are finished."""
        self._worker.stop()

    def _run(self) -> None:
        try:
            self._worker.run(lambda: not self._service.job(str(self.job.id)).state.has_ended)
        except BaseException as error:  # noqa: BLE001  kept for whoever waits
            self._failure = error

    def _settled(self, settled: Settled) -> None:
        self.done += settled.rows
