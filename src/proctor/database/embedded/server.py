"""One PostgreSQL server for one folder: started by its first client, stopped by its last."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from sqlalchemy.engine import URL

from proctor.database import roles
from proctor.database.embedded import account, cluster, control, copies, keeper
from proctor.database.embedded.copies import Dumped
from proctor.database.embedded.errors import DatabaseInUse
from proctor.database.embedded.folder import Folder, translated

__all__ = ["Connections", "EmbeddedServer", "Status"]

ALL_ROLES: tuple[str, ...] = (cluster.SUPERUSER, *roles.ROLES)


@dataclass(frozen=True, kw_only=True)
class Connections:
    """How each role connects, through the unix socket. ``owner`` is for migrations only."""

    owner: URL
    app: URL
    scheduler: URL


@dataclass(frozen=True, kw_only=True)
class Status:
    """The server as it is now; ``pid`` and ``sockets`` are None while none runs."""

    running: bool
    pid: int | None
    clients: tuple[int, ...]
    version: str | None
    data: Path
    sockets: Path | None
    log: Path


class EmbeddedServer:
    """The server of one folder. ``acquire`` and ``release`` are safe among threads and processes.

    A client is a process: one that was forked from a client, and outlives it, has to acquire for itself.
    """

    def __init__(self, folder: Path, *, programs: Path | None = None) -> None:
        """``programs`` is the folder of PostgreSQL's programs; the wheel's by default."""
        self._folder = Folder(folder)
        self._programs = programs
        self._entries: list[str] = []
        self._pid = os.getpid()
        self._thread = threading.RLock()

    def __enter__(self) -> Connections:
        """As ``acquire``."""
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """As ``release``."""
        self.release()

    def acquire(self) -> Connections:
        """Start the server if it does not run, wait until it answers, and say how to connect."""
        with self._thread, translated(self._folder.path):
            self._forget_parent()
            self._folder.prepare()
            with self._folder.locked():
                self._entries.append(self._folder.register())
            try:
                self._start()
                return self._ready()
            except BaseException:
                self.release()
                raise

    def release(self) -> None:
        """Give up what one ``acquire`` gave; the last client stops the server and waits for its end."""
        with self._thread, translated(self._folder.path):
            self._forget_parent()
            if not self._entries:
                return
            if not self._folder.present():
                self._entries.clear()  # the folder was removed, and the keeper sees that too
                return
            with self._folder.locked():
                self._drop(self._entries[-1])
                if not self._folder.live_clients():
                    self._stop_keeper()

    def revive(self) -> None:
        """Start the server again for a client that lost it, its keeper having been killed; nothing while it runs."""
        with self._thread, translated(self._folder.path):
            self._forget_parent()
            if self._entries:
                self._start()

    def stop(self) -> bool:
        """Stop the server whoever uses it; False when none ran."""
        with self._thread, translated(self._folder.path):
            if not self._folder.present():
                return False
            with self._folder.locked():
                return self._stop_keeper()

    def status(self) -> Status:
        """What runs now; starts nothing and waits for nothing."""
        with translated(self._folder.path):
            present = self._folder.present()
            named = self._folder.keeper_named() if present else None
            running = named is not None and named.place == keeper.place(str(self._folder.path)) and named.alive()
            return Status(
                running=running,
                pid=control.postmaster(named) if running and named else None,
                clients=tuple(self._folder.live_clients()) if present else (),
                version=self._folder.version() if present else None,
                data=self._folder.data,
                sockets=Path(self._folder.read("sockets")) if running else None,
                log=self._folder.log,
            )

    def dump(self, path: Path) -> None:
        """Write the whole database to ``path`` (0600) in pg_dump's custom format, as of one moment."""
        with self, translated(path):
            copies.dump(self._programs or cluster.binaries(), self._url(cluster.SUPERUSER), path)

    def counted_dump(self, path: Path) -> Dumped:
        """As ``dump``; also what it holds."""
        with self, translated(path):
            return copies.counted_dump(self._programs or cluster.binaries(), self._url(cluster.SUPERUSER), path)

    def counts(self) -> dict[str, int]:
        """The rows of every table."""
        with self, translated(self._folder.path):
            return copies.counts(self._url(cluster.SUPERUSER))

    def restore(self, path: Path) -> None:
        """Replace the whole database by a dump. Refused while another process is a client."""
        with self, translated(path):
            others = [pid for pid in self._folder.live_clients() if pid != os.getpid()]
            if others:
                raise DatabaseInUse(f"Processes {others} use the database.", where=str(self._folder.path))
            copies.restore(self._programs or cluster.binaries(), self._url(cluster.SUPERUSER), path)
            with self._folder.locked(), control.connect(self._url(cluster.SUPERUSER, database="postgres")) as superuser:
                roles.bootstrap(superuser, self._folder.passwords(ALL_ROLES))

    def _forget_parent(self) -> None:
        """After a fork the entries are the parent's; this process has none."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._entries = []

    def _drop(self, entry: str) -> None:
        self._entries.remove(entry)
        self._folder.unregister(entry)

    def _start(self) -> None:
        """A server answers when this returns. One that was found, but was on its way down, is waited for first; one
        that was started here and ended is a failure at once."""
        deadline = time.monotonic() + control.ENDING_SEC
        while True:
            offset = self._folder.log_size()
            with self._folder.locked():
                found = self._folder.keeper()
                if found is None:
                    self._launch()
                else:
                    control.check_place(found, self._folder)
            if control.answers(self._folder, self._url(cluster.SUPERUSER, database="postgres")):
                return
            if found is None or time.monotonic() > deadline:
                raise control.start_failure(self._folder, offset)
            time.sleep(control.ANSWER_POLL_SEC)

    def _launch(self) -> None:
        """Under the lock: start a keeper, and with it the server; make the data first if there are none."""
        self._folder.forget_other_places()
        who = account.server_account(self._folder)
        programs = cluster.reachable(self._programs or cluster.binaries(), who)
        passwords = self._folder.passwords(ALL_ROLES)
        if not self._folder.data.exists():
            cluster.create(self._folder, programs, who, passwords[cluster.SUPERUSER])
        cluster.check_version(self._folder)
        sockets = account.socket_folder(self._folder, who)
        control.launch(self._folder, cluster.command(programs, sockets), sockets, who)

    def _ready(self) -> Connections:
        if self._folder.read("bootstrapped") != roles.BOOTSTRAP_VERSION:
            with self._folder.locked():
                self._bootstrap()
        return Connections(owner=self._url(roles.OWNER), app=self._url(roles.APP), scheduler=self._url(roles.SCHEDULER))

    def _bootstrap(self) -> None:
        """Under the lock, so that one client does it and the others find it done."""
        if self._folder.read("bootstrapped") == roles.BOOTSTRAP_VERSION:
            return
        with control.connect(self._url(cluster.SUPERUSER, database="postgres")) as superuser:
            roles.bootstrap(superuser, self._folder.passwords(ALL_ROLES))
        self._folder.write("bootstrapped", roles.BOOTSTRAP_VERSION)

    def _stop_keeper(self) -> bool:
        living = self._folder.keeper()
        if living is not None:
            control.check_place(living, self._folder)
        return control.stop(self._folder, living)

    def _url(self, role: str, database: str = roles.DATABASE) -> URL:
        return URL.create(
            roles.DRIVER,
            username=role,
            password=self._folder.passwords(ALL_ROLES)[role],
            database=database,
            query={"host": self._folder.read("sockets"), "port": cluster.SETTINGS["port"]},
        )
