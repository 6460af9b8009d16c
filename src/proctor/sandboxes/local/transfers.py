"""Files in and out of a sandbox, worked on from the host side; blocking, so run in a thread.

The sandbox's root is a folder that its programs write to while we do: every path is opened as ``confined``
says, and every entry through an open descriptor of the folder it is in.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from proctor.sandboxes.errors import NothingThere, TransferRefused, UnsupportedByBackend
from proctor.sandboxes.files.confined import descriptor, ensure_folder, open_folder, open_in_root, parts_of, reopen
from proctor.sandboxes.files.trees import Budget, Copier, remove_tree
from proctor.sandboxes.interfaces import TransferLimits
from proctor.sandboxes.local.userland import Userland

__all__ = ["get", "own_parts", "put", "read"]

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def own_parts(path: str, userland: Userland) -> tuple[str, ...]:
    """The components of a path among the sandbox's own files; its system's paths are refused."""
    parts = parts_of(path)
    if parts and parts[0] in userland.mounted:
        raise UnsupportedByBackend("the system's own paths are read-only here", where=path)
    return parts


def put(source: Path, root: Path, parts: tuple[str, ...], owner: int | None) -> None:
    """Copy ``source`` to ``parts``: a file replaces what is there, a folder is merged into a folder."""
    if not parts:
        raise TransferRefused("`/` itself can't be replaced")
    with (
        descriptor(os.open(root, _FOLDER)) as top,
        descriptor(ensure_folder(top, parts[:-1], owner)) as target,
        descriptor(os.open(source.parent, _FOLDER)) as parent,
    ):
        Copier(target_root=target, owner=owner).copy(parent, source.name, target, parts[-1])


def get(root: Path, parts: tuple[str, ...], destination: Path, limits: TransferLimits) -> None:
    """Copy ``parts`` to the new path ``destination``; nothing of it is left where that is refused."""
    if not parts:
        raise TransferRefused("name a path below `/`; a snapshot keeps all of it")
    if os.path.lexists(destination):
        raise TransferRefused("the destination exists", where=str(destination))
    with (
        descriptor(os.open(root, _FOLDER)) as top,
        descriptor(_parent(top, parts)) as parent,
        descriptor(os.open(destination.parent, _FOLDER)) as target,
    ):
        info = _stat(parent, parts)
        if stat.S_ISLNK(info.st_mode):
            raise TransferRefused("a symlink is not followed", where="/" + "/".join(parts))
        copier = Copier(target_root=target, budget=Budget(limits))
        try:
            copier.copy(parent, parts[-1], target, destination.name)
        except BaseException:  # refused, failed or interrupted: half a copy is worse than none
            if os.path.lexists(destination):
                remove_tree(destination)
            raise


def _parent(top: int, parts: tuple[str, ...]) -> int:
    try:
        return open_folder(top, parts[:-1])
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NothingThere("there is no such file", where="/" + "/".join(parts)) from error


def _stat(parent: int, parts: tuple[str, ...]) -> os.stat_result:
    try:
        return os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError as error:
        raise NothingThere("there is no such file", where="/" + "/".join(parts)) from error


def read(root: Path, parts: tuple[str, ...], max_bytes: int) -> bytes | None:
    """At most ``max_bytes`` of a regular file, ``None`` where there is no such file."""
    path = "/" + "/".join(parts)
    with descriptor(os.open(root, _FOLDER)) as top:
        try:
            handle = open_in_root(top, path, os.O_PATH | os.O_NOFOLLOW)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with descriptor(handle):
            info = os.fstat(handle)
            if stat.S_ISLNK(info.st_mode):
                raise TransferRefused("a symlink is not followed", where=path)
            if not stat.S_ISREG(info.st_mode):
                return None
            with descriptor(reopen(handle, os.O_RDONLY | os.O_NONBLOCK)) as fd:
                return _read_up_to(fd, max_bytes)


def _read_up_to(fd: int, max_bytes: int) -> bytes:
    pieces: list[bytes] = []
    left = max_bytes
    while left > 0 and (piece := os.read(fd, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
