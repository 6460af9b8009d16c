"""Whether files on disk are those of a commit: git tells what the commit holds, and we hash what is there.

No command of git that reads the work tree is used: those run programs that a repository's own configuration names.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.suites.errors import CheckoutMismatch
from proctor.suites.loaded import LoadedTask

__all__ = ["Checkout", "open_checkout"]

_PIECE: int = 1024 * 1024
_GIT_TIMEOUT_SEC: float = 60.0
"""A listing of a commit takes milliseconds; a hanging file system should not hang an import."""
_LINK_MODE: str = "120000"
_SAFE: tuple[str, ...] = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager")


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """The root of a git work tree."""

    root: Path
    git: str

    def difference(self, commit: str, path: str, task: LoadedTask) -> str | None:
        """How a task's folder differs from that path in that commit, in words; ``None`` where it does not."""
        place = self.root / path
        if not place.resolve().is_relative_to(self.root):
            return f"{path} is a link out of the checkout"
        listed = _run(self.git, self.root, ["ls-tree", "-r", "-z", "--full-tree", commit, *_only(path)])
        if listed is None:
            return f"the checkout has no commit {commit}"
        held = dict(_entries(listed))
        if not held:
            return f"commit {commit} has nothing at {path}"
        for name, (mode, blob) in sorted(held.items()):
            if _blob_on_disk(self.root / name, mode, len(blob)) != blob:
                return f"{name} is not as in commit {commit}"
        return self._added(task, held, commit)

    def _added(self, task: LoadedTask, held: Mapping[str, object], commit: str) -> str | None:
        for file in task.files:
            name = os.path.relpath(file.source, self.root)
            if name not in held:
                return f"{name} is not in commit {commit}"
        return None


def open_checkout(folder: Path, *, url: str | None, commit: str) -> Checkout:
    """The checkout whose root ``folder`` is. Raises ``CheckoutMismatch`` with the commands that make one."""
    git, root = shutil.which("git"), folder.resolve()
    if git is None:
        raise CheckoutMismatch("git is not on this machine, so no commit can be checked.", where=str(folder))
    told = _run(git, root, ["rev-parse", "--show-toplevel"])
    if told is None:
        clone = f"git clone {url or 'URL'} {folder} && git -C {folder} checkout {commit}"
        raise CheckoutMismatch(
            "It is no git repository, so its commit can't be checked.", where=str(folder), remedy=clone
        )
    top = Path(os.fsdecode(told.rstrip(b"\n"))).resolve()
    if top != root:
        raise CheckoutMismatch(f"It is inside of the checkout {top}; name that.", where=str(folder))
    return Checkout(root=root, git=git)


def _only(path: str) -> Sequence[str]:
    return () if path == "." else ("--", path)


def _run(git: str, folder: Path, arguments: Sequence[str]) -> bytes | None:
    """What a command of git prints; ``None`` where it fails. It asks nobody and fetches nothing."""
    environment = {
        "PATH": os.defpath,
        "HOME": str(Path.home()),
        "LC_ALL": "C",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
    }
    try:
        done = subprocess.run(
            [git, *_SAFE, "-C", str(folder), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_GIT_TIMEOUT_SEC,
        )
    except subprocess.TimeoutExpired as error:
        raise CheckoutMismatch(f"git did not answer in {_GIT_TIMEOUT_SEC:.0f} s.", where=str(folder)) from error
    return done.stdout if done.returncode == 0 else None


def _entries(listed: bytes) -> Iterator[tuple[str, tuple[str, str]]]:
    """``mode type object TAB path NUL``, of each file; a submodule is one that no file on disk can equal."""
    for line in listed.split(b"\0"):
        head, _, path = line.partition(b"\t")
        if path:
            mode, _, blob = os.fsdecode(head).split(" ")
            yield os.fsdecode(path), (mode, blob)


def _blob_on_disk(path: Path, mode: str, length: int) -> str | None:
    """The object id that git would give to what is there; ``None`` where there is no such file or link."""
    try:
        if mode == _LINK_MODE:
            return _blob([os.fsencode(os.readlink(path))], len(os.fsencode(os.readlink(path))), length)
        if path.is_symlink() or not path.is_file():
            return None
        with path.open("rb") as file:
            return _blob(iter(lambda: file.read(_PIECE), b""), os.fstat(file.fileno()).st_size, length)
    except OSError:
        return None


def _blob(pieces: Iterator[bytes] | Sequence[bytes], size: int, length: int) -> str:
    hasher = hashlib.sha1(usedforsecurity=False) if length == 40 else hashlib.sha256()
    hasher.update(b"blob %d\0" % size)
    for piece in pieces:
        hasher.update(piece)
    return hasher.hexdigest()
