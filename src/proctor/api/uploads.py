"""Files that are sent: to disk, and never more than there is room for."""

from __future__ import annotations

import shutil
from typing import IO

import anyio.to_thread
from fastapi import Request

from proctor.api.middleware import TooLarge
from proctor.sdk.dataset_work import DATASET_BYTES

__all__ = ["receive"]

FREE_SHARE: int = 3
"""Of the free disk an upload may take a third: it is kept, unpacked and written as Parquet for a while."""


async def receive(request: Request, file: IO[bytes]) -> None:
    """The body to disk. Raises ``TooLarge`` beyond ``DATASET_BYTES`` or a third of the room that was there."""
    most = min(DATASET_BYTES, shutil.disk_usage(file.name).free // FREE_SHARE)
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise TooLarge()
        await anyio.to_thread.run_sync(file.write, piece)
    file.flush()
