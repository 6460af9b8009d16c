"""Where programs run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from proctor.sandboxes.interfaces import Labels, SandboxBackend

__all__ = ["Rooms"]


@dataclass(frozen=True, kw_only=True)
class Rooms:
    """Sandboxes for programs. ``labels``: of one that may be there for so long."""

    backend: SandboxBackend
    labels: Callable[[timedelta], Labels]
