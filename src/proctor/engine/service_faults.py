"""Whose it is when a service does not become ready: the task's, if that happens twice alike and never otherwise.

One failure proves little: a busy machine makes a healthcheck slow, and a lost connection ends a program that needs it.
"""

from __future__ import annotations

from collections.abc import Hashable

from proctor.sandboxes.errors import ServiceFailed

__all__ = ["ServiceFaults"]


class ServiceFaults:
    """What one worker has seen of the services of its tasks. Tasks are told apart by their content digest."""

    def __init__(self) -> None:
        self._failed: dict[Hashable, float] = {}
        self._ready: set[str] = set()

    def became_ready(self, task: str) -> None:
        """All services of a task were ready once: it is no fault of the task's when they are not."""
        self._ready.add(task)

    def met(self, task: str, error: ServiceFailed, *, began: float, now: float) -> ServiceFailed:
        """The failure, as repeated where an attempt that had ended before this one ``began`` met the same."""
        key = (task, error.service, error.fault, error.ended_with)
        first = self._failed.setdefault(key, now)
        return error.again() if first <= began and task not in self._ready else error
