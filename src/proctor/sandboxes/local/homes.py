"""Where the sandboxes of one backend live on the host, and which host user each runs as."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

from proctor.sandboxes.errors import SandboxStartError
from proctor.sandboxes.files.confined import descriptor
from proctor.sandboxes.files.trees import remove_tree
from proctor.sandboxes.local.launch import bubblewrap

__all__ = ["PREFIX", "home_of", "new_id", "owner_of", "program_for", "reachable_by_others", "spread"]

PREFIX = "pl-"
_SHARED = Path("/var/tmp")  # noqa: S108 - a folder of root's own is made in it, and checked to be that
_BELONGS = "belongs-to"
_FIRST_UID = 0x60000000
_UIDS = 1 << 28
"""Host uids from 1,610,612,736: above what systemd, containers and subuid files hand out."""


_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_TOP_OF_HIERARCHY = 0x00020000


def new_id() -> str:
    """A name for a sandbox that no other will have."""
    return PREFIX + secrets.token_hex(8)


def owner_of(sandbox_id: str) -> int | None:
    """The host uid and gid of a sandbox: one of its own when Proctor is root, else nothing to change."""
    if os.geteuid() != 0:
        return None
    return _FIRST_UID + int(hashlib.sha256(sandbox_id.encode()).hexdigest()[:7], 16) % _UIDS


def reachable_by_others(folder: Path) -> bool:
    """Whether any user may pass through every folder down to this one."""
    resolved = folder.resolve()
    return all(part.stat().st_mode & stat.S_IXOTH for part in (resolved, *resolved.parents) if part.exists())


def spread(home: Path) -> None:
    """Tell ext4 that folders in here have nothing to do with each other (``chattr +T``).

    It then keeps them apart. In one place the inodes of sandboxes removed a moment ago, which it does not
    use again for seconds, stand in the way of new ones: 15 ms each at 15 sandboxes a second.
    """
    with suppress(OSError), descriptor(os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
        flags = struct.unpack("i", fcntl.ioctl(fd, _GET_FLAGS, bytes(4)))[0]
        if not flags & _TOP_OF_HIERARCHY:
            fcntl.ioctl(fd, _SET_FLAGS, struct.pack("i", flags | _TOP_OF_HIERARCHY))


def home_of(root: Path) -> Path:
    """The folder that sandboxes are made in: ``root``, or a sibling where their own users can get to.

    As root a sandbox runs as a host user that can't pass through a private folder such as root's home. No
    mode of a folder that is not ours is changed; a folder of root's own below /var/tmp is used instead.
    """
    root.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0 or reachable_by_others(root):
        return root
    home = _SHARED / f"proctor-{hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]}"
    home.mkdir(mode=0o711, exist_ok=True)
    info = home.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != 0 or info.st_mode & 0o022:
        raise SandboxStartError(
            f"{home} is not a folder of root's alone", remedy=f"Remove it, or open {root} for passage (chmod o+x)."
        )
    belongs = home / _BELONGS
    if not belongs.exists():
        belongs.write_text(str(root.resolve()))
        _sweep()
    return home


def _sweep() -> None:
    """Remove what was made for roots that are no more, a test's say, and holds no sandbox."""
    for home in _SHARED.glob("proctor-*"):
        with suppress(OSError):
            info = home.lstat()
            if not stat.S_ISDIR(info.st_mode) or info.st_uid != 0:
                continue
            if not Path((home / _BELONGS).read_text()).exists() and not any(home.glob(f"{PREFIX}*")):
                remove_tree(home)


def program_for(home: Path) -> Path:
    """Bubblewrap where a sandbox's own host user can start it: of a private installation, a copy below ``home``."""
    program = bubblewrap()
    if program is None:
        raise SandboxStartError("there is no bubblewrap for this platform")
    if os.geteuid() != 0 or reachable_by_others(program.parent):
        return program
    info = program.stat()
    copied = home / f"bubblewrap-{info.st_size}-{info.st_mtime_ns}"
    if not copied.exists():
        _copy_program(program, copied)
    return copied / program.parent.parent.name / program.parent.name / program.name


def _copy_program(program: Path, copied: Path) -> None:
    """The wheel's two folders side by side: the program finds its libraries relative to itself."""
    package = program.parent.parent
    draft = Path(tempfile.mkdtemp(prefix="bubblewrap.", dir=copied.parent))
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.is_dir():
            shutil.copytree(folder, draft / folder.name)
    for path in (draft, *draft.rglob("*")):
        path.chmod(0o755)
    try:
        draft.rename(copied)
    except OSError:  # another process was first, with the same content
        remove_tree(draft)
