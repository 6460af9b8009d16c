"""What a container has that its image has not, as the tar of a final state; and a container filled from one.

The tar holds paths relative to ``/`` with their owners in the container. What is gone from the image is an empty member
called ``.wh.NAME``, as in an image's layer (OCI image specification, "Layer Filesystem Changeset"). A program may call
its own files so too: what tells a whiteout is a PAX header that names the path, and no file of a container has one.
"""

from __future__ import annotations

import os
import posixpath
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

from proctor.sandboxes.docker.tars import holes_of
from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.files.archives import Digesting, safe_name, sparse_map
from proctor.sandboxes.files.trees import Budget
from proctor.sandboxes.interfaces import LAYERS, RELAY, Snapshot, TransferLimits
from proctor.sandboxes.system_paths import belongs_to_system, runs_at_start

__all__ = ["Changes", "StateWriter", "filtered", "read_changes"]

WHITEOUT = ".wh."
_GONE = "PROCTOR.gone"
"""The header of a whiteout: the path that is no more."""
_FORM = {"PROCTOR.state": "2"}
"""The headers of a whole state whose whiteouts have theirs. In those that were kept before, names alone tell them."""
_CHANGED, _ADDED, _DELETED = 0, 1, 2
_ENGINES_OWN = (
    RELAY,
    LAYERS,
    "/.dockerenv",
    "/dev",
    "/proc",
    "/sys",
    "/etc/hosts",
    "/etc/hostname",
    "/etc/resolv.conf",
    "/etc/mtab",
    "/run/.containerenv",
    "/sbin/docker-init",
    "/usr/sbin/docker-init",
)
"""Made by the engine for every container."""
_TOUCHED = frozenset({"/", "/etc", "/run", "/sbin", "/usr/sbin"})
"""Folders in which it made them: that such a one changed says nothing."""
_BLOCK = 512
_UNREADABLE = "\ufffd"
"""What an engine writes for bytes of a name that are not UTF-8: such a one can't be asked for."""


class Changes:
    """What an engine says of a container's files: the topmost paths that were made or changed, and those gone."""

    def __init__(self, listed: Iterable[Mapping[str, Any]], volumes: Iterable[str] = ()) -> None:
        """``volumes``: folders of which an engine tells nothing; they are kept whole."""
        kinds: dict[str, int] = {}
        for one in listed:
            path, kind = str(one["Path"]), int(one["Kind"])
            if _UNREADABLE in path:
                path, kind = _above(path), _ADDED
            if not _engines_own(path):
                kinds[path] = max(kind, kinds.get(path, kind)) if kind != _DELETED else kind
        kinds.update({path.rstrip("/"): _ADDED for path in volumes if path.strip("/")})
        known = _TOUCHED | {posixpath.dirname(path) for path in kinds}
        self.gone = sorted(path for path, kind in kinds.items() if kind == _DELETED)
        made = {path for path, kind in kinds.items() if kind == _ADDED}
        # A folder that changed and has changes below it is named for these; its own mode is its image's.
        self.changed = {path for path, kind in kinds.items() if kind == _CHANGED and path not in known}
        self._kept = {path for path in made | self.changed if not _below_any(path, made)}
        self.kept = sorted(self._kept)

    def keeps(self, path: str) -> bool:
        """Whether an absolute path belongs to the state."""
        wanted = self._kept
        return path in wanted or any(str(one) in wanted - self.changed for one in PurePosixPath(path).parents)


def _above(path: str) -> str:
    """The folder that holds what has no readable name: it is kept whole. Raises ``TransferRefused`` for ``/``."""
    above = path[: path.index(_UNREADABLE)].rpartition("/")[0]
    if not above:
        raise TransferRefused("a name below / that is not UTF-8")
    return above


def read_changes(answer: object, volumes: Iterable[str] = ()) -> Changes:
    """From the engine's answer; ``null`` where nothing changed."""
    return Changes(answer if isinstance(answer, list) else [], volumes)


def _engines_own(path: str) -> bool:
    return path in _ENGINES_OWN or path.startswith(("/dev/", "/proc/", "/sys/", f"{LAYERS}/"))


def _below_any(path: str, folders: set[str]) -> bool:
    while (path := posixpath.dirname(path)) not in ("/", ""):
        if path in folders:
            return True
    return False


