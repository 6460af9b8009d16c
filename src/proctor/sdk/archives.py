"""Folders as gzipped tars: made of what we wrote, unpacked from what a server sent."""

from __future__ import annotations

import gzip
import os
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.files.archives import unpack
from proctor.sandboxes.files.confined import descriptor
from proctor.sandboxes.interfaces import TransferLimits
from proctor.sdk.remote.errors import ServerFault

__all__ = ["pack", "unpack_download"]

_LIMITS = TransferLimits(total_bytes=64 << 30, entries=5_000_000)
"""Of an export that a server sent: more is no run set."""


def pack(folder: Path, target: Path, *, on_file: Callable[[], None]) -> None:
    """A folder as a new .tar.gz, in an order that is always the same and without this machine's users."""
    with (
        target.open("xb") as file,
        gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0, compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(folder.rglob("*")):
            tar.add(path, arcname=str(path.relative_to(folder)), recursive=False, filter=_anonymous)
            on_file()


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack_download(file: IO[bytes], folder: Path) -> None:
    """Unpack a .tar.gz into an empty folder, as one unpacks a stranger's. Raises ``ServerFault``."""
    with tempfile.TemporaryFile(dir=folder.parent) as plain:
        try:
            with gzip.GzipFile(fileobj=file) as packed:
                _copy(packed, plain)
            plain.seek(0)
            with descriptor(os.open(folder, os.O_PATH | os.O_DIRECTORY)) as root:
                unpack(plain, root, owner=None, limits=_LIMITS)
        except (TransferRefused, EOFError, gzip.BadGzipFile) as error:
            raise ServerFault(f"What it sent is no export: {error}.") from error


def _copy(packed: gzip.GzipFile, plain: IO[bytes]) -> None:
    left = _LIMITS.total_bytes
    while piece := packed.read(1 << 20):
        left -= len(piece)
        if left < 0:
            raise TransferRefused(f"it unpacks to more than {_LIMITS.total_bytes:,} bytes")
        plain.write(piece)
