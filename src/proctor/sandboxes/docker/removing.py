"""The end of a container, also where its engine is just being started again."""

from __future__ import annotations

import asyncio

from proctor.sandboxes.docker.engine import Engine, EngineError
from proctor.sandboxes.errors import ExecChannelError

__all__ = ["remove"]

_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds between tries: an engine is back within half a minute, or the reaper sees to what is left."""


async def remove(engine: Engine, container: str) -> None:
    """Kill and remove it with its volumes; one that is gone is well. Raises ``EngineError``."""
    for pause in (*_PAUSES, None):
        try:
            await engine.ask("DELETE", f"containers/{container}", force=True, v=True)
            return
        except EngineError as error:
            if error.status in (404, 409):  # gone, or another is at it
                return
            raise
        except ExecChannelError:
            if pause is None:
                raise
            await asyncio.sleep(pause)
