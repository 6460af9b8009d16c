"""Appends a file to a stream in a process that a test may kill: prints a line for each batch that is durable."""

import json
import sys
from pathlib import Path
from uuid import UUID

from sqlalchemy.engine import make_url

from proctor.app import _of_tenant
from proctor.database.engine import Database
from proctor.objects.store import ObjectStore
from proctor.sdk import sending
from proctor.sdk.sending import Sender, gathered, read_lines
from proctor.sdk.streams import Streams
from proctor.settings import Settings

if __name__ == "__main__":
    said = json.loads(sys.argv[1])
    sending.WAITING = 10  # rows of a batch, so that there are many
    database = Database(make_url(said["app"]), make_url(said["scheduler"]))
    platform = _of_tenant(
        Settings(home=Path(said["home"])), database, ObjectStore(said["objects"]), UUID(said["tenant"])
    )
    sender = Sender(Streams(platform), "bot")
    with Path(said["file"]).open("rb") as file:
        for batch in gathered(read_lines(file, said["file"])):
            print(sender.send(batch).rows, flush=True)
