"""A feeder in a process that a test kills: prints a line for each batch that is durable, before it is acknowledged."""

import json
import sys
from pathlib import Path
from uuid import UUID

from sqlalchemy.engine import make_url

from proctor.app import _of_tenant
from proctor.database.engine import Database
from proctor.objects.store import ObjectStore
from proctor.sdk.sending import Sender, fed
from proctor.sdk.streams import Streams
from proctor.settings import Settings
from proctor.streaming import nats
from proctor.streaming.nats import NatsSource

if __name__ == "__main__":
    said = json.loads(sys.argv[1])
    nats.BATCH = 7
    database = Database(make_url(said["app"]), make_url(said["scheduler"]))
    platform = _of_tenant(
        Settings(home=Path(said["home"])), database, ObjectStore(said["objects"]), UUID(said["tenant"])
    )
    source = NatsSource(url=said["url"], stream="answers", consumer="proctor")
    fed(Sender(Streams(platform), "bot"), source, lambda sent: print(sent.rows, flush=True))
    print("stopped", flush=True)
