"""Copying, measuring and removing trees that hostile programs made; nothing is followed, all is capped."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.files.confined import descriptor, open_in_root, opened_folder, reopen
from proctor.sandboxes.interfaces import TransferLimits

__all__ = [
    "MAX_DEPTH",
    "Budget",
    "Copier",
    "TreeUse",
    "data_ranges",
    "remove_entry",
    "remove_tree",
    "remove_tree_but_last",
    "tree_use",
]

MAX_DEPTH = 128
"""Levels below a root that are walked: twice what the deepest package trees have; each holds a descriptor."""
_PIECE = 1 << 20
_FOLDER = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_LISTED = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_RATIO_FROM = 64 * 1024**2
"""Apparent bytes from which on the ratio of a sparse file is looked at (see ``TransferLimits.ratio``)."""
_ENTRY_BYTES = 4096
"""What an entry counts at the least: a million empty files take inodes and folders' room, which no block count says."""
_KEPT_MODE = 0o1777
"""Mode bits that are copied: no set-uid, no set-gid."""


@dataclass
class Budget:
    """What a transfer may still take; raises ``TransferRefused`` when it is used up."""

    limits: TransferLimits
    entries: int = 0
    bytes: int = 0

    def entry(self, name: str, depth: int) -> None:
        """Count one entry."""
        self.entries += 1
        if self.entries > self.limits.entries:
            raise TransferRefused(f"more than {self.limits.entries} entries", where=name)
        if depth > MAX_DEPTH:
            raise TransferRefused(f"deeper than {MAX_DEPTH} levels", where=name)

    def file(self, name: str, size: int, on_disk: int) -> None:
        """Count one file's apparent bytes and look at how sparse it is."""
        self.bytes += size
        if size > self.limits.file_bytes:
            raise TransferRefused(f"{size} bytes, more than {self.limits.file_bytes} in one file", where=name)
        if self.bytes > self.limits.total_bytes:
            raise TransferRefused(f"more than {self.limits.total_bytes} bytes in all", where=name)
        if size > _RATIO_FROM and size > self.limits.ratio * max(on_disk, 1):
            raise TransferRefused(f"{size} bytes out of {on_disk} on disk: a sparse bomb", where=name)


def data_ranges(fd: int, size: int) -> list[tuple[int, int]]:
    """The (offset, length) of what a file really holds; the rest are holes."""
    ranges = []
    offset = 0
    while offset < size:
        try:
            start = os.lseek(fd, offset, os.SEEK_DATA)
        except OSError:  # ENXIO: only a hole is left
            break
        offset = min(os.lseek(fd, start, os.SEEK_HOLE), size)
        if start >= size:
            break
        ranges.append((start, offset - start))
    return ranges


@dataclass
class Copier:
    """Copies entries between two open folders. ``source`` and ``target`` roots confine hard links."""

    target_root: int
    owner: int | None = None
    """Host uid and gid that copies belong to; ``None`` keeps the caller's."""
    budget: Budget | None = None
    special: Callable[[str, os.stat_result], None] | None = None
    """Called for devices, pipes and sockets; the default refuses them."""
    _links: dict[tuple[int, int], str] = field(default_factory=dict)

    def copy(self, source: int, name: str, target: int, path: str, depth: int = 0) -> None:
        """Copy the entry ``name`` of folder ``source`` to ``path`` (from the target's root), in ``target``."""
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=source)
        with descriptor(handle):
            info = os.fstat(handle)
            if self.budget is not None:
                self.budget.entry(path, depth)
            if stat.S_ISDIR(info.st_mode):
                self._folder(handle, info, target, path, depth)
            elif stat.S_ISLNK(info.st_mode):
                self._symlink(handle, info, target, path)
            elif stat.S_ISREG(info.st_mode):
                self._file_or_link(handle, info, target, path)
            elif self.special is not None:
                self.special(path, info)
            else:
                raise TransferRefused("neither file, folder nor symlink", where=path)

    def _folder(self, handle: int, info: os.stat_result, target: int, path: str, depth: int) -> None:
        name = os.path.basename(path)
        if not _is_folder(target, name):
            remove_entry(target, name)
            os.mkdir(name, 0o700, dir_fd=target)
        with (
            descriptor(os.open(name, _FOLDER, dir_fd=target)) as made,
            opened_folder(handle) as inside,
            descriptor(reopen(made, os.O_RDONLY | os.O_DIRECTORY)) as into,
        ):
            _open_up(made)
            for entry in sorted(os.listdir(inside)):
                self.copy(inside, entry, into, f"{path}/{entry}", depth + 1)
            self._finish(into, info)

    def _symlink(self, handle: int, info: os.stat_result, target: int, path: str) -> None:
        name = os.path.basename(path)
        remove_entry(target, name)
        os.symlink(os.readlink("", dir_fd=handle), name, dir_fd=target)
        if self.owner is not None:
            os.chown(name, self.owner, self.owner, dir_fd=target, follow_symlinks=False)
        os.utime(name, ns=(info.st_atime_ns, info.st_mtime_ns), dir_fd=target, follow_symlinks=False)

    def _file_or_link(self, handle: int, info: os.stat_result, target: int, path: str) -> None:
        key = (info.st_dev, info.st_ino)
        remove_entry(target, os.path.basename(path))
        first = self._links.get(key)
        if first is not None and self._link(first, target, os.path.basename(path)):
            return
        self._file(handle, info, target, path)
        if info.st_nlink > 1:
            self._links[key] = path

    def _link(self, first: str, target: int, name: str) -> bool:
        """Link to the copy made before; False where it was taken away meanwhile."""
        try:
            handle = open_in_root(self.target_root, first, os.O_PATH | os.O_NOFOLLOW, symlinks=False)
        except OSError:
            return False
        with descriptor(handle):
            os.link(f"/proc/self/fd/{handle}", name, dst_dir_fd=target, follow_symlinks=True)
        return True

    def _file(self, handle: int, info: os.stat_result, target: int, path: str) -> None:
        if self.budget is not None:
            self.budget.file(path, info.st_size, info.st_blocks * 512)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            descriptor(reopen(handle, os.O_RDONLY | os.O_NONBLOCK)) as inside,
            descriptor(os.open(os.path.basename(path), flags, 0o600, dir_fd=target)) as into,
        ):
            size = info.st_size
            os.ftruncate(into, size)
            for start, length in data_ranges(inside, size):
                _copy_range(inside, into, start, length)
            self._finish(into, info)

    def _finish(self, fd: int, info: os.stat_result) -> None:
        if self.owner is not None:
            os.fchown(fd, self.owner, self.owner)
        os.fchmod(fd, info.st_mode & _KEPT_MODE)
        os.utime(fd, ns=(info.st_atime_ns, info.st_mtime_ns))


