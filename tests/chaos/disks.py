"""Small disks that can be full: a tmpfs each, which only root can mount."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

__all__ = ["Disk", "can_mount", "mounted"]

PIECES: tuple[int, ...] = (1 << 20, 4096)
"""A filler grows by the large ones while they fit, then by the small ones."""


class Disk:
    """A mounted tmpfs."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._filler = place / "filler"

    def fill(self) -> None:
        """Leave no room; what was freed since the last time is taken too."""
        descriptor = os.open(self._filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            for size in PIECES:
                with suppress(OSError):  # full
                    while os.write(descriptor, bytes(size)) == size:
                        pass
        finally:
            os.close(descriptor)

    def empty(self) -> None:
        """Give the room back."""
        self._filler.unlink(missing_ok=True)


@contextmanager
def mounted(place: Path, megabytes: int, *, mode: int) -> Iterator[Disk]:
    """A disk of that size at ``place``, which goes with the block, whoever still has files open there."""
    place.mkdir(exist_ok=True)
    _mount(place, f"size={megabytes}m,mode={mode:o}")
    try:
        yield Disk(place)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)


def _mount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True, capture_output=True)


@cache
def can_mount() -> str:
    """Why no disk can be mounted here; nothing where one can."""
    if os.geteuid() != 0:
        return "only root can mount a tmpfs"
    with tempfile.TemporaryDirectory() as place:
        try:
            _mount(Path(place), "size=1m")
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", b"") or str(error).encode()
            return f"no tmpfs can be mounted: {said.decode(errors='replace').strip()}"
        subprocess.run(["umount", place], check=True)
    return ""
