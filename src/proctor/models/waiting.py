"""Waiting for what may not come."""

from __future__ import annotations

import asyncio

__all__ = ["came"]


async def came(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, at the most so long; whether it came."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
