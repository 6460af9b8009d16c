"""What a container takes on its engine's disk: what it changed, its volumes, and deleted files that it holds open.

What a container changed of its image lies in a folder of the engine's, which is walked where it can be: an engine's own
count leaves out folders and empty files, and takes a sparse file for as long as it says it is. Its volumes lie beside
that, the named ones of its task and those that its image declares; each counts for every container that may write it,
since no writer can be told from another.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from proctor.sandboxes.docker.engine import SLOW_SEC, Engine, EngineError
from proctor.sandboxes.files.trees import tree_use
from proctor.sandboxes.files.unlinked import unlinked_bytes

__all__ = ["LATEST_SEC", "WALK_SHARE", "DiskUse", "disk_use"]

WALK_SHARE: float = 20.0
"""A large tree is walked for 5 % of the time at most: the next look is so many times as late as the last one took."""

LATEST_SEC: float = 5.0
"""And never later than this: who fills a disk makes the looks at it slow."""


class DiskUse(NamedTuple):
    """What was found; ``too_deep``: in a volume lie more folders inside one another than are walked."""

    bytes: int
    too_deep: bool = False

    def is_over(self, ceiling: int) -> bool:
        """Whether that is more than may be."""
        return self.too_deep or self.bytes > ceiling


async def disk_use(engine: Engine, container: str, pids: Sequence[int]) -> DiskUse:
    """Measure one; ``pids``: its processes, as this machine numbers them."""
    found = await engine.ask("GET", f"containers/{container}/json")
    volumes = [one for one in found.get("Mounts") or [] if one["Type"] == "volume" and one["RW"]]
    walked = await asyncio.to_thread(_walk, engine, [one["Source"] for one in volumes], pids)
    if walked is None:
        walked = DiskUse(await _told(engine, {one["Name"] for one in volumes}))
    changed = await asyncio.to_thread(_walk, engine, _upper(found), ())
    if changed is None:
        found = await engine.ask("GET", f"containers/{container}/json", within=SLOW_SEC, size=True)
        changed = DiskUse(int(found.get("SizeRw") or 0))
    return DiskUse(changed.bytes + walked.bytes, changed.too_deep or walked.too_deep)


def _upper(found: Mapping[str, Any]) -> Sequence[str | None]:
    """Where a container's own changes lie, in an engine's answer; ``None`` where it does not say."""
    return [((found.get("GraphDriver") or {}).get("Data") or {}).get("UpperDir")]


def _walk(engine: Engine, folders: Sequence[str | None], pids: Sequence[int]) -> DiskUse | None:
    """``None`` where folders can't be walked: on another machine, unknown, or by who may not enter them."""
    try:
        if folders and not (all(folders) and engine.is_local and os.geteuid() == 0):
            return None
        known = [folder for folder in folders if folder]
        uses = [tree_use(folder) for folder in known]
        devices = {os.stat(folder).st_dev for folder in known} | _own_devices(pids)
    except OSError:
        return None
    used = sum(use.bytes for use in uses) + unlinked_bytes(pids, devices)
    return DiskUse(used, any(use.too_deep for use in uses))


def _own_devices(pids: Sequence[int]) -> set[int]:
    """Of what a container has as its root: seen where the engine is on this machine, and we may look."""
    try:
        return {os.stat(f"/proc/{pids[0]}/root").st_dev}
    except (OSError, IndexError):
        return set()


async def _told(engine: Engine, names: set[str]) -> int:
    """What the engine says of volumes: it walks all that it has for that, one question at a time."""
    for left in reversed(range(_TRIES)):
        try:
            answer = await engine.ask("GET", "system/df", None, within=SLOW_SEC, type="volume")
            break
        except EngineError as error:
            if "already running" not in error.words or not left:
                raise
            await asyncio.sleep(_ASKED_AGAIN_SEC)
    listed: Sequence[Mapping[str, Any]] = answer["Volumes"] or []
    sizes = ((one.get("UsageData") or {}).get("Size", 0) for one in listed if one["Name"] in names)
    return sum(max(0, int(size)) for size in sizes)


_ASKED_AGAIN_SEC: float = 0.25
_TRIES: int = 40
"""An engine refuses a second such question while it works on one: ten seconds are patience enough for a look."""
