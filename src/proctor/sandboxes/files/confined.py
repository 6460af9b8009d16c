"""Opening paths below a hostile folder: no ``..``, symlink or rename leads out of it.

``openat2`` resolves a whole path as if the folder were ``/``: the kernel itself turns an absolute symlink
or a ``..`` back into it, at the moment of opening, so there is nothing to race against.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath

from proctor.sandboxes.errors import TransferRefused

__all__ = ["descriptor", "ensure_folder", "open_folder", "open_in_root", "opened_folder", "parts_of", "reopen"]

_OPENAT2 = 437
"""One number on every machine (Linux 5.6 and newer)."""
_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _IN_ROOT = 0x01, 0x02, 0x04, 0x10
_TRIES = 16
"""The kernel answers EAGAIN when a rename crossed the walk; a hostile renamer wins that often, not more."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc = ctypes.CDLL(None, use_errno=True)


def open_in_root(root: int, path: str, flags: int, *, symlinks: bool = True) -> int:
    """Open ``path`` with the open folder ``root`` as its ``/``; never on another mount."""
    resolve = _NO_XDEV | _NO_MAGICLINKS | _IN_ROOT | (0 if symlinks else _NO_SYMLINKS)
    how = _How(flags | os.O_CLOEXEC, 0, resolve)
    encoded = os.fsencode(path)
    for _ in range(_TRIES):
        fd = _libc.syscall(_OPENAT2, root, encoded, ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return int(fd)
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number), path)


def parts_of(path: str) -> tuple[str, ...]:
    """The components of an absolute path inside a sandbox; ``..`` is refused rather than guessed at."""
    pure = PurePosixPath(path)
    if not pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise TransferRefused(f"{path!r} is not an absolute path without `..`.", where=path)
    return pure.parts[1:]


def open_folder(root: int, parts: tuple[str, ...]) -> int:
    """The folder at ``parts`` below ``root``, symlinks resolved inside the root."""
    return open_in_root(root, "/" + "/".join(parts), os.O_PATH | os.O_DIRECTORY)


def ensure_folder(root: int, parts: tuple[str, ...], owner: int | None) -> int:
    """Open the folder at ``parts``; what is missing of it is made and given to ``owner``."""
    with suppress(FileNotFoundError):
        return open_folder(root, parts)
    fd = open_folder(root, ())
    for depth, name in enumerate(parts, start=1):
        parent = fd
        try:
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=parent)
                if owner is not None:
                    os.chown(name, owner, owner, dir_fd=parent, follow_symlinks=False)
            fd = open_folder(root, parts[:depth])
        finally:
            os.close(parent)
    return fd


def reopen(handle: int, flags: int) -> int:
    """Open what an ``O_PATH`` descriptor stands for; the file can't have been exchanged in between."""
    with _let_in(handle):
        return os.open(f"/proc/self/fd/{handle}", flags | os.O_CLOEXEC)


@contextmanager
def opened_folder(handle: int) -> Iterator[int]:
    """A folder to list and to look things up in, for as long as the block runs."""
    with _let_in(handle):
        fd = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield fd
        finally:
            os.close(fd)


@contextmanager
def _let_in(handle: int) -> Iterator[None]:
    """An ordinary user may have shut himself out of his own files; the mode is put back afterwards."""
    path = f"/proc/self/fd/{handle}"
    info = os.fstat(handle)
    needed = 0o500 if stat.S_ISDIR(info.st_mode) else 0o400
    if os.geteuid() == 0 or info.st_uid != os.geteuid() or info.st_mode & needed == needed:
        yield
        return
    mode = stat.S_IMODE(info.st_mode)
    os.chmod(path, mode | needed)
    try:
        yield
    finally:
        os.chmod(path, mode)


@contextmanager
def descriptor(fd: int) -> Iterator[int]:
    """Close it at the end."""
    try:
        yield fd
    finally:
        os.close(fd)
