"""Versions of prompts of a tenant's platform: added, listed, shown."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from proctor.app import Platform

if TYPE_CHECKING:
    from proctor.jobs.prompts import NewPrompt, PromptRow, PromptService, PromptVersion

__all__ = ["Prompts"]


class Prompts:
    """What the client answers of prompts."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def all(self) -> list[PromptRow]:
        """All versions by name, the newest of each first."""
        return self._service.prompts()

    def show(self, reference: str) -> PromptVersion:
        """A version by ``NAME@VERSION``; ``NAME`` is the newest. Raises ``PromptUnknown``."""
        return self._service.find(reference)

    def add(self, new: NewPrompt, *, creator: UUID | None = None) -> tuple[PromptVersion, bool]:
        """The version of a name that has these texts, and whether it is new. Raises ``PromptInvalid``,
        ``TargetInvalid`` for a text that names what no example has."""
        return self._service.add(new, creator=creator)

    @property
    def _service(self) -> PromptService:
        from proctor.jobs.prompts import PromptService

        return PromptService(self._platform.database, self._platform.tenant)
