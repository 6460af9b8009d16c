"""Sandboxes that nobody holds any more: their owner is dead, or they outlived their time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from proctor.app import docker_backend, local_backend
from proctor.sandboxes.docker.engine import EngineMissing
from proctor.sandboxes.interfaces import Labels, SandboxBackend
from proctor.settings import Settings

__all__ = ["leaks", "remove_leaks"]


def leaks(settings: Settings) -> Mapping[str, int]:
    """How many there are by backend, of this data folder; one without an engine that answers is left out."""
    return {backend.name: asyncio.run(backend.leaked(_held)) for backend in _there(settings)}


def remove_leaks(settings: Settings) -> None:
    """Remove them, as the next worker would."""
    for backend in _there(settings):
        asyncio.run(backend.reap(_held))


def _there(settings: Settings) -> Iterator[SandboxBackend]:
    yield local_backend(settings)
    containers = docker_backend(settings)
    try:
        asyncio.run(containers.leaked(_held))
    except EngineMissing:
        return
    yield containers


async def _held(_: Labels) -> bool:
    """Whoever is dead holds nothing."""
    return False
