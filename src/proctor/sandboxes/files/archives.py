"""Snapshots: the writable files as a plain tar of paths relative to ``/``, written and read without trust.

Sparse files use the pax 1.0 sparse form that GNU tar and Python read. Devices, pipes and sockets are left
out: they hold nothing, and a server's forgotten socket must not cost a snapshot. When reading, names that
are absolute, hold ``..`` or lead through a symlink are refused, as are hard links to anything that isn't
in the root already and every kind of special file.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.files.confined import descriptor, open_in_root, opened_folder, reopen
from proctor.sandboxes.files.trees import Budget, data_ranges, remove_entry
from proctor.sandboxes.interfaces import Snapshot, TransferLimits
from proctor.sandboxes.system_paths import belongs_to_system, runs_at_start

__all__ = ["AGENT_ID", "Digesting", "Held", "extract", "safe_name", "sparse_map", "unpack", "write_snapshot"]

AGENT_ID = 1000
"""Uid and gid that archives carry for the agent's files, whatever the host's number for it was."""
_PIECE = 1 << 20
_BLOCK = 512


Held = Callable[[tarfile.TarInfo], list[tuple[int, int]]]
"""The (offset, length) of what a member of an archive really holds; the rest of the file are holes."""


class Digesting:
    """A file that remembers the digest and size of what went through it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sum = hashlib.sha256()
        self.size = 0

    def write(self, piece: bytes) -> int:
        """Write it, and count it."""
        self._sum.update(piece)
        self.size += len(piece)
        return self._file.write(piece)

    def hexdigest(self) -> str:
        """The sha256 of everything so far."""
        return self._sum.hexdigest()


@dataclass
class _Writer:
    out: Digesting
    budget: Budget
    skip: frozenset[str]
    links: dict[int, str] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)

    def folder(self, handle: int, prefix: str, depth: int) -> None:
        with opened_folder(handle) as fd:
            for name in sorted(os.listdir(fd)):
                path = prefix + name
                if path not in self.skip:
                    self.entry(fd, name, path, depth)

    def entry(self, parent: int, name: str, path: str, depth: int) -> None:
        with descriptor(os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)) as handle:
            info = os.fstat(handle)
            self.budget.entry(path, depth)
            if belongs_to_system(path) or runs_at_start(path):
                self.changed.append(path)
            if stat.S_ISDIR(info.st_mode):
                self.header(path, info, tarfile.DIRTYPE)
                self.folder(handle, path + "/", depth + 1)
            elif stat.S_ISLNK(info.st_mode):
                self.header(path, info, tarfile.SYMTYPE, linkname=os.readlink("", dir_fd=handle))
            elif stat.S_ISREG(info.st_mode):
                self.file(handle, path, info)

    def header(self, path: str, info: os.stat_result, kind: bytes, *, linkname: str = "", size: int = 0,
               pax: dict[str, str] | None = None) -> None:  # fmt: skip
        member = tarfile.TarInfo(path)
        member.type, member.linkname, member.size = kind, linkname, size
        member.mode = info.st_mode & 0o1777
        member.uid = member.gid = AGENT_ID
        member.uname = member.gname = "agent"
        member.mtime = info.st_mtime_ns // 10**9
        member.pax_headers = {"mtime": f"{info.st_mtime_ns // 10**9}.{info.st_mtime_ns % 10**9:09d}", **(pax or {})}
        self.out.write(member.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))

    def file(self, handle: int, path: str, info: os.stat_result) -> None:
        if info.st_nlink > 1:
            first = self.links.setdefault(info.st_ino, path)
            if first != path:
                self.header(path, info, tarfile.LNKTYPE, linkname=first)
                return
        self.budget.file(path, info.st_size, info.st_blocks * 512)
        with descriptor(reopen(handle, os.O_RDONLY | os.O_NONBLOCK)) as fd:
            if info.st_blocks * _BLOCK < info.st_size:
                self.sparse(fd, path, info)
            else:
                self.header(path, info, tarfile.REGTYPE, size=info.st_size)
                self.ranges(fd, [(0, info.st_size)], info.st_size)

    def sparse(self, fd: int, path: str, info: os.stat_result) -> None:
        ranges = [*data_ranges(fd, info.st_size), (info.st_size, 0)]
        table, pax = sparse_map(path, ranges, info.st_size)
        held = sum(length for _, length in ranges)
        self.header(path, info, tarfile.REGTYPE, size=len(table) + held, pax=pax)
        self.out.write(table)
        self.ranges(fd, ranges, held)

    def ranges(self, fd: int, ranges: list[tuple[int, int]], total: int) -> None:
        for start, length in ranges:
            end = start + length
            while start < end:
                piece = os.pread(fd, min(_PIECE, end - start), start)
                # Nothing runs any more, so a file can't shrink; if it does, the archive stays well formed.
                piece = piece or bytes(min(_PIECE, end - start))
                self.out.write(piece)
                start += len(piece)
        self.out.write(bytes(-total % _BLOCK))


