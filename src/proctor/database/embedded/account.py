"""Who the server runs as, and where its socket lies.

PostgreSQL refuses to run as root, and an existing account such as ``nobody`` is shared with processes that could
then connect, trace it or read its files. So, when Proctor runs as root, the server gets a user id that nobody has,
from a range that systemd's table of uids lists as unused; no account is created. Only ``initdb`` insists on a name
in the account list: it runs, for about a second, as an existing account that has no process, and its files are then
given to the server's user. An account named ``proctor``, where a machine has one, is used for both instead.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import secrets
import stat
from pathlib import Path
from typing import NamedTuple

import psutil

from proctor.database.embedded.errors import EmbeddedUnavailable, FolderRefused
from proctor.database.embedded.folder import Folder, owner_name

__all__ = ["Account", "initdb_account", "server_account", "socket_folder"]

UNUSED_UIDS: range = range(60578, 61184)
"""Unused by systemd's, Debian's and Red Hat's tables of uids, and inside the 65,536 that containers map."""
ROOT_BASES: tuple[Path, ...] = (Path("/run"), Path("/tmp"))  # noqa: S108  # checked by lstat below
USER_BASES: tuple[Path, ...] = (Path("/tmp"),)  # noqa: S108
"""Not ``/run/user/<uid>``: it is emptied at logout, under a run that was left behind with nohup."""
NAME_TRIES: int = 8
NO_LOGIN: frozenset[str] = frozenset({"nologin", "false"})


class Account(NamedTuple):
    """A user id and group id that root becomes."""

    uid: int
    gid: int


def server_account(folder: Folder) -> Account | None:
    """The user to become; None to stay who we are, an ordinary user. It never changes for existing data."""
    if os.geteuid() != 0:
        return None
    try:
        state = folder.data.lstat()
    except FileNotFoundError:
        return _proctor_account() or _unused(folder.path)
    if state.st_uid == 0 or not stat.S_ISDIR(state.st_mode):
        raise FolderRefused("The data belongs to root, as whom PostgreSQL can't run.", where=str(folder.data))
    return Account(state.st_uid, state.st_gid)


def initdb_account() -> Account:
    """An account with a name for ``initdb`` to find, without a login and without a running process."""
    busy = _busy_uids()
    quiet = [
        Account(entry.pw_uid, entry.pw_gid)
        for entry in pwd.getpwall()
        if entry.pw_uid != 0 and entry.pw_uid not in busy and Path(entry.pw_shell).name in NO_LOGIN
    ]
    account = _proctor_account() or next(iter(quiet), None)
    if account is None:
        raise EmbeddedUnavailable(
            "No system account without processes was found for initdb.",
            remedy="Create one: useradd --system --shell /usr/sbin/nologin proctor",
        )
    return account


def socket_folder(folder: Folder, account: Account | None) -> Path:
    """A 0700 folder with a short path (a socket's path may have 107 bytes), owned by the server's user.

    One that another user made first, or a link in its place, is passed over for a name that nobody can guess.
    """
    owner = account.uid if account else os.geteuid()
    digest = hashlib.sha256(os.fsencode(folder.path.resolve())).hexdigest()[:8]
    name = f"proctor-{os.geteuid()}-{digest}"
    recorded = Path(folder.read("sockets"))
    if recorded.name.startswith(name) and _ours(recorded, owner):
        return recorded  # and not that of another folder, of which this one is a copy
    for base in ROOT_BASES if account else USER_BASES:
        for word in ("", *(f"-{secrets.token_hex(4)}" for _ in range(NAME_TRIES))):
            path = base / f"{name}{word}"
            if _made(path, account) or _ours(path, owner):
                folder.write("sockets", str(path))
                return path
    raise EmbeddedUnavailable(f"No folder for the socket could be made in {USER_BASES[0]}.")


def _proctor_account() -> Account | None:
    try:
        entry = pwd.getpwnam("proctor")
    except KeyError:
        return None
    return Account(entry.pw_uid, entry.pw_gid) if entry.pw_uid else None


def _unused(path: Path) -> Account:
    first = int.from_bytes(hashlib.sha256(os.fsencode(path)).digest()[:4]) % len(UNUSED_UIDS)
    busy = _busy_uids()
    for step in range(len(UNUSED_UIDS)):
        uid = UNUSED_UIDS[(first + step) % len(UNUSED_UIDS)]
        if uid not in busy and owner_name(uid) == f"uid {uid}":
            return Account(uid, uid)
    raise EmbeddedUnavailable("Every user id that the server could have is in use.")


def _busy_uids() -> set[int]:
    found = (process.info["uids"] for process in psutil.process_iter(["uids"]))
    return {uids.real for uids in found if uids}


def _made(path: Path, account: Account | None) -> bool:
    try:
        path.mkdir(mode=0o700)
    except OSError:
        return False  # taken, or no folder can be made here: the caller checks, then tries the next
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if account:
            os.fchown(descriptor, account.uid, account.gid)
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)
    return True


def _ours(path: Path, owner: int) -> bool:
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == owner and not state.st_mode & 0o077
