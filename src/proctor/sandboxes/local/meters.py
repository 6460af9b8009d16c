"""What a sandbox uses, read from outside it: its processes, their memory, its files on disk."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from proctor.sandboxes.files.trees import tree_use
from proctor.sandboxes.files.unlinked import unlinked_bytes
from proctor.sandboxes.interfaces import LimitKind

__all__ = ["Meter", "descendants", "memory_of"]

_WALK_EVERY = 0.5
"""Seconds between two walks of the files at the least; a large tree is walked for 5 % of the time at most,
and sooner when the filesystem has lost half of what the sandbox may still write."""
_WALK_SHARE = 20.0
_HOST_ROOM = 1024 * 1024
"""Less than this left on the host's disk and a write of ordinary size fails, or did a moment ago."""
_GRACE = 10
"""After a kill the next execs, a verifier say, may write another tenth of the limit."""


def descendants(keeper: int) -> list[int]:
    """Host pids of everything in a sandbox but its keeper: orphans become the keeper's children."""
    found: list[int] = []
    pending = [keeper]
    while pending:
        children = _children(pending.pop())
        found += children
        pending += children
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                children += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return children


def memory_of(pids: list[int]) -> int:
    """Bytes of anonymous and shared memory of these processes."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith(("RssAnon:", "RssShmem:")):
                    total += int(line.split()[1]) * 1024
    return total


@dataclass
class Meter:
    """Looks at one sandbox and says which metered limit it is over."""

    root: Path
    keeper: int
    limits: Mapping[LimitKind, int]
    """Of the limits that nothing but this meter holds, disk among them."""

    def __post_init__(self) -> None:
        self._device = os.stat(self.root).st_dev
        self._ceiling = self.limits[LimitKind.DISK]
        self._used = 0
        self._free = 0
        self._next = 0.0
        self._host_full = False

    def host_was_full(self) -> bool:
        """Whether the host's disk had no room at any look so far; costs one system call. What a program could not
        write then is nobody's failure but the host's, and nothing tells it from what it did not want to write."""
        if not self._host_full:
            disk = os.statvfs(self.root)
            self._host_full = disk.f_bavail * disk.f_frsize < _HOST_ROOM or (disk.f_files > 0 and disk.f_favail == 0)
        return self._host_full

    def due(self) -> bool:
        """Whether a look is worth a thread; costs one system call."""
        if len(self.limits) > 1:
            return True
        return time.monotonic() >= self._next or self._free - self._free_now() > (self._ceiling - self._used) / 2

    def look(self) -> LimitKind | None:
        """Measure. Blocks for as long as the sandbox has files."""
        pids = descendants(self.keeper)
        if len(pids) > self.limits.get(LimitKind.PIDS, len(pids)):
            return LimitKind.PIDS
        if LimitKind.MEMORY in self.limits and memory_of(pids) > self.limits[LimitKind.MEMORY]:
            return LimitKind.MEMORY
        return LimitKind.DISK if self._disk(pids) > self._ceiling else None

    def killed(self) -> None:
        """What was over the disk limit is dead; what runs next gets a little room."""
        self._ceiling = max(self._ceiling, self._used) + self.limits[LimitKind.DISK] // _GRACE
        self._next = 0.0

    def _disk(self, pids: list[int]) -> int:
        began = time.monotonic()
        self._free = self._free_now()
        use = tree_use(self.root)
        self._used = use.bytes + unlinked_bytes(pids, {self._device})
        now = time.monotonic()
        self._next = now + max(_WALK_EVERY, (now - began) * _WALK_SHARE)
        # A tree too deep to be measured counts as over the limit: it must not be a way around it.
        return self._ceiling + 1 if use.too_deep else self._used

    def _free_now(self) -> int:
        free = os.statvfs(self.root)
        return free.f_bfree * free.f_frsize
