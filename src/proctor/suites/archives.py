"""A task as one archive: the same bytes for the same content, and nothing trusted when it is unpacked.

An archive holds plain files only. Their modes follow from what they are (a script or a program can be
executed, nothing else can), so an archive depends on the content digest alone and not on how a folder was
checked out. Unpacked files keep those modes, owner-writable, since sandboxes copy them with their modes.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO

from proctor.suites.errors import ArchiveInvalid, TaskChanged
from proctor.suites.files import MAX_ENTRIES, MAX_TASK_BYTES, TaskFile

__all__ = ["EXECUTABLE_HEADS", "lay_out", "pack", "unpack"]

EXECUTABLE_HEADS: tuple[bytes, ...] = (b"#!", b"\x7fELF")
"""How a file begins that is meant to be executed."""
_FILE_MODE: int = 0o644
_EXECUTABLE_MODE: int = 0o755
_PIECE: int = 1024 * 1024


def pack(files: Iterable[TaskFile], destination: Path) -> None:
    """Write the archive of these files. Raises ``TaskChanged`` if one is no longer what was read."""
    with tarfile.open(destination, "w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(files, key=lambda file: file.path):
            with open(file.source, "rb") if file.content is None else io.BytesIO(file.content) as source:
                _pack_one(archive, file, source)


def lay_out(files: Iterable[TaskFile], destination: Path) -> None:
    """The folder that a task is run from, as a worker would have it, without a store. Raises ``TaskChanged``."""
    with tempfile.TemporaryDirectory(prefix="proctor-lay-out-") as place:
        archive = Path(place) / "task.tar"
        pack(files, archive)
        unpack(archive, destination)


def unpack(archive: Path, destination: Path) -> None:
    """Unpack an archive into a folder that does not exist yet; it appears whole, or not at all.

    Raises ``ArchiveInvalid`` for anything but plain files below the folder, within the limits of a task.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{destination.name[:16]}.", dir=destination.parent))
    try:
        _unpack_all(archive, building)
        _set_folder_modes(building)
        building.rename(destination)
    except tarfile.TarError as error:
        raise ArchiveInvalid(str(error), where=str(archive)) from error
    except OSError:
        if not destination.is_dir():
            raise
    finally:
        if building.exists():
            shutil.rmtree(building)


def _pack_one(archive: tarfile.TarFile, file: TaskFile, source: IO[bytes]) -> None:
    member = tarfile.TarInfo(file.path)
    member.size = file.size
    member.mode = _EXECUTABLE_MODE if source.read(4).startswith(EXECUTABLE_HEADS) else _FILE_MODE
    source.seek(0)
    hashing = _Hashing(source)
    try:
        archive.addfile(member, hashing)
    except OSError as error:
        raise TaskChanged(where=file.path) from error
    if hashing.hasher.hexdigest() != file.sha256 or source.read(1):
        raise TaskChanged(where=file.path)


class _Hashing:
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.hasher = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        piece = self._file.read(size)
        self.hasher.update(piece)
        return piece


def _unpack_all(archive: Path, folder: Path) -> None:
    total = 0
    with tarfile.open(archive, "r:") as members:
        for number, member in enumerate(members):
            total += member.size
            if number >= MAX_ENTRIES or total > MAX_TASK_BYTES:
                raise ArchiveInvalid("holds more than a task may", where=str(archive))
            _unpack_one(members, member, folder)


def _unpack_one(members: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    path = PurePosixPath(member.name)
    content = members.extractfile(member) if member.isreg() else None
    if content is None or path.is_absolute() or ".." in path.parts or not path.parts:
        raise ArchiveInvalid("holds something other than plain files below the task folder", where=member.name)
    target = folder.joinpath(*path.parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as file:
        shutil.copyfileobj(content, file, _PIECE)
    target.chmod(_EXECUTABLE_MODE if member.mode & 0o100 else _FILE_MODE)


def _set_folder_modes(folder: Path) -> None:
    for path, _, _ in os.walk(folder):
        os.chmod(path, _EXECUTABLE_MODE)
