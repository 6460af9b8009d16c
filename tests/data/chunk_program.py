"""A worker of chunks in a process that a test kills: prints a line for each settlement."""

from uuid import UUID

from proctor.engine.worker import recover
from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
from tests.data.programs import platform_of, told

if __name__ == "__main__":
    said = told()
    platform = platform_of(said)
    settings = ChunkWorkerSettings(processes=2, scope=UUID(said["job"]), lease_sec=2.0)
    worker = ChunkWorker(
        platform.database,
        platform.objects,
        settings,
        recover=recover,
        on_settled=lambda settled: print(settled.rows, flush=True),
    )
    worker.run(lambda: True)
