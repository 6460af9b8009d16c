"""What was left: containers, networks and volumes of ours whose time or owner is over, and images that are old."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from proctor.sandboxes.docker.engine import Engine
from proctor.sandboxes.docker.labels import CELL, OURS, labels_of
from proctor.sandboxes.docker.old_images import old_images
from proctor.sandboxes.docker.removing import remove, remove_image, remove_network, remove_volume
from proctor.sandboxes.errors import SandboxError
from proctor.sandboxes.interfaces import Labels
from proctor.sandboxes.owners import owner_is_dead

__all__ = ["Leftover", "all_removed", "leftovers"]

_REMOVE_SEC: float = 20.0
"""An engine goes on removing what nobody waits for any more."""
_AT_ONCE: int = 8
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Leftover:
    """One thing that nobody holds any more."""

    id: str
    cell: str
    """The sandbox that it belongs to; an image is nobody's."""
    remove: Callable[[Engine, str], Awaitable[None]]


async def leftovers(
    engine: Engine, mark: str, is_live: Callable[[Labels], Awaitable[bool]], kept: timedelta
) -> AsyncIterator[Leftover]:
    """Each of ours whose time or owner is over: containers first, since networks and volumes are theirs.

    ``kept``: how long an image stays that nobody asks for.
    """
    kinds = (
        (await _ours(engine, mark, "containers/json", all=True), "Id", remove),
        (await _ours(engine, mark, "networks"), "Id", remove_network),
        ((await _ours(engine, mark, "volumes"))["Volumes"] or [], "Name", remove_volume),
    )
    for found, key, end in kinds:
        for one in found:
            if await _outlived(one["Labels"], is_live):
                yield Leftover(id=one[key], cell=one["Labels"].get(CELL, ""), remove=end)
    async for image in old_images(engine, mark, kept):
        yield Leftover(id=image, cell="", remove=remove_image)


async def all_removed(removals: Iterable[Awaitable[None]]) -> int:
    """How many ended well and in time: one that does not keeps no other from its end."""
    turns = asyncio.Semaphore(_AT_ONCE)
    return sum(await asyncio.gather(*(_removed(removal, turns) for removal in removals)))


async def _removed(removal: Awaitable[None], turns: asyncio.Semaphore) -> bool:
    async with turns:
        try:
            async with asyncio.timeout(_REMOVE_SEC):
                await removal
        except (SandboxError, TimeoutError) as error:
            _log.warning("sandboxes.not_removed", error=str(error) or "it took too long")
            return False
    return True


async def _ours(engine: Engine, mark: str, path: str, **params: bool) -> Any:
    return await engine.ask("GET", path, None, filters=json.dumps({"label": [f"{OURS}={mark}"]}), **params)


async def _outlived(found: Mapping[str, str], is_live: Callable[[Labels], Awaitable[bool]]) -> bool:
    labels = labels_of(found)
    if labels is None or not (datetime.now(UTC) >= labels.expires_at or owner_is_dead(labels)):
        return False
    return not await is_live(labels)
