"""What every container of ours is held to, whoever's program runs in it."""

from __future__ import annotations

from typing import Any

from proctor.sandboxes.docker.defaults import DEFAULTS
from proctor.sandboxes.interfaces import Limits

__all__ = ["ceilings"]

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
