"""Files that a caller wants written: whether that is possible is found out before the work, not after it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.kernel.errors import UsageError

__all__ = ["PathUnusable", "check_target", "writing"]


class PathUnusable(UsageError):
    """Nothing can be written at that path."""

    code = "path-unusable"
    remedy = "Name another path, in a folder that exists and that this user may write."


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