class StateWriter:
    """Writes a final state's tar from those an engine gives for each path."""

    def __init__(self, file: IO[bytes], limits: TransferLimits) -> None:
        self._out = Digesting(file)
        self._budget = Budget(limits)
        self._changed: list[str] = []
        self._begun = False

    def add(self, spool: IO[bytes], below: str, only: Callable[[str], bool] | None = None) -> None:
        """Every entry of an engine's tar, whose root lies in the folder ``below``. Specials are left out.

        ``only``: which paths of it are wanted; ``None``: all.
        """
        held = holes_of(spool)
        try:
            with tarfile.open(fileobj=spool, mode="r:", errorlevel=2) as tar:
                for member in tar:
                    if only is not None and not only(f"/{_joined(below, member.name)}"):
                        continue
                    self._member(spool, member, held(member) if member.isreg() else [], below)
        except (tarfile.TarError, ValueError, OverflowError) as error:
            raise TransferRefused(f"not a readable tar: {error}") from error

    def folder(self, member: tarfile.TarInfo, below: str) -> None:
        """A folder as it is itself, without what is in it."""
        _, kept = self._entry(member, below)
        self._header(kept)

    def gone(self, path: str) -> None:
        """Note that the image's own ``path`` is no more."""
        pure = PurePosixPath(path.lstrip("/"))
        self._note(str(pure))
        member = tarfile.TarInfo(str(pure.parent / f"{WHITEOUT}{pure.name}"))
        member.pax_headers = {_GONE: str(pure)}
        self._header(member)

    def finish(self, path: Path) -> Snapshot:
        """The snapshot that was written."""
        self._out.write(bytes(2 * _BLOCK))
        changed = tuple(self._changed)
        return Snapshot(path=path, sha256=self._out.hexdigest(), size=self._out.size, changed_system_paths=changed)

    def _note(self, path: str) -> None:
        if belongs_to_system(path) or runs_at_start(path):
            self._changed.append(path)

    def _member(self, spool: IO[bytes], member: tarfile.TarInfo, held: list[tuple[int, int]], below: str) -> None:
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            return
        path, kept = self._entry(member, below)
        if member.isreg():
            self._budget.file(path, member.size, sum(length for _, length in held))
            self._file(spool, member, held, kept)
        else:
            self._header(kept)

    def _header(self, member: tarfile.TarInfo) -> None:
        """A member's head, before the first of all the state's own: headers with nothing after them are no tar."""
        if not self._begun:
            self._out.write(tarfile.TarInfo.create_pax_global_header(_FORM))
            self._begun = True
        self._out.write(member.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))

    def _entry(self, member: tarfile.TarInfo, below: str) -> tuple[str, tarfile.TarInfo]:
        path = _joined(below, member.name)
        self._budget.entry(path, path.count("/"))
        self._note(path)
        kept = tarfile.TarInfo(path)
        kept.type, kept.mode, kept.uid, kept.gid = member.type, member.mode & 0o1777, member.uid, member.gid
        kept.mtime = int(member.mtime)
        kept.linkname = _joined(below, member.linkname) if member.islnk() else member.linkname
        return path, kept

    def _file(
        self, spool: IO[bytes], member: tarfile.TarInfo, held: list[tuple[int, int]], kept: tarfile.TarInfo
    ) -> None:
        table = b""
        if sum(length for _, length in held) + _BLOCK < member.size:
            ranges = [*held, (member.size, 0)]
            table, kept.pax_headers = sparse_map(kept.name, ranges, member.size)
            kept.size = len(table) + sum(length for _, length in held)
        else:
            held, kept.size = [(0, member.size)], member.size
        self._header(kept)
        self._out.write(table)
        for start, length in held:
            for piece in _pieces(spool, member.offset_data + start, length):
                self._out.write(piece)
        self._out.write(bytes(-kept.size % _BLOCK))


def _joined(below: str, name: str) -> str:
    return safe_name(f"{below.strip('/')}/{name.removeprefix('./')}".lstrip("/"))


def _pieces(file: IO[bytes], start: int, length: int) -> Iterator[bytes]:
    for place in range(start, start + length, 1 << 20):
        yield os.pread(file.fileno(), min(1 << 20, start + length - place), place)


def filtered(state: IO[bytes], out: IO[bytes], *, restore_system: bool) -> Sequence[str]:
    """Write what a container is to be filled with; the paths that are to be removed from it.

    ``restore_system``: without what was changed of the image's own system.
    """
    try:
        return _filter(state, out, restore_system=restore_system)
    except (tarfile.TarError, ValueError, OverflowError) as error:
        raise TransferRefused(f"not a readable state: {error}") from error


def _filter(state: IO[bytes], out: IO[bytes], *, restore_system: bool) -> Sequence[str]:
    gone: list[str] = []
    with (
        tarfile.open(fileobj=state, mode="r:") as kept,
        tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for member in kept:
            lost = _lost(member, old=not _FORM.items() <= kept.pax_headers.items())
            path = safe_name(member.name if lost is None else lost)
            if not path or (restore_system and (belongs_to_system(path) or runs_at_start(path))):
                continue
            if lost is not None:
                gone.append(f"/{path}")
            else:
                member.pax_headers = {}
                member.type = tarfile.REGTYPE if member.sparse else member.type
                tar.addfile(member, kept.extractfile(member) if member.isreg() else None)
    out.seek(0)
    return gone


def _lost(member: tarfile.TarInfo, *, old: bool) -> str | None:
    """The path that a whiteout tells of; ``None`` for what is none."""
    if not old:
        return member.pax_headers.get(_GONE)
    above, _, name = member.name.rpartition("/")
    plain = member.isreg() and (member.size, member.mtime, member.uid, member.mode) == (0, 0, 0, 0o644)
    left = name.removeprefix(WHITEOUT)
    return f"{above}/{left}".lstrip("/") if plain and left != name and left not in _NO_NAMES else None


_NO_NAMES = ("", ".", "..")
