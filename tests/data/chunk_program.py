"""A worker of chunks in a process that a test kills: prints a line for each settlement."""

import json
import sys
from uuid import UUID

from sqlalchemy.engine import make_url

from proctor.database.engine import Database
from proctor.engine.worker import recover
from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
from proctor.objects.store import ObjectStore

if __name__ == "__main__":
    said = json.loads(sys.argv[1])
    database = Database(make_url(said["app"]), make_url(said["scheduler"]))
    settings = ChunkWorkerSettings(processes=2, scope=UUID(said["job"]), lease_sec=2.0)
    worker = ChunkWorker(
        database,
        ObjectStore(said["objects"]),
        settings,
        recover=recover,
        on_settled=lambda settled: print(settled.rows, flush=True),
    )
    worker.run(lambda: True)
