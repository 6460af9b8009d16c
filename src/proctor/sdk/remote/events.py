"""Events of a server as they happen, read until one has enough: a connection that ends is opened again where it was."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from proctor.sdk.remote.errors import ServerFault, ServerRefused, ServerUnreachable
from proctor.sdk.remote.transport import Transport

__all__ = [
    "FIRST_WAIT_SEC",
    "FROM_THE_BEGINNING",
    "LONGEST_WAIT_SEC",
    "QUIET_SEC",
    "Blocks",
    "EventsLost",
    "LiveEvent",
    "follow",
    "passes",
    "read_block",
]

FROM_THE_BEGINNING: str = "0"
"""The id before every event that is kept."""
QUIET_SEC: float = 45.0
"""Three heartbeats without a word: the connection is dead, whatever the network says."""
FIRST_WAIT_SEC: float = 0.5
LONGEST_WAIT_SEC: float = 20.0
PASSING: frozenset[str] = frozenset({"rate-limited", "too-many-streams"})


@dataclass(frozen=True, kw_only=True)
class LiveEvent:
    """Something that happened to a run set or an attempt. It may come twice; ``id`` is the same then."""

    id: str
    name: str
    subject: UUID
    created_at: datetime
    payload: Mapping[str, Any]
    trace_id: str


@dataclass(frozen=True, kw_only=True)
class EventsLost:
    """The event that was to be gone on after is kept no more: some after it may be missing. What is kept follows."""

    after: str


@dataclass
class _Block:
    """Lines of a stream up to an empty one."""

    id: str = ""
    event: str = ""
    data: str = ""


def follow(
    transport: Transport, topics: Sequence[str], after: str | None, *, wait: float | None = None
) -> Iterator[LiveEvent | EventsLost]:
    """What happens from an event on, or from now on without one. ``wait``: end after so many seconds of a connection.

    Raises ``ServerRefused``, and without end of its own nothing else: a server that is away is waited for.
    """
    pause = FIRST_WAIT_SEC
    while True:
        try:
            for block in _blocks(transport, topics, after, wait):
                pause = FIRST_WAIT_SEC
                after = block.id or after
                yield from read_block(block)
        except (ServerUnreachable, ServerFault, ServerRefused) as error:
            if wait is not None or not passes(error):
                raise
        if wait is not None:
            return
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_WAIT_SEC)


def passes(error: ServerUnreachable | ServerFault | ServerRefused) -> bool:
    """Whether it is waited for: a server that is away, or that has too much to do."""
    return not isinstance(error, ServerRefused) or error.code in PASSING


def _blocks(transport: Transport, topics: Sequence[str], after: str | None, wait: float | None) -> Iterator[_Block]:
    params = {"topic": list(topics) or None, "after": after, "wait": wait}
    with transport.stream("events", quiet_sec=QUIET_SEC, **params) as response:
        yield from _parsed(response.iter_lines())


def _parsed(lines: Iterable[str]) -> Iterator[_Block]:
    blocks = Blocks()
    for line in lines:
        block = blocks.feed(line)
        if block is not None:
            yield block


class Blocks:
    """Lines of a stream as its blocks."""

    def __init__(self) -> None:
        self._block = _Block()

    def feed(self, line: str) -> _Block | None:
        """Take a line; the block that it ends, if it does."""
        name, _, value = line.partition(":")
        if not line:
            block, self._block = self._block, _Block()
            return block
        if name in ("id", "event", "data"):
            setattr(self._block, name, value.removeprefix(" "))
        return None


def read_block(block: _Block) -> Iterator[LiveEvent | EventsLost]:
    """Nothing of a heartbeat, nor of words on how the connection ends: it is opened again."""
    if block.event == "gap":
        yield EventsLost(after=json.loads(block.data)["after"])
    elif block.id and block.data:
        event = json.loads(block.data)
        times = {"subject": UUID(event["subject"]), "created_at": datetime.fromisoformat(event["created_at"])}
        yield LiveEvent(**{**event, **times})
