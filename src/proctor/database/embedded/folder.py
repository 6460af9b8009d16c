"""The database folder: what lies in it, whose it is, and the lock that serialises starts and stops.

lock  keeper.lock  server.lock     kernel locks (see keeper.py)
clients/                           one empty file for each client: pid, start time, a random word
data/                              PostgreSQL's own
passwords.json                     0600
sockets                            the path of the socket folder
bootstrapped                       the version of the roles' bootstrap that ran
server.log  server.log.1           capped
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pwd
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from proctor.database.embedded.errors import DiskFull, EmbeddedError, FolderRefused, PasswordsLost
from proctor.database.embedded.keeper import entry_name, live_clients, started

__all__ = ["Folder", "KeeperId", "owner_name", "sync_folder", "translated"]

LOCK_POLL_SEC: float = 0.02
LOG_TAIL_BYTES: int = 64 * 1024


class KeeperId(NamedTuple):
    """A keeper as it named itself: pid and start time, and where they hold (boot and pid namespace)."""

    pid: int
    start: int
    place: str

    def alive(self) -> bool:
        """Whether that very process lives; only to be asked in its own place."""
        return started(self.pid) == self.start


class Folder:
    """Paths and small files of one database folder. Nothing here follows a link that another user could plant."""

    def __init__(self, path: Path) -> None:
        """``path`` need not exist yet."""
        self.path = path.absolute()
        self.data = self.path / "data"
        self.clients = self.path / "clients"
        self.log = self.path / "server.log"

    def prepare(self) -> None:
        """Create the folder, 0700, or refuse one that another user owns or may write to."""
        if not self.present():
            try:
                self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            except PermissionError as error:
                raise FolderRefused(_who_is_in_the_way(self.path), where=str(self.path)) from error
            self.present()
        self.clients.mkdir(mode=0o700, exist_ok=True)

    def present(self) -> bool:
        """Whether the folder exists; one that another user owns or may write to is refused."""
        try:
            state = self.path.lstat()
        except FileNotFoundError:
            return False
        except PermissionError as error:
            raise FolderRefused(_who_is_in_the_way(self.path), where=str(self.path)) from error
        except NotADirectoryError as error:
            raise FolderRefused("A folder above it is a file.", where=str(self.path)) from error
        if not stat.S_ISDIR(state.st_mode):
            raise FolderRefused("It is a link or a file, not a folder.", where=str(self.path))
        if state.st_uid != os.geteuid():
            owner, we = owner_name(state.st_uid), owner_name(os.geteuid())
            raise FolderRefused(f"The database folder belongs to {owner}, and this is {we}.", where=str(self.path))
        if state.st_mode & 0o022:
            raise FolderRefused(
                "Other users may write to the database folder.",
                where=str(self.path),
                remedy=f"Run `chmod go-w {self.path}`, or choose another data folder.",
            )
        return True

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone among all processes; the kernel drops the lock of a holder that dies."""
        lock = self._open("lock")
        try:
            while not _flock(lock):
                time.sleep(LOCK_POLL_SEC)
            yield
        finally:
            os.close(lock)

    def keeper(self) -> KeeperId | None:
        """The living keeper, as the kernel sees it. Only under ``locked``: looking takes its lock for a moment."""
        lock = self._open("keeper.lock")
        try:
            return None if _flock(lock) else self.keeper_named()
        finally:
            os.close(lock)

    def server_gone(self) -> bool:
        """Whether no process of a server of ours lives. Only under ``locked``."""
        lock = self._open("server.lock")
        try:
            return _flock(lock)
        finally:
            os.close(lock)

    def postmaster_state(self) -> str:
        """What the server says of itself: "starting", "ready", "stopping", or nothing."""
        return "".join(self.inside("postmaster.pid").split("\n")[7:8]).strip()

    def version(self) -> str | None:
        """The major version of PostgreSQL that made the data; None without data."""
        return self.inside("PG_VERSION").strip() or None

    def inside(self, name: str) -> str:
        """A small file of the data folder, which may be another user's: no link and no pipe there is opened."""
        try:
            descriptor = os.open(self.data / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return ""
        with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
            return file.read(4096)

    def keeper_named(self) -> KeeperId | None:
        """The keeper that last named itself; whether it lives is another question."""
        words = self.read("keeper.lock").split()
        return KeeperId(int(words[0]), int(words[1]), words[2]) if len(words) == 3 else None

    def register(self) -> str:
        """Enter this process as a client; the name is for ``unregister``."""
        name = entry_name(str(self.path), os.getpid(), secrets.token_hex(8))
        (self.clients / name).touch(mode=0o600, exist_ok=False)
        return name

    def forget_other_places(self) -> None:
        """Remove entries of earlier boots and of containers that are gone. Only while no keeper lives anywhere."""
        here = entry_name(str(self.path), os.getpid(), "").split("-")[2]
        for path in self.clients.iterdir():
            words = path.name.split("-")
            if len(words) == 4 and words[2] != here:
                path.unlink(missing_ok=True)

    def unregister(self, name: str) -> None:
        """Take a client's entry away."""
        (self.clients / name).unlink(missing_ok=True)

    def live_clients(self) -> list[int]:
        """The pids of living clients, after the dead ones were removed."""
        return live_clients(str(self.path))

    def read(self, name: str) -> str:
        """A small file's text; empty when there is none."""
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def write(self, name: str, text: str) -> None:
        """Replace a small file, 0600, durably: after a power cut it is the old one or the new one."""
        fresh = self.path / f".{name}.{secrets.token_hex(4)}"
        try:
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.rename(self.path / name)
        finally:
            fresh.unlink(missing_ok=True)
        sync_folder(self.path)

    def passwords(self, roles: tuple[str, ...]) -> dict[str, str]:
        """The password of each role: generated when there is no data yet, else read."""
        text = self.read("passwords.json")
        if not text and self.data.exists():
            raise PasswordsLost(where=str(self.path / "passwords.json"))
        if not text:
            text = json.dumps({role: secrets.token_urlsafe(32) for role in roles})
            self.write("passwords.json", text)
        try:
            return {role: str(json.loads(text)[role]) for role in roles}
        except (ValueError, KeyError, TypeError) as error:
            raise PasswordsLost(where=str(self.path / "passwords.json")) from error

    def log_since(self, offset: int) -> str:
        """What the server's log says from there on, or its end if that is long or was cut meanwhile."""
        try:
            with self.log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(offset if offset <= size else 0, size - LOG_TAIL_BYTES))
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def log_size(self) -> int:
        """Bytes in the server's log: it grows while recovery reports progress."""
        try:
            return self.log.stat().st_size
        except FileNotFoundError:
            return 0

    def _open(self, name: str) -> int:
        return os.open(self.path / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


@contextmanager
def translated(where: Path) -> Iterator[None]:
    """Errors of the operating system as ours, once, at the border."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(where=str(where)) from error
        raise EmbeddedError(f"{error.strerror}: {error.filename}", where=str(where)) from error


def owner_name(uid: int) -> str:
    """A user as an error names one."""
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _flock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _who_is_in_the_way(path: Path) -> str:
    """Names the owner of the nearest folder above that can be seen."""
    for above in (path, *path.parents):
        try:
            owner = owner_name(above.lstat().st_uid)
        except OSError:
            continue
        return f"{owner_name(os.geteuid())} may not use it: {above} belongs to {owner}."
    return "It can't be reached."
