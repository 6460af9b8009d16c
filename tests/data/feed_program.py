"""A feeder in a process that a test kills: prints a line for each batch that is durable, before it is acknowledged."""

from proctor.sdk.sending import Sender, fed
from proctor.sdk.streams import Streams
from proctor.streaming import nats
from proctor.streaming.nats import NatsSource
from tests.data.programs import platform_of, told

if __name__ == "__main__":
    said = told()
    nats.BATCH = 7
    source = NatsSource(url=said["url"], stream="answers", consumer="proctor")
    fed(Sender(Streams(platform_of(said)), "bot"), source, lambda sent: print(sent.rows, flush=True))
    print("stopped", flush=True)
