"""Files that are sent: to disk, and never more than there is room for."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import anyio.to_thread
from fastapi import Request, Response

from proctor.api.asking import Asked
from proctor.api.middleware import TooLarge
from proctor.api.receipts import accepted
from proctor.kernel.ids import new_id
from proctor.sdk.jobs import Upload, Work
from proctor.sdk.work import WorkKind

__all__ = ["kept", "receive"]

FREE_SHARE: int = 3
"""Of the free disk an upload may take a third: it is kept, unpacked and written as Parquet for a while."""


async def receive(request: Request, file: IO[bytes], most: int) -> None:
    """The body to disk. Raises ``TooLarge`` beyond ``most`` bytes, or a third of the room that was there."""
    most, size = min(most, shutil.disk_usage(file.name).free // FREE_SHARE), 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise TooLarge()
        await anyio.to_thread.run_sync(file.write, piece)
    file.flush()


def kept(asked: Asked, file: IO[bytes], kind: WorkKind, form: type[Work], said: Mapping[str, object]) -> Response:
    """Keep what was sent until the work that is made of it is done, and have that done: 202 and its receipt.

    ``said``: what the work's ``form`` holds beside the upload.
    """
    identity = new_id()
    objects, key = asked.server.objects, f"{asked.tenant}/operations/{identity}/upload"
    stored = objects.put_file(key, Path(file.name))
    try:
        upload = Upload(key=stored.key, sha256=stored.sha256, size=stored.size)
        return accepted(asked, kind, form.model_validate({**said, "upload": upload}), identity)
    except BaseException:  # whatever it was: nobody will ask for what was sent
        objects.delete(key)
        raise
