"""Versions of prompts of a tenant on a server."""

from __future__ import annotations

from dataclasses import asdict

from proctor.jobs.prompts import NewPrompt, PromptRow, PromptVersion
from proctor.sdk.remote.answers import part, read
from proctor.sdk.remote.transport import Transport

__all__ = ["RemotePrompts"]


class RemotePrompts:
    """What ``proctor.sdk.prompts.Prompts`` answers, answered by a server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def all(self) -> list[PromptRow]:
        """All versions by name, the newest of each first."""
        return read(list[PromptRow], list(self._transport.pages("prompts")))

    def show(self, reference: str) -> PromptVersion:
        """A version by ``NAME@VERSION``; ``NAME`` is the newest."""
        return read(PromptVersion, self._transport.get(f"prompts/{part(reference)}"))

    def add(self, new: NewPrompt) -> tuple[PromptVersion, bool]:
        """The version of a name that has these texts, and whether it is new."""
        told = self._transport.post("prompts", asdict(new))
        return read(PromptVersion, told["prompt"]), bool(told["new"])