def sparse_map(path: str, ranges: list[tuple[int, int]], size: int) -> tuple[bytes, dict[str, str]]:
    """The map that precedes a sparse file's data, and its headers: the pax sparse format 1.0 of GNU tar."""
    lines = [len(ranges), *(number for pair in ranges for number in pair)]
    table = b"".join(b"%d\n" % number for number in lines)
    headers = {"major": "1", "minor": "0", "name": path, "realsize": str(size)}
    return table + bytes(-len(table) % _BLOCK), {f"GNU.sparse.{name}": value for name, value in headers.items()}


def write_snapshot(root: Path, destination: Path, limits: TransferLimits, skip: frozenset[str]) -> Snapshot:
    """Write all of ``root`` but the entries ``skip`` to a new file at ``destination``."""
    with destination.open("xb") as file:
        writer = _Writer(Digesting(file), Budget(limits), skip)
        with descriptor(os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)) as handle:
            writer.folder(handle, "", 0)
        writer.out.write(bytes(2 * _BLOCK))
    digest, size = writer.out.hexdigest(), writer.out.size
    return Snapshot(path=destination, sha256=digest, size=size, changed_system_paths=tuple(writer.changed))


def extract(
    snapshot: Snapshot, root: int, *, owner: int | None, limits: TransferLimits, skip: Callable[[str], bool]
) -> None:
    """Unpack a snapshot below the open folder ``root``; see the module's refusals."""
    with snapshot.path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != snapshot.sha256:
            raise TransferRefused("not the snapshot that was kept: its digest differs", where=str(snapshot.path))
        file.seek(0)
        unpack(file, root, owner=owner, limits=limits, skip=skip)


def unpack(
    file: IO[bytes],
    root: int,
    *,
    owner: int | None,
    limits: TransferLimits,
    skip: Callable[[str], bool] = lambda _: False,
    held: Held | None = None,
) -> None:
    """Unpack a tar below the open folder ``root``; see the module's refusals."""
    reader = _Reader(root, owner, Budget(limits), held or _pieces)
    try:
        with tarfile.open(fileobj=file, mode="r:", errorlevel=2) as archive:
            for member in archive:
                if not skip(member.name):
                    reader.member(archive, member)
            reader.finish_folders()
    except tarfile.TarError as error:
        raise TransferRefused(f"not a readable tar: {error}") from error
    except (OSError, ValueError) as error:
        raise TransferRefused(f"not a tree that can be unpacked: {error}") from error


