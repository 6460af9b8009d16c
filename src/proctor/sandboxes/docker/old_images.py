"""Images of ours that nobody needs any more.

A built image stays for the next attempt that wants the same, until nobody has asked for it in a time that the settings
state: an engine remembers when an image was tagged last, and every request tags it anew. Without a name none can be
asked for, so one that lost its name goes at once. What a build that broke had come to is only known by the name that it
was given then; the engine's cache of it is worth as long a time.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from proctor.sandboxes.docker.engine import Engine
from proctor.sandboxes.docker.images import BROKEN, REPOSITORY, find
from proctor.sandboxes.docker.labels import OURS
from proctor.sandboxes.errors import ImagePullFailed

__all__ = ["KEPT", "old_images"]

KEPT: timedelta = timedelta(days=30)
"""Longer than most evaluations take, and than the time between two of the same suite."""


async def old_images(engine: Engine, mark: str, kept: timedelta) -> AsyncIterator[str]:
    """The names by which to remove each that is no container's, and its id where it has no name."""
    used = {one["ImageID"] for one in await engine.ask("GET", "containers/json", all=True)}
    until = datetime.now(UTC) - kept
    for one in await _listed(engine, "label", f"{OURS}={mark}"):
        names = _names(one)
        if one["Id"] in used or not all(_is_ours(name) for name in names):
            continue
        if not names:
            yield one["Id"]
        elif await _is_older(engine, one, until):
            for name in names:
                yield name
    for one in await _listed(engine, "reference", f"{BROKEN}:{mark}-*"):
        if one["Id"] not in used and await _is_older(engine, one, until):
            for name in _names(one):
                if name.rpartition(":")[2].startswith(f"{mark}-"):
                    yield name


async def _listed(engine: Engine, key: str, value: str) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = await engine.ask("GET", "images/json", filters=json.dumps({key: [value]}))
    return found


def _names(image: Mapping[str, Any]) -> list[str]:
    return [name for name in image.get("RepoTags") or [] if name != "<none>:<none>"]


def _is_ours(name: str) -> bool:
    """Podman puts ``localhost/`` before it."""
    return name.rpartition(":")[0].rpartition("/")[2] == REPOSITORY


async def _is_older(engine: Engine, image: Mapping[str, Any], until: datetime) -> bool:
    """Whether it was made and asked for before that; one that is gone meanwhile is not."""
    if datetime.fromtimestamp(image["Created"], UTC) >= until:
        return False
    try:
        tagged = ((await find(engine, image["Id"])).get("Metadata") or {}).get("LastTagTime")
    except ImagePullFailed:
        return False
    return tagged is None or datetime.fromisoformat(tagged) < until
