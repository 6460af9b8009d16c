"""Files that have no name left but take room, since a process holds them open."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress

__all__ = ["unlinked_bytes"]


def unlinked_bytes(pids: Iterable[int], devices: Collection[int]) -> int:
    """Bytes on these devices of files that have no name left but are held open."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    info = os.stat(f"/proc/{pid}/fd/{fd}")
                    if info.st_nlink == 0 and info.st_dev in devices and stat.S_ISREG(info.st_mode):
                        sizes[info.st_dev, info.st_ino] = info.st_blocks * 512
    return sum(sizes.values())
