"""Whether the worker that made a sandbox still lives, told from its label, for every backend alike."""

from __future__ import annotations

import socket

import psutil

from proctor.sandboxes.interfaces import Labels

__all__ = ["owner_is_dead"]

_SAME_START_SEC = 2.0
"""Start times are read in clock ticks and against a boot time that drifts; one process's agree to this."""


def owner_is_dead(labels: Labels) -> bool:
    """Whether the owner was a process of this machine that is no more; of other machines we can't tell."""
    host, _, process = labels.owner.partition(":") if labels.owner.count(":") == 2 else ("", "", "")
    pid_text, _, start = process.partition(":")
    if host != socket.gethostname() or not pid_text.isdigit():
        return False
    try:
        started = psutil.Process(int(pid_text)).create_time()
    except psutil.NoSuchProcess:
        return True
    try:
        return abs(started - float(start)) > _SAME_START_SEC
    except ValueError:
        return False
