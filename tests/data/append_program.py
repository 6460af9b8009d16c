"""Appends a file to a stream in a process that a test may kill: prints a line for each batch that is durable."""

from pathlib import Path

from proctor.sdk import sending
from proctor.sdk.sending import Sender, gathered, read_lines
from proctor.sdk.streams import Streams
from tests.data.programs import platform_of, told

if __name__ == "__main__":
    said = told()
    sending.WAITING = 10  # rows of a batch, so that there are many
    sender = Sender(Streams(platform_of(said)), "bot")
    with Path(said["file"]).open("rb") as file:
        for batch in gathered(read_lines(file, said["file"])):
            print(sender.send(batch).rows, flush=True)
