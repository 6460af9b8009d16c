"""A container's final state, asked of its engine: what changed, and the tar of each of these paths."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile

from proctor.sandboxes.docker.engine import Engine
from proctor.sandboxes.docker.states import Changes, StateWriter, read_changes
from proctor.sandboxes.docker.transfers import Files
from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.interfaces import Snapshot, TransferLimits

__all__ = ["FinalState"]

_CHANGES_BYTES = 64 << 20
"""Of an engine's list of changed paths: far more than the 200,000 entries that a state may have."""


class FinalState:
    """Of a container in which nothing runs."""

    def __init__(self, engine: Engine, container: str, files: Files, volumes: tuple[str, ...]) -> None:
        """``volumes``: folders that the image keeps apart; they are kept whole."""
        self._engine, self._container, self._files, self._volumes = engine, container, files, volumes

    async def write(self, destination: Path, limits: TransferLimits) -> Snapshot:
        """As one tar at ``destination``, which is not there where it is refused. Raises ``TransferRefused``."""
        changes = await self._changes()
        try:
            with destination.open("xb") as file:
                writer = StateWriter(file, limits)
                await self._keep_all(changes, writer, limits)
                for path in changes.gone:
                    writer.gone(path)
                return writer.finish(destination)
        except TransferRefused:
            destination.unlink(missing_ok=True)
            raise

    async def _changes(self) -> Changes:
        async with self._engine.send("GET", f"containers/{self._container}/changes") as answer:
            text = await answer.content.read(_CHANGES_BYTES + 1)
            while len(text) <= _CHANGES_BYTES and (piece := await answer.content.read(_CHANGES_BYTES)):
                text += piece
        if len(text) > _CHANGES_BYTES:
            raise TransferRefused("more changed paths than are kept", where=self._container)
        return await asyncio.to_thread(lambda: read_changes(json.loads(text or b"null"), self._volumes))

    async def _keep_all(self, changes: Changes, writer: StateWriter, limits: TransferLimits) -> None:
        """Podman sends single paths as root's, whoever they belong to; only its export of everything tells owners."""
        if not self._engine.is_podman:
            for path in changes.kept:
                await self._keep(path, path in changes.changed, writer, limits)
            return
        with TemporaryFile() as spool:
            await self._files.export(spool)
            await asyncio.to_thread(writer.add, spool, "", changes.keeps)

    async def _keep(self, path: str, only_changed: bool, writer: StateWriter, limits: TransferLimits) -> None:
        """Of a folder of the image's that only changed itself, what is in it is the image's."""
        below = str(PurePosixPath(path).parent)
        if only_changed and (folder := await self._files.folder(path)) is not None:
            writer.folder(folder, below)
            return
        with TemporaryFile() as spool:
            await self._files.spool(path, spool, limits)
            await asyncio.to_thread(writer.add, spool, below)
