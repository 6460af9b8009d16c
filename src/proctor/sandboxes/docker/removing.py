"""The end of what is an engine's, also where it is just being started again."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from proctor.sandboxes.docker.engine import SLOW_SEC, Engine, EngineError, EngineSilent
from proctor.sandboxes.errors import ExecChannelError

__all__ = ["REMOVE_SEC", "remove", "remove_image", "remove_network", "remove_volume"]

_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds between tries: an engine is back within half a minute, or the reaper sees to what is left."""
REMOVE_SEC: float = 120.0
"""For one container. An engine goes on removing what nobody waits for any more."""


async def remove(engine: Engine, container: str, within: float = REMOVE_SEC) -> None:
    """Kill and remove it with its volumes; one that is gone is well. Raises ``EngineError``, ``EngineSilent``."""
    await _delete(engine, f"containers/{container}", within, force=True, v=True)


async def remove_network(engine: Engine, network: str) -> None:
    """Remove a network that no container is in; one that is gone is well. Raises ``EngineError``."""
    await _delete(engine, f"networks/{network}")


async def remove_volume(engine: Engine, volume: str) -> None:
    """Remove a volume that no container has; one that is gone is well. Raises ``EngineError``."""
    await _delete(engine, f"volumes/{volume}")


async def remove_image(engine: Engine, image: str) -> None:
    """Remove an image by one of its names, or by its id; one that is used or gone is well. Raises ``EngineError``."""
    await _delete(engine, f"images/{quote(image, safe='/:@')}")


async def _delete(engine: Engine, what: str, within: float = SLOW_SEC, **params: object) -> None:
    for pause in (*_PAUSES, None):
        try:
            await engine.ask("DELETE", what, None, within=within, **params)
            return
        except EngineError as error:
            if error.status in (404, 409):  # gone, or another is at it
                return
            if error.status != 403 or pause is None:  # a network that a container is just leaving
                raise
        except EngineSilent:
            raise
        except ExecChannelError:
            if pause is None:
                raise
        await asyncio.sleep(pause)
