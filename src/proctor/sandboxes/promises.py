"""Who dies when a machine has no memory left: never one that stayed inside its promise, while another is beyond it."""

from __future__ import annotations

import os

__all__ = ["machine_bytes", "oom_score"]


def machine_bytes() -> int:
    """The memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def oom_score(promise: int, machine: int) -> int:
    """What the kernel is to add to a process's own score, both in bytes.

    Its own score is its part of the machine's memory in thousandths. With this it is 1,000 for one that uses all that
    it was promised, more beyond it, and less inside: as in Kubernetes. Below 2 is for the machine's own services.
    """
    return min(999, max(2, 1000 - 1000 * promise // machine))
