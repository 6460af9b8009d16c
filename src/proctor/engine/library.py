"""Tasks for a worker: their files brought to this machine once, what they say kept in memory."""

from __future__ import annotations

import threading
from pathlib import Path
from uuid import UUID

from proctor.engine.assignments import LoadedTask
from proctor.suites.service import SuiteService

__all__ = ["CachedLibrary"]


class CachedLibrary:
    """A ``TaskLibrary`` over the suites of the database; safe to use from several threads."""

    def __init__(self, suites: SuiteService, cache: Path) -> None:
        self._suites = suites
        self._cache = cache
        self._known: dict[tuple[UUID, str], LoadedTask] = {}
        self._lock = threading.Lock()

    def load(self, tenant: UUID, content_digest: str) -> LoadedTask:
        """A task by its content digest, its files on this machine."""
        key = (tenant, content_digest)
        with self._lock:
            if key not in self._known:
                self._known[key] = self._load(tenant, content_digest)
            return self._known[key]

    def _load(self, tenant: UUID, content_digest: str) -> LoadedTask:
        stored = self._suites.task(tenant, content_digest)
        usable = stored.task is not None
        return LoadedTask(
            content_digest=content_digest,
            agent_digest=stored.agent_digest,
            verifier_digest=stored.verifier_digest,
            name=stored.name,
            task=stored.task,
            folder=self._suites.materialise(tenant, content_digest, self._cache) if usable else None,
            problem=stored.problems[0] if stored.problems else None,
        )
