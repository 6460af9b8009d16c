"""What was left: containers, networks and volumes of ours whose time or owner is over, and images that are old."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from proctor.sandboxes.docker.engine import Engine
from proctor.sandboxes.docker.labels import CELL, OURS, labels_of
from proctor.sandboxes.docker.old_images import old_images
from proctor.sandboxes.docker.removing import remove, remove_image, remove_network, remove_volume
from proctor.sandboxes.interfaces import Labels
from proctor.sandboxes.owners import owner_is_dead

__all__ = ["Leftover", "leftovers"]


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


async def _ours(engine: Engine, mark: str, path: str, **params: object) -> Any:
    return await engine.ask("GET", path, None, filters=json.dumps({"label": [f"{OURS}={mark}"]}), **params)


async def _outlived(found: Mapping[str, str], is_live: Callable[[Labels], Awaitable[bool]]) -> bool:
    labels = labels_of(found)
    if labels is None or not (datetime.now(UTC) >= labels.expires_at or owner_is_dead(labels)):
        return False
    return not await is_live(labels)
