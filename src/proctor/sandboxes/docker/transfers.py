"""Files in and out of a container, which its engine sends and takes as tars; also of one that does not run."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from tarfile import TarInfo
from tempfile import TemporaryFile
from typing import IO, Any

from proctor.sandboxes.docker.engine import Engine, EngineError
from proctor.sandboxes.docker.tars import first_entry, first_file, holes_of, pack, spooled
from proctor.sandboxes.errors import NothingThere, SandboxError, TransferRefused
from proctor.sandboxes.files.archives import unpack
from proctor.sandboxes.files.confined import descriptor, parts_of
from proctor.sandboxes.files.trees import remove_tree
from proctor.sandboxes.interfaces import TransferLimits

__all__ = ["ETC_BYTES", "Files", "etc_file"]

_STAT_SEC: float = 60.0
_SYMLINK, _FOLDER, _SPECIAL = 1 << 27, 1 << 31, (1 << 26) | (1 << 25) | (1 << 24) | (1 << 21) | (1 << 19)
"""Bits of Go's ``fs.FileMode``, in which an engine describes a path."""
ETC_BYTES = 1 << 20


class Files:
    """The files of one container."""

    def __init__(self, engine: Engine, container: str) -> None:
        self._engine, self._container = engine, container

    async def put(self, source: Path, destination: str, owner: tuple[int, int]) -> None:
        """Copy a host file or tree in: modes, symlinks and hard links kept, owned by ``owner``."""
        parts = parts_of(destination)
        if not parts:
            raise TransferRefused("`/` itself can't be replaced")
        there = await self._deepest(parts[:-1])
        name = "/".join(parts[len(there) :])
        with pack(source, name, owner) as tar:
            await self._extract("/" + "/".join(there), tar)

    async def get(self, source: str, destination: Path, limits: TransferLimits) -> None:
        """Copy a file or tree out to a new host path. Raises ``TransferRefused`` for devices or caps."""
        parts = parts_of(source)
        if not parts:
            raise TransferRefused("name a path below `/`; a snapshot keeps all of it")
        if destination.exists() or destination.is_symlink():
            raise TransferRefused("the destination exists", where=str(destination))
        with TemporaryFile() as spool:
            stat = await self.spool("/" + "/".join(parts), spool, limits)
            if stat["mode"] & _SYMLINK:
                raise TransferRefused("a symlink is not followed", where=source)
            await asyncio.to_thread(_unpack, spool, destination, str(stat["name"]), limits)

    async def read(self, path: str, max_bytes: int) -> bytes | None:
        """A regular file's bytes, ``None`` where there is none; symlinks refused, never longer than the cap."""
        parts = parts_of(path)
        try:
            async with self._archive("/" + "/".join(parts)) as (stat, pieces):
                if stat["mode"] & _SYMLINK:
                    raise TransferRefused("a symlink is not followed", where=path)
                if stat["mode"] & (_FOLDER | _SPECIAL):
                    return None
                return await first_file(pieces, max_bytes)
        except NothingThere:
            return None

    async def has(self, path: str) -> bool:
        """Whether there is anything at a path."""
        try:
            await self.stat(path)
        except NothingThere:
            return False
        return True

    async def folder(self, path: str) -> TarInfo | None:
        """The entry of a folder, without what is in it; ``None`` where there is something else."""
        async with self._archive(path) as (stat, pieces):
            return await first_entry(pieces) if stat["mode"] & _FOLDER else None

    async def fill(self, tar: IO[bytes]) -> None:
        """Unpack a tar of ours at ``/``, owners kept."""
        await self._extract("/", tar)

    async def _deepest(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """How much of a folder's path is there; what is missing comes with the tar."""
        while parts:
            try:
                await self.stat("/" + "/".join(parts))
                return parts
            except NothingThere:
                parts = parts[:-1]
        return parts

    async def stat(self, path: str) -> Mapping[str, Any]:
        try:
            way = f"containers/{self._container}/archive"
            async with self._engine.send("HEAD", way, within=_STAT_SEC, path=path) as answer:
                return _described(answer.headers)
        except EngineError as error:
            raise _transfer_error(error, path) from error

    async def _extract(self, folder: str, tar: IO[bytes]) -> None:
        try:
            async with self._engine.send("PUT", f"containers/{self._container}/archive", data=tar, path=folder):
                return
        except EngineError as error:
            raise _transfer_error(error, folder) from error

    def _archive(self, path: str) -> _Archive:
        return _Archive(self._engine, self._container, path)

    async def export(self, spool: IO[bytes]) -> None:
        """All files of it, its image's as well: no cap but the disk's own, since an image may be as large as it is."""
        async with self._engine.send("GET", f"containers/{self._container}/export") as answer:
            await spooled(answer.content.iter_chunked(1 << 18), spool, None)

    async def spool(self, path: str, spool: IO[bytes], limits: TransferLimits) -> Mapping[str, Any]:
        async with self._archive(path) as (stat, pieces):
            await spooled(pieces, spool, limits)
            return stat


async def etc_file(engine: Engine, container: str, name: str) -> bytes:
    """A container's ``/etc/passwd`` or ``/etc/group``; an image that has none has root alone."""
    files, path = Files(engine, container), f"/etc/{name}"
    try:
        stat = await files.stat(path)
        if stat["mode"] & _SYMLINK:  # to where the image keeps it, as on NixOS
            path = str(stat.get("linkTarget") or path)
        return await files.read(path, ETC_BYTES) or b""
    except (EngineError, TransferRefused):
        return b""


class _Archive:
    """An engine's tar of one path, as it comes."""

    def __init__(self, engine: Engine, container: str, path: str) -> None:
        self._path = path
        self._sent = engine.send("GET", f"containers/{container}/archive", path=path)

    async def __aenter__(self) -> tuple[Mapping[str, Any], AsyncIterator[bytes]]:
        try:
            answer = await self._sent.__aenter__()
        except EngineError as error:
            raise _transfer_error(error, self._path) from error
        return _described(answer.headers), answer.content.iter_chunked(1 << 18)

    async def __aexit__(self, *error: Any) -> None:
        await self._sent.__aexit__(*error)


def _described(headers: Mapping[str, str]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(base64.b64decode(headers["X-Docker-Container-Path-Stat"]))
    return found


def _transfer_error(error: EngineError, path: str) -> SandboxError:
    """What a refusal says of the path, if it does: an engine that has trouble of its own says nothing of an agent."""
    if "no such container" in error.words.lower():
        return error
    if error.status == 404 or "not a directory" in error.words:
        return NothingThere(error.words, where=path)
    of_the_path = error.status < 500 or error.words.startswith("copier:")  # Podman's word for what it can't unpack
    return TransferRefused(error.words, where=path) if of_the_path else error


def _unpack(spool: IO[bytes], destination: Path, name: str, limits: TransferLimits) -> None:
    """Unpack beside the destination and rename, so that half a copy is never there."""
    folder = Path(tempfile.mkdtemp(dir=destination.parent, prefix=".get-"))
    try:
        with descriptor(os.open(folder, os.O_PATH | os.O_DIRECTORY)) as root:
            unpack(spool, root, owner=None, limits=limits, held=holes_of(spool))
        (folder / name).rename(destination)
    finally:
        remove_tree(folder)
