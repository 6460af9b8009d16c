"""Scratch folders that go with their process: whoever makes the next one removes those that nobody holds any more.

A folder is held by a kernel lock on it, which no crash leaves behind.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["make_scratch", "remove_scratch", "scratch"]

_PREFIX: str = "attempts-"
_held: dict[Path, int] = {}


def make_scratch(parent: Path) -> Path:
    """A new folder in ``parent``, this process's until it ends; those of processes that are gone are removed."""
    with _alone(parent):
        _sweep(parent)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        held = _lock(folder, wait=True)
        assert held is not None
        _held[folder] = held
        return folder


def remove_scratch(folder: Path) -> None:
    """Remove a folder that ``make_scratch`` made, and those whose process died meanwhile. Safe to repeat."""
    shutil.rmtree(folder, ignore_errors=True)
    if (held := _held.pop(folder, None)) is not None:
        os.close(held)
        with _alone(folder.parent):
            _sweep(folder.parent)


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """A new folder in ``parent`` for as long as it is used."""
    folder = make_scratch(parent)
    try:
        yield folder
    finally:
        remove_scratch(folder)


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """While the parent is held, nobody takes a folder for abandoned that its maker is about to hold."""
    descriptor = _lock(parent, wait=True)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _sweep(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        if (held := _lock(folder, wait=False)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)


def _lock(folder: Path, *, wait: bool) -> int | None:
    """A descriptor that holds the folder, ``None`` where another one does."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None  # its process removed it a moment ago
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
