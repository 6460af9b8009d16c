"""Where the sandboxes of one backend live on the host, and which host user each runs as."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from pathlib import Path

from proctor.sandboxes.errors import SandboxStartError

__all__ = ["PREFIX", "home_of", "new_id", "owner_of", "reachable_by_others"]

PREFIX = "pl-"
_SHARED = Path("/var/tmp")  # noqa: S108 - a folder of root's own is made in it, and checked to be that
_FIRST_UID = 0x60000000
_UIDS = 1 << 28
"""Host uids from 1,610,612,736: above what systemd, containers and subuid files hand out."""


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
    return home
