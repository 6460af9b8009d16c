"""Ceilings where a task declares none: no attempt may take the machine with it."""

from __future__ import annotations

from proctor.sandboxes.interfaces import Limits

__all__ = ["DEFAULTS"]

DEFAULTS = Limits(memory_mb=4096, pids=1024, disk_mb=10_240, file_size_mb=4096)
