"""Sandboxes that nobody holds any more: their owner is dead, or they outlived their time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from proctor.app import docker_backend, local_backend
from proctor.sandboxes.errors import SandboxError
from proctor.sandboxes.interfaces import Labels, SandboxBackend
from proctor.settings import Settings

__all__ = ["leaks", "remove_leaks"]


def leaks(settings: Settings) -> Mapping[str, int]:
    """How many there are by backend, of this data folder; one without an engine that answers is left out."""
    found = {}
    for backend in _backends(settings):
        with suppress(SandboxError):
            found[backend.name] = asyncio.run(backend.leaked(_held))
    return found


def remove_leaks(settings: Settings) -> None:
    """Remove them, as the next worker would."""
    for backend in _backends(settings):
        with suppress(SandboxError):
            asyncio.run(backend.reap(_held))


def _backends(settings: Settings) -> Sequence[SandboxBackend]:
    return local_backend(settings), docker_backend(settings)


async def _held(_: Labels) -> bool:
    """Whoever is dead holds nothing."""
    return False
