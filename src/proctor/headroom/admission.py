"""How much a node can take on: the smaller of what is not promised and what is free, minus what is about to begin.

Memory is held twice. What is *promised* counts against the node's whole memory, so that all who stay inside their
promise fit together, whatever they use now. What is *free* counts as well, since others use the machine too, and a
sandbox may take more than it was promised: from it goes what running sandboxes were promised and did not take yet.
Processors are only promised: too few of them make attempts slow and kill nobody. Disk that is promised is taken off
what is free, since nobody sees how much of it a sandbox has used already.

What can't be read, or was read too long ago, means caution: one attempt at a time, never as many as one likes.
"""

from __future__ import annotations

from collections.abc import Callable

from proctor.headroom.needs import Admit, HeldBack, Need, Reserved, Room
from proctor.headroom.reader import NodeReader, Reading
from proctor.kernel.clock import Clock

__all__ = ["Node", "held_back_words", "room_of", "too_large_words"]

KEPT: float = 0.1
"""Of memory, never granted: the kernel, the database and the workers themselves live in it."""
KEPT_DISK_MB: float = 1024.0
"""Of a disk, never granted, but no more than a tenth of it: the database may be on it."""
STALE_SEC: float = 5.0
"""A reading older than this says nothing: a sandbox fills gigabytes in it."""
PRESSED: float = 10.0
"""Percent of the last ten seconds in which everything waited for memory: the node thrashes, and takes on no more."""


def room_of(reading: Reading | None, reserved: Reserved, *, now: float, overcommit: float) -> Room:
    """What a claim may take. ``now`` is of the clock that the reading was taken by."""
    if reading is None or now - reading.taken > STALE_SEC or reading.memory is None or reading.disk is None:
        return Room(rows=0 if reserved.rows else 1)
    memory, disk, promised = reading.memory, reading.disk, reserved.promised
    granted = memory.total_mb * (1 - KEPT)
    free = memory.free_mb - memory.total_mb * KEPT
    coming = memory.promised_mb + reserved.unbegun.memory_mb
    begun = promised.memory_mb - reserved.unbegun.memory_mb
    disk_kept = min(KEPT_DISK_MB, disk.total_mb * KEPT)
    free_disk = disk.free_mb - disk_kept
    processors = reading.cpus * overcommit
    ours = max(begun, memory.sandboxes_mb) if reserved.rows else 0.0  # what sandboxes have, while any is ours
    pressed = (memory.pressure or 0.0) > PRESSED and reserved.rows > 0
    return Room(
        rows=0 if pressed else None,
        left=Need(
            memory_mb=min(granted - promised.memory_mb, free - coming),
            cpus=processors - promised.cpus,
            disk_mb=free_disk - promised.disk_mb,
        ),
        most=Need(
            memory_mb=min(granted, free + ours),
            cpus=processors,
            disk_mb=free_disk + promised.disk_mb,
        ),
        ever=Need(memory_mb=granted, cpus=processors, disk_mb=disk.total_mb - disk_kept),
    )


class Node:
    """This machine, for the claims of one worker."""

    def __init__(self, reader: NodeReader, clock: Clock, *, overcommit: float) -> None:
        self._reader, self._clock, self._overcommit = reader, clock, overcommit

    def ever(self) -> Need | None:
        """What it could give with nothing else on it; ``None``: it can't be read."""
        return self.admit()(Reserved()).ever

    def admit(self) -> Admit:
        """Read the machine now; what comes back says what a claim may take, as long as that is fresh."""
        reading = self._reader.read()

        def room(reserved: Reserved) -> Room:
            return room_of(reading, reserved, now=self._clock.monotonic(), overcommit=self._overcommit)

        return room


def held_back_words(held: HeldBack) -> str:
    """Which cell waits for what: it needs X, and this node has Y; and how many more wait."""
    more = f" ({held.rows - 1:,} more wait)" if held.rows > 1 else ""
    return _first_words(held) + more


def _first_words(held: HeldBack) -> str:
    cell, room = f"cell {held.first.hex[:8]}", held.room
    if room.left is None or room.ever is None:
        return f"{cell} waits: this node's free memory or disk can't be read, so it runs one attempt at a time"
    if held.never and (words := too_large_words(held.need, room.ever)):
        return f"{cell} {words}"
    for words, amount in _WORDS:
        need, left, ever = amount(held.need), amount(room.left), amount(room.ever)
        if min(need, ever) > left:
            return f"{cell} needs {need:,.10g} {words}, {max(0, left):,.10g} are left on this node"
    return f"{cell} waits until this node is under less pressure"


def too_large_words(need: Need, ever: Need) -> str:
    """What of a need a node could never give; empty where it can. More processors than it has are all it has."""
    for words, amount in _WORDS:
        if amount(need) > amount(ever) and amount is not _cpus:
            return f"needs {amount(need):,.10g} {words}, and this node has {amount(ever):,.10g} to give"
    return ""


def _memory(need: Need) -> float:
    return round(need.memory_mb)


def _cpus(need: Need) -> float:
    return round(need.cpus, 2)


def _disk(need: Need) -> float:
    return round(need.disk_mb)


_WORDS: tuple[tuple[str, Callable[[Need], float]], ...] = (
    ("MB of memory", _memory),
    ("processors", _cpus),
    ("MB of disk", _disk),
)