@dataclass
class _Reader:
    root: int
    owner: int | None
    budget: Budget
    held: Held
    folders: list[tuple[str, tarfile.TarInfo]] = field(default_factory=list)

    def member(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        path = safe_name(member.name)
        if not path:
            return
        self.budget.entry(path, path.count("/"))
        with descriptor(self.parent(path)) as parent:
            name = os.path.basename(path)
            if member.isdir():
                self.make_folder(parent, name, path, member)
                return
            remove_entry(parent, name)
            if member.issym():
                os.symlink(member.linkname, name, dir_fd=parent)
            elif member.islnk():
                self.link(parent, name, member)
                return
            elif member.isreg():
                self.file(archive, member, parent, name)
            else:
                raise TransferRefused("neither file, folder nor link", where=path)
            self.finish(parent, name, member)

    def parent(self, path: str) -> int:
        """The folder that holds ``path``; a symlink on the way is refused by the kernel."""
        folder = os.path.dirname(path)
        flags = os.O_PATH | os.O_DIRECTORY
        try:
            return open_in_root(self.root, "/" + folder, flags, symlinks=False)
        except FileNotFoundError:
            with descriptor(self.parent(folder)) as above:
                os.mkdir(os.path.basename(folder), 0o755, dir_fd=above)
                if self.owner is not None:
                    os.chown(os.path.basename(folder), self.owner, self.owner, dir_fd=above, follow_symlinks=False)
            return open_in_root(self.root, "/" + folder, flags, symlinks=False)

    def make_folder(self, parent: int, name: str, path: str, member: tarfile.TarInfo) -> None:
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
        except FileExistsError:
            if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                remove_entry(parent, name)
                os.mkdir(name, 0o700, dir_fd=parent)
        self.folders.append((path, member))

    def link(self, parent: int, name: str, member: tarfile.TarInfo) -> None:
        target = safe_name(member.linkname)
        with descriptor(open_in_root(self.root, "/" + target, os.O_PATH | os.O_NOFOLLOW, symlinks=False)) as handle:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise TransferRefused("a hard link to something other than a file", where=member.name)
            os.link(f"/proc/self/fd/{handle}", name, dst_dir_fd=parent, follow_symlinks=True)

    def file(self, archive: tarfile.TarFile, member: tarfile.TarInfo, parent: int, name: str) -> None:
        pieces = self.held(member)
        self.budget.file(member.name, member.size, sum(length for _, length in pieces))
        source = archive.extractfile(member)
        if source is None:
            raise TransferRefused("no content", where=member.name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with descriptor(os.open(name, flags, 0o600, dir_fd=parent)) as fd:
            os.ftruncate(fd, member.size)
            for start, piece in _read_pieces(source, pieces):
                os.pwrite(fd, piece, start)

    def finish(self, parent: int, name: str, member: tarfile.TarInfo) -> None:
        if self.owner is not None:
            os.chown(name, self.owner, self.owner, dir_fd=parent, follow_symlinks=False)
        if not member.issym():
            os.chmod(name, member.mode & 0o1777, dir_fd=parent)
        when = _mtime_ns(member)
        os.utime(name, ns=(when, when), dir_fd=parent, follow_symlinks=False)

    def finish_folders(self) -> None:
        """Deepest first, so that neither a mode nor a time is in the way of what lies below."""
        for path, member in reversed(self.folders):
            with descriptor(self.parent(path)) as parent:
                self.finish(parent, os.path.basename(path), member)


def safe_name(name: str) -> str:
    """A member's name relative to the root. Raises ``TransferRefused`` for one that leads out of it."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        raise TransferRefused("an archive's name that leads out of it", where=name)
    return "/".join(parts)


def _pieces(member: tarfile.TarInfo) -> list[tuple[int, int]]:
    sparse: list[tuple[int, int]] | None = getattr(member, "sparse", None)
    return [(0, member.size)] if sparse is None else [(start, length) for start, length in sparse if length]


def _read_pieces(source: IO[bytes], pieces: list[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
    """What the archive holds of a file, without reading its holes."""
    for start, length in pieces:
        source.seek(start)
        end = start + length
        while start < end:
            piece = source.read(min(_PIECE, end - start))
            if not piece:
                raise TransferRefused("cut short")
            yield start, piece
            start += len(piece)


def _mtime_ns(member: tarfile.TarInfo) -> int:
    seconds, _, fraction = member.pax_headers.get("mtime", str(int(member.mtime))).partition(".")
    return int(seconds) * 10**9 + int((fraction + "000000000")[:9] or 0)
