"""What attempts need and what is there for them, in megabytes and processors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

__all__ = ["UNNAMED", "Admit", "HeldBack", "Need", "Reserved", "Room"]


@dataclass(frozen=True, kw_only=True)
class Need:
    """Memory, processors and disk: what an attempt is promised, or a sum of such."""

    memory_mb: float = 0.0
    cpus: float = 0.0
    disk_mb: float = 0.0


UNNAMED = Need(memory_mb=512, cpus=0.5, disk_mb=512)
"""For what a task does not name: a shell, a Python and a compiler fit; half a processor, since agents wait for models
most of their time."""


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """What running attempts of this node were promised, by whichever of its workers."""

    rows: int = 0
    promised: Need = field(default_factory=Need)
    unbegun: Need = field(default_factory=Need)
    """Of those without a sandbox yet: nothing of it shows in what the node uses."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """What a claim may take. ``None``: nothing is known, and ``rows`` alone holds."""

    rows: int | None = None
    """At most so many rows; ``None``: as many as fit."""
    left: Need | None = None
    """Together the claim's rows need no more than this."""
    most: Need | None = None
    """What there would be if all that runs here ended. A row that needs more is passed over; one that needs less is
    waited for, and nothing passes it."""
    ever: Need | None = None
    """What this node could give with nothing else on it. A row that needs more never fits here."""

    def has(self, need: Need) -> bool:
        """Whether one row of that need may be taken now."""
        if self.left is None or self.most is None:
            return self.rows != 0
        cpus = min(need.cpus, self.most.cpus)
        enough = need.memory_mb <= self.left.memory_mb and need.disk_mb <= self.left.disk_mb
        return self.rows != 0 and enough and cpus <= self.left.cpus

    def can_hold(self, need: Need) -> bool:
        """Whether it would fit if all that runs here ended: then it is waited for, else passed over."""
        if self.most is None:
            return True
        return need.memory_mb <= self.most.memory_mb and need.disk_mb <= self.most.disk_mb


Admit = Callable[[Reserved], Room]
"""Says what a claim may take beside what is promised already."""


@dataclass(frozen=True, kw_only=True)
class HeldBack:
    """Rows that wait for room on this node, and the first of them in the order of service."""

    rows: int
    never: int
    """Of these: need more than this node could ever give."""
    first: UUID
    need: Need
    room: Room
