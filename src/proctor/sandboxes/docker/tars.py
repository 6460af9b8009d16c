"""Tars to and from an engine, which speaks of files in nothing else. What comes from one is read without trust.

An engine sends a hole as zeros and a time in whole seconds, and does not write holes again: limits of its API. What is
received is spooled with its zeros as holes, so that a sparse bomb is seen for what it is and fills nothing.
"""

from __future__ import annotations

import os
import stat
import tarfile
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from io import BytesIO
from math import inf
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.files.archives import Held
from proctor.sandboxes.files.confined import descriptor
from proctor.sandboxes.files.trees import data_ranges
from proctor.sandboxes.interfaces import TransferLimits

__all__ = ["first_entry", "first_file", "folders_tar", "holes_of", "pack", "spooled"]

_BLOCK = 4096
_ZEROS = bytes(_BLOCK)
_HEADERS = 4096
"""Bytes of headers that one entry may cost: a PAX header with a long name and a long target."""


@contextmanager
def pack(source: Path, name: str, owner: tuple[int, int], *, times: bool = True) -> Iterator[IO[bytes]]:
    """A host file or tree as a tar whose one root entry is ``name``; without ``times`` equal trees are equal tars."""
    with TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            _add(tar, source, name, owner, times=times)
        file.seek(0)
        yield file


def _add(tar: tarfile.TarFile, source: Path, name: str, owner: tuple[int, int], *, times: bool) -> None:
    info = source.lstat()
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode) or stat.S_ISLNK(info.st_mode)):
        raise TransferRefused("neither file, folder nor symlink", where=str(source))
    member = tar.gettarinfo(source, arcname=name)
    member.uid, member.gid = owner
    member.uname = member.gname = ""
    member.mode = info.st_mode & 0o1777
    member.mtime = info.st_mtime_ns // 10**9 if times else 0
    if times:
        member.pax_headers = {"mtime": f"{info.st_mtime_ns // 10**9}.{info.st_mtime_ns % 10**9:09d}"}
    if not member.isreg():
        tar.addfile(member)
    else:
        with source.open("rb") as file:
            tar.addfile(member, file)
    if stat.S_ISDIR(info.st_mode):
        for child in sorted(source.iterdir()):
            _add(tar, child, f"{name}/{child.name}", owner, times=times)


def folders_tar(folders: list[tuple[str, int]], owner: tuple[int, int]) -> IO[bytes]:
    """Empty folders with their modes, parents first."""
    file = TemporaryFile()  # noqa: SIM115 - given to the caller
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, mode in folders:
            member = tarfile.TarInfo(name)
            member.type, member.mode = tarfile.DIRTYPE, mode
            member.uid, member.gid = owner
            tar.addfile(member)
    file.seek(0)
    return file


async def spooled(pieces: AsyncIterator[bytes], file: IO[bytes], limits: TransferLimits | None) -> None:
    """Write a stream to a file, its zeros as holes. Raises ``TransferRefused`` once no allowed tar could be as long."""
    most = inf if limits is None else limits.total_bytes + limits.entries * _HEADERS
    place, rest = 0, b""
    async for piece in pieces:
        text = rest + piece
        whole = len(text) - len(text) % _BLOCK
        place = _write_blocks(file, place, text[:whole])
        rest = text[whole:]
        if place > most:
            raise TransferRefused(f"more than {most} bytes in all")
    file.seek(place)
    file.write(rest)
    file.truncate(place + len(rest))
    file.seek(0)


def _write_blocks(file: IO[bytes], place: int, text: bytes) -> int:
    for start in range(0, len(text), _BLOCK):
        block = text[start : start + _BLOCK]
        if block != _ZEROS:
            file.seek(place + start)
            file.write(block)
    return place + len(text)


def holes_of(file: IO[bytes]) -> Held:
    """What each member of a spooled tar really holds."""
    file.flush()
    with descriptor(os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY)) as apart:  # with a position of its own
        ranges = data_ranges(apart, os.fstat(apart).st_size)
    ends = [start + length for start, length in ranges]

    def held(member: tarfile.TarInfo) -> list[tuple[int, int]]:
        begin, found = member.offset_data, []
        for start, length in ranges[bisect_right(ends, begin) :]:
            low, high = max(start, begin), min(start + length, begin + member.size)
            if start >= begin + member.size:
                break
            found.append((low - begin, high - low))
        return found

    return held


async def first_entry(pieces: AsyncIterator[bytes]) -> tarfile.TarInfo:
    """The first entry of a tar that is still coming, without its data."""
    head = b""
    async for piece in pieces:
        head += piece
        if len(head) >= _HEADERS:
            break
    try:
        with tarfile.open(fileobj=BytesIO(head), mode="r:") as tar:
            first = tar.next()
    except (tarfile.TarError, ValueError) as error:
        raise TransferRefused(f"not a readable tar: {error}") from error
    if first is None:
        raise TransferRefused("an empty tar")
    return first


async def first_file(pieces: AsyncIterator[bytes], max_bytes: int) -> bytes:
    """The beginning of the only file of a tar."""
    text = b""
    async for piece in pieces:
        text += piece
        if len(text) > max_bytes + (1 << 16):
            break
    with tarfile.open(fileobj=BytesIO(text), mode="r|") as tar:
        member = tar.next()
        content = tar.extractfile(member) if member is not None else None
        return b"" if content is None else content.read(min(max_bytes, member.size if member else 0))
