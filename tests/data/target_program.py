"""A worker of a job with a target, in a process that a test kills."""

import json
import sys
from pathlib import Path
from uuid import UUID

from sqlalchemy.engine import make_url

from proctor.app import _of_tenant
from proctor.database.engine import Database
from proctor.engine.worker import recover
from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
from proctor.objects.store import ObjectStore
from proctor.sdk.judging import resources_of
from proctor.settings import Settings

if __name__ == "__main__":
    said = json.loads(sys.argv[1])
    database = Database(make_url(said["app"]), make_url(said["scheduler"]))
    objects = ObjectStore(said["objects"])
    settings = Settings(home=Path(said["home"]), lease_sec=2.0)
    platform = _of_tenant(settings, database, objects, UUID(said["tenant"]))
    wanted = ChunkWorkerSettings(processes=1, scope=UUID(said["job"]), lease_sec=2.0)
    resources = resources_of(platform, lambda _tenant: lambda _names: {})
    ChunkWorker(database, objects, wanted, recover=recover, resources=resources).run(lambda: True)
