"""What every container of ours is held to, whoever's program runs in it."""

from __future__ import annotations

from typing import Any

from proctor.sandboxes.docker.defaults import DEFAULTS
from proctor.sandboxes.interfaces import Limits, Requests
from proctor.sandboxes.promises import machine_bytes, oom_score

__all__ = ["ceilings", "promised"]

_DROPPED = ("NET_RAW", "MKNOD", "AUDIT_WRITE")
"""Of the engine's own set of capabilities: what lets a container forge packets, devices or audit records."""


def ceilings(limits: Limits, runtime: str | None) -> dict[str, Any]:
    """The part of a container's ``HostConfig`` that holds it: limits, or our defaults, and capabilities."""
    memory = (limits.memory_mb or DEFAULTS.memory_mb or 0) * 1000**2
    file_size = (limits.file_size_mb or DEFAULTS.file_size_mb or 0) * 1024**2
    return {
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": int((limits.cpus or 0) * 1e9),
        "PidsLimit": limits.pids or DEFAULTS.pids,
        "CapDrop": list(_DROPPED),
        "Ulimits": [
            {"Name": "fsize", "Soft": file_size, "Hard": file_size},
            {"Name": "core", "Soft": 0, "Hard": 0},
        ],
        **({"Runtime": runtime} if runtime else {}),
    }


def promised(requests: Requests | None, memory: int) -> dict[str, int]:
    """What is kept for a container while others want more; an engine takes no promise beyond the limit."""
    if requests is None:
        return {}
    return {
        "MemoryReservation": min(memory, int(requests.memory_mb * 1000**2)),
        "CpuShares": max(2, round(requests.cpus * 1024)),
        "OomScoreAdj": oom_score(int(requests.memory_mb * 1000**2), machine_bytes()),
    }
