"""Files that a caller wants written: whether that is possible is found out before the work, not after it."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.kernel.errors import UsageError
from proctor.kernel.ids import new_id

__all__ = ["FileTaken", "FolderTaken", "PathUnusable", "check_target", "new_file", "new_folder", "writing"]


class PathUnusable(UsageError):
    """Nothing can be written at that path."""

    code = "path-unusable"
    remedy = "Name another path, in a folder that exists and that this user may write."


class FolderTaken(UsageError):
    """There is something at that path already; nothing was written."""

    code = "folder-taken"
    remedy = "Name a new folder or an empty one, or remove what is there."


class FileTaken(UsageError):
    """There is something at that path already; nothing was written."""

    code = "file-taken"
    remedy = "Name a new file, or remove what is there."


def check_target(path: Path) -> None:
    """Raises ``PathUnusable`` where a file can't be written."""
    if path.is_dir():
        raise PathUnusable("It is a folder; a file is to be written.", where=str(path))
    with writing(path):
        if not path.parent.is_dir():
            raise PathUnusable(f"There is no folder {path.parent}.", where=str(path))
        if not path.exists():
            tempfile.TemporaryFile(dir=path.parent).close()  # only the file system knows: root may not write /proc
        elif not os.access(path, os.W_OK):
            raise PathUnusable("The file can't be written by this user.", where=str(path))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the machine says against writing there becomes ``PathUnusable``."""
    try:
        yield
    except OSError as error:
        raise PathUnusable(f"It can't be written: {error.strerror}.", where=str(path)) from error


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A file to write beside ``path``, which is not there yet; it becomes ``path`` in one step at the end, or nothing.

    Raises ``FileTaken`` where something is there, before and after the work, and ``PathUnusable``.
    """
    target = path.resolve()
    filling = target.parent / f".proctor-partial-{new_id().hex}"
    _check_no_file(path, target)
    try:
        with writing(path):
            yield filling
            _check_no_file(path, target)
            filling.rename(target)
    finally:
        filling.unlink(missing_ok=True)


def _check_no_file(path: Path, target: Path) -> None:
    if not target.parent.is_dir():
        raise PathUnusable(f"There is no folder {path.parent}.", where=str(path))
    if target.exists():
        raise FileTaken(where=str(path))


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill beside ``path``; it becomes ``path`` in one step at the end, and on any error nothing is left.

    Raises ``FolderTaken`` where something is there, before and after the work, and ``PathUnusable``.
    """
    target = path.resolve()
    _check_free(path, target)
    filling = target.parent / f".proctor-partial-{new_id().hex}"
    with writing(path):
        filling.mkdir()
    try:
        with writing(path):
            yield filling
            _take_place(filling, target, path)
    except BaseException:  # Ctrl-C too: half a folder would be taken for a whole one
        shutil.rmtree(filling, ignore_errors=True)
        raise


def _check_free(path: Path, target: Path) -> None:
    if not target.parent.is_dir():
        raise PathUnusable(f"There is no folder {target.parent}.", where=str(path))
    with writing(path):
        if target.exists() and not (target.is_dir() and next(target.iterdir(), None) is None):
            raise FolderTaken(where=str(path))


def _take_place(filling: Path, target: Path, path: Path) -> None:
    try:
        filling.rename(target)  # over an empty folder too, and over nothing else
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise FolderTaken(where=str(path)) from error
        raise