def _copy_range(source: int, target: int, start: int, length: int) -> None:
    end = start + length
    while start < end:
        piece = os.pread(source, min(_PIECE, end - start), start)
        if not piece:  # it was cut short meanwhile: the rest stays a hole
            return
        view = memoryview(piece)
        while view:
            written = os.pwrite(target, view, start)
            view = view[written:]
            start += written


def _is_folder(parent: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def remove_entry(parent: int, name: str) -> None:
    """Remove whatever has this name in an open folder, itself and all below it."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        _remove_folder(parent, name)


def _remove_folder(parent: int, name: str) -> None:
    """Depth first without recursion: a folder inside is moved up beside its parent before it is emptied."""
    pending = [name]
    while pending:
        hoisted = _empty(parent, pending[-1])
        if not hoisted:
            os.rmdir(pending.pop(), dir_fd=parent)
        pending += hoisted


def _empty(parent: int, name: str) -> list[str]:
    """Unlink what isn't a folder in ``name``, move the folders to ``parent``, and say what they are called."""
    hoisted = []
    with descriptor(os.open(name, _FOLDER, dir_fd=parent)) as own:
        _open_up(own)
        with opened_folder(own) as fd, os.scandir(fd) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    hoisted.append(_hoist(fd, entry.name, parent))
                else:
                    os.unlink(entry.name, dir_fd=fd)
    return hoisted


def _hoist(folder: int, name: str, parent: int) -> str:
    new = f".removed-{os.urandom(8).hex()}"
    with descriptor(os.open(name, _FOLDER, dir_fd=folder)) as own:
        _open_up(own)
    os.rename(name, new, src_dir_fd=folder, dst_dir_fd=parent)
    return new


def _open_up(handle: int) -> None:
    """An ordinary user can empty or move a folder only while it lets him; root needs no leave."""
    if os.geteuid() != 0:
        os.chmod(f"/proc/self/fd/{handle}", 0o700)


def remove_tree(path: str | os.PathLike[str]) -> None:
    """Remove a folder with everything in it, however deep, whatever its modes; nothing is followed."""
    parent = os.path.dirname(os.fspath(path)) or "."
    with descriptor(os.open(parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
        remove_entry(fd, os.path.basename(path))


def remove_tree_but_last(path: str | os.PathLike[str], last: str) -> None:
    """As ``remove_tree``, with the file ``last`` at the very end: by it a removal that was cut off is found again.

    Nothing leaves the folder on the way. Safe to repeat, and beside another process that does the same.
    """
    with suppress(FileNotFoundError), descriptor(os.open(path, _FOLDER)) as own:
        _open_up(own)
        with opened_folder(own) as fd:
            for name in os.listdir(fd):
                if name != last:
                    remove_entry(fd, name)
            remove_entry(fd, last)
        os.rmdir(path)


@dataclass
class TreeUse:
    """What a tree takes on disk."""

    bytes: int = 0
    entries: int = 0
    too_deep: bool = False
    _seen: set[int] = field(default_factory=set)

    def add(self, info: os.stat_result) -> None:
        """Count one entry, an inode once."""
        self.entries += 1
        if info.st_nlink > 1 and not stat.S_ISDIR(info.st_mode):
            if info.st_ino in self._seen:
                return
            self._seen.add(info.st_ino)
        self.bytes += max(info.st_blocks * 512, _ENTRY_BYTES)


def tree_use(path: str | os.PathLike[str]) -> TreeUse:
    """Measure a tree that may change under the walk; what vanishes meanwhile is not counted."""
    use = TreeUse()
    with descriptor(os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)) as handle:
        _measure(handle, use, 0)
    return use


def _measure(handle: int, use: TreeUse, depth: int) -> None:
    try:
        with opened_folder(handle) as fd:
            _measure_open(fd, use, depth)
    except OSError:  # gone since it was listed
        return


def _measure_open(folder: int, use: TreeUse, depth: int) -> None:
    if depth > MAX_DEPTH:
        use.too_deep = True
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            _measure_entry(folder, entry, use, depth)


def _measure_entry(folder: int, entry: os.DirEntry[str], use: TreeUse, depth: int) -> None:
    try:
        info = entry.stat(follow_symlinks=False)
        use.add(info)
        if not stat.S_ISDIR(info.st_mode):
            return
        if os.geteuid() == 0:  # whom no mode keeps out: half the time, which a tree of nothing but folders is worth
            fd = os.open(entry.name, _LISTED, dir_fd=folder)
            try:
                _measure_open(fd, use, depth + 1)
            finally:
                os.close(fd)
        else:
            with descriptor(os.open(entry.name, _FOLDER, dir_fd=folder)) as below:
                _measure(below, use, depth + 1)
    except OSError:  # gone or replaced since it was listed
        return
