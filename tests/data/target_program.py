"""A worker of a job that asks models, in a process that a test kills."""

from uuid import UUID

from proctor.engine.worker import recover
from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
from proctor.sdk.judging import resources_of
from tests.data.programs import platform_of, told

if __name__ == "__main__":
    said = told()
    platform = platform_of(said)
    wanted = ChunkWorkerSettings(processes=1, scope=UUID(said["job"]), lease_sec=2.0)
    resources = resources_of(platform, lambda _tenant: lambda _names: {})
    ChunkWorker(platform.database, platform.objects, wanted, recover=recover, resources=resources).run(lambda: True)
