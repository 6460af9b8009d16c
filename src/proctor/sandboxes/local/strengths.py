"""How far each limit holds on this machine for this user, and the limits a sandbox gets by default."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from proctor.sandboxes.interfaces import LimitKind, Limits, Strength
from proctor.sandboxes.local import cgroups
from proctor.sandboxes.local.launch import Ceilings
from proctor.sandboxes.promises import machine_bytes

__all__ = ["ceilings", "memory_bytes", "metered_limits", "strengths"]

_MEGABYTE = 1024**2
_DISK_MB = 4096
"""Room for a large build; small enough that a few sandboxes can't fill an ordinary disk."""
_PIDS = 1024
"""Threads included: a parallel build or a browser fits, a fork bomb stays harmless."""
_MEMORY_SHARE = 2
"""A sandbox without a limit of its own may take half of the machine's memory."""
_COUNTS_PER_NAMESPACE = (5, 14)
"""From this kernel on RLIMIT_NPROC counts the processes of one user namespace, not of the whole user."""


def strengths() -> Mapping[LimitKind, Strength]:
    """What holds each limit."""
    held = cgroups.available()
    return {
        LimitKind.MEMORY: Strength.ENFORCED if LimitKind.MEMORY in held else Strength.METERED,
        LimitKind.CPU: Strength.ENFORCED if LimitKind.CPU in held else Strength.ABSENT,
        LimitKind.PIDS: Strength.ENFORCED if _processes_enforced() else Strength.METERED,
        LimitKind.DISK: Strength.METERED,
        LimitKind.FILE_SIZE: Strength.ENFORCED,
        LimitKind.WALL: Strength.ENFORCED,
        LimitKind.OUTPUT: Strength.ENFORCED,
    }


def _processes_enforced() -> bool:
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    recent = release is not None and (int(release[1]), int(release[2])) >= _COUNTS_PER_NAMESPACE
    return recent or os.geteuid() == 0


def memory_bytes(limits: Limits) -> int:
    """The ceiling of a sandbox's memory."""
    if limits.memory_mb is not None:
        return limits.memory_mb * _MEGABYTE
    return machine_bytes() // _MEMORY_SHARE


def ceilings(limits: Limits) -> Ceilings:
    """The rlimits of every exec. Where processes are counted over the whole user, the meter holds instead."""
    own = limits.pids or _PIDS
    return Ceilings(
        processes=own if _processes_enforced() else _user_processes(own),
        file_bytes=(limits.file_size_mb or _disk_mb(limits)) * _MEGABYTE,
    )


def metered_limits(limits: Limits) -> Mapping[LimitKind, int]:
    """The limits that our own watch holds."""
    held = strengths()
    wanted = {
        LimitKind.DISK: _disk_mb(limits) * _MEGABYTE,
        LimitKind.MEMORY: memory_bytes(limits),
        LimitKind.PIDS: limits.pids or _PIDS,
    }
    return {kind: value for kind, value in wanted.items() if held[kind] is Strength.METERED}


def _disk_mb(limits: Limits) -> int:
    return limits.disk_mb or _DISK_MB


def _user_processes(own: int) -> int:
    """All that the user runs already, beside the sandbox's own."""
    uid = os.geteuid()
    running = 0
    for entry in Path("/proc").iterdir():
        try:
            running += entry.name.isdigit() and entry.stat().st_uid == uid
        except OSError:  # it ended
            continue
    return own + running
