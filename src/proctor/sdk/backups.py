"""Backups of a data folder: the database as of one moment, a list of the objects, and what proves that both are whole.

A backup is a new folder: ``database.dump`` (pg_dump's custom format), ``objects.jsonl`` (key, size and sha256 of each
object, a line each), a copy of the objects where they lie in the data folder, the server's secret, and, written last,
``manifest.json``. A folder without a manifest is no backup. The dump is taken first and the objects are listed after
it: an object is stored before the row that names it, so none that the dump knows is missed.

The installation is told of it after that, so that it knows of no backup that is none; where it can't be told, the
backup stands all the same and is said to be unrecorded. No dump holds its own record: what was put back is recorded
again.

One's own PostgreSQL and a bucket have tools of their own; ``docs/how-to/back-up.md`` says how they go together.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import filterfalse
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from proctor.app import embedded_server, open_present, open_storage
from proctor.database.embedded import EmbeddedServer
from proctor.database.engine import Database
from proctor.database.upgrade import HEAD
from proctor.health import backups as recorded
from proctor.health.backups import LONGEST_AGE
from proctor.kernel.errors import ProctorError
from proctor.kernel.paths import writing
from proctor.objects.store import ObjectStore
from proctor.sdk.backup_files import (
    DUMP,
    KEY,
    OBJECTS,
    VERSION,
    Backup,
    BackupBroken,
    BackupRefused,
    check_files,
    check_name,
    read_manifest,
    sha256_of,
    write_manifest,
)
from proctor.settings import Settings
from proctor.telemetry.places import is_log

__all__ = [
    "LONGEST_AGE",
    "Backup",
    "BackupBroken",
    "BackupRefused",
    "Recorded",
    "Verified",
    "create_backup",
    "restore_backup",
    "verify_backup",
]

CLOCKS_APART = timedelta(minutes=5)
"""How far the clocks of two machines may be apart."""
_NOT_OURS: str = "This installation did not make it, or its manifest was changed since."


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A backup that was written or put back, and whether the installation knows of it."""

    backup: Backup
    digest: str
    """SHA-256 of its manifest, in hexadecimal: what the installation knows it by."""
    unrecorded: str | None
    """Why the installation does not know of it, though it is whole; ``None``: it does."""


@dataclass(frozen=True, kw_only=True)
class Verified:
    """A backup that was restored into a scratch server and found whole."""

    backup: Backup
    age_sec: float
    rows: int
    objects: int
    digest: str
    """SHA-256 of its manifest, in hexadecimal."""
    unrecorded: str | None
    """Why the installation of these settings does not count it as verified; ``None``: it does."""


def create_backup(settings: Settings, folder: Path) -> Recorded:
    """Write a backup to a new folder, and have the installation know of it. Raises ``BackupRefused``,
    ``PathUnusable``; never for what failed after it was whole."""
    if settings.database_url is not None:
        raise BackupRefused("The database is one's own PostgreSQL, which is backed up by its own tools.")
    check_name(folder)
    with writing(folder):
        if folder.exists():
            raise BackupRefused("The folder exists.", where=str(folder))
        folder.mkdir(parents=True, mode=0o700)
    dumped = embedded_server(settings).counted_dump(folder / DUMP)
    store = ObjectStore(settings.objects_url or settings.home / "objects")
    copied = settings.objects_url is None
    count, size = _write_objects(store, folder, copied=copied)
    secret = settings.home / "secrets" / KEY
    if secret.exists():
        shutil.copy2(secret, folder / KEY)
    has_key = (folder / KEY).exists()
    backup = Backup(
        version=VERSION,
        created_at=datetime.now(UTC),
        revision=dumped.revision,
        dump_sha256=sha256_of(folder / DUMP),
        dump_bytes=(folder / DUMP).stat().st_size,
        key_sha256=sha256_of(folder / KEY) if has_key else None,
        rows=dumped.rows,
        list_sha256=sha256_of(folder / OBJECTS),
        objects=count,
        object_bytes=size,
        copied=copied,
    )
    digest = write_manifest(folder, backup)
    return Recorded(backup=backup, digest=digest, unrecorded=_record(settings, folder, backup, digest))


def verify_backup(settings: Settings, folder: Path, *, longest_age: timedelta = LONGEST_AGE) -> Verified:
    """Restore a backup into a scratch server, count its rows and check its objects; the installation of these settings
    counts it as verified if it made it, and no longer if it is broken. Raises ``BackupBroken``, ``BackupRefused``."""
    check_name(folder)
    try:
        backup, digest = read_manifest(folder)
    except (BackupBroken, BackupRefused):
        _lose(settings, folder)
        raise
    try:
        age = _checked_age(folder, backup, longest_age)
    except BackupBroken:
        _lose(settings, folder, unless=digest)
        raise
    try:
        rows, objects = _check_whole(folder, backup)
    except BackupBroken:
        if _judge(settings, digest, whole=False) is not None:
            _lose(settings, folder)
        raise
    return Verified(
        backup=backup,
        age_sec=age.total_seconds(),
        rows=rows,
        objects=objects,
        digest=digest,
        unrecorded=_judge(settings, digest, whole=True),
    )


def _checked_age(folder: Path, backup: Backup, longest_age: timedelta) -> timedelta:
    """Since it was made. Raises ``BackupBroken``."""
    age = datetime.now(UTC) - backup.created_at
    if age < -CLOCKS_APART:
        raise BackupBroken(f"It says that it will be made in {_hours(-age)}.", where=str(folder))
    if age > longest_age:
        raise BackupBroken(
            f"It is stale: made {_hours(age)} ago, and may be {_hours(longest_age)} old.", where=str(folder)
        )
    return age


def _check_whole(folder: Path, backup: Backup) -> tuple[int, int]:
    """Rows that came back, and objects that are there. Raises ``BackupBroken``."""
    objects = check_files(folder, backup)
    with tempfile.TemporaryDirectory(prefix="proctor-verify-") as scratch:
        server = EmbeddedServer(Path(scratch) / "postgres")
        with server:
            _restored(server, folder)
            found = server.counts()
    if found != dict(backup.rows):
        wrong = sorted(name for name in {*found, *backup.rows} if found.get(name) != backup.rows.get(name))
        raise BackupBroken(f"Other rows came back than it says, in {', '.join(wrong)}.", where=str(folder))
    return sum(found.values()), objects


def restore_backup(settings: Settings, folder: Path) -> Recorded:
    """Put a backup into a data folder that is not there yet, which knows of it from then on: as verified, where just
    the rows came back that it says. Raises ``BackupBroken``, ``BackupRefused``."""
    check_name(folder)
    backup, digest = read_manifest(folder)
    if settings.database_url is not None:
        raise BackupRefused("The database is one's own PostgreSQL; restore the dump with its own tools.")
    if settings.home.exists() and any(settings.home.iterdir()):
        raise BackupRefused(
            "The data folder holds something.", where=str(settings.home), remedy="Name a new one with PROCTOR_HOME."
        )
    if backup.revision > HEAD:
        raise BackupRefused(f"It is of schema {backup.revision}, newer than this program's {HEAD}.", where=str(folder))
    check_files(folder, backup)
    with writing(settings.home):
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if backup.copied:
        shutil.copytree(folder / "objects", settings.home / "objects", dirs_exist_ok=True)
    if backup.key_sha256 is not None:
        (settings.home / "secrets").mkdir(mode=0o700)
        shutil.copy2(folder / KEY, settings.home / "secrets" / KEY)
    server = embedded_server(settings)
    with server:
        _restored(server, folder)
        is_whole = server.counts() == dict(backup.rows)
    unrecorded = _record_restored(settings, folder, backup, digest, is_whole=is_whole)
    return Recorded(backup=backup, digest=digest, unrecorded=unrecorded)


def _restored(server: EmbeddedServer, folder: Path) -> None:
    try:
        server.restore(folder / DUMP)
    except ProctorError as error:
        raise BackupBroken(f"Its dump can't be restored: {error.message}", where=str(folder / DUMP)) from error


# --- what the installation knows --------------------------------------------------------------------------------------


def _record(settings: Settings, folder: Path, backup: Backup, digest: str) -> str | None:
    """Have the installation know of a backup that is whole; why it does not."""

    def work() -> None:
        with open_present(settings) as database:
            _keep(database, folder, backup, digest)

    return _unless_it_fails(work)


def _record_restored(settings: Settings, folder: Path, backup: Backup, digest: str, *, is_whole: bool) -> str | None:
    """The same of the installation that was put back, whose schema may be older."""

    def work() -> None:
        with open_storage(settings) as (database, _):
            _keep(database, folder, backup, digest)
            if is_whole:
                database.as_scheduler(lambda c: recorded.judge(c, digest, whole=True))

    return _unless_it_fails(work)


def _keep(database: Database, folder: Path, backup: Backup, digest: str) -> None:
    size = backup.dump_bytes + (backup.object_bytes if backup.copied else 0)
    host, place = _place(folder)
    database.as_scheduler(
        lambda c: recorded.record(c, digest=digest, made_at=backup.created_at, size=size, host=host, folder=place)
    )


def _place(folder: Path) -> tuple[str, str]:
    """The machine, and the folder on it."""
    return socket.gethostname(), os.path.realpath(folder)


def _lose(settings: Settings, folder: Path, *, unless: str | None = None) -> None:
    """Have the installation count what it made there as verified no longer: it is not there any more as it was.

    ``unless``: but not where it made what is there, which has that digest.
    """
    host, place = _place(folder)

    def lose(connection: Connection) -> None:
        if unless is None or not recorded.is_known(connection, unless):
            recorded.lose(connection, host=host, folder=place)

    def work() -> None:
        with open_present(settings) as database:
            database.as_scheduler(lose)

    _unless_it_fails(work)


def _judge(settings: Settings, digest: str, *, whole: bool) -> str | None:
    """Have the installation know what became of a backup that it made; why it does not."""
    known = False

    def work() -> None:
        nonlocal known
        with open_present(settings) as database:
            known = database.as_scheduler(lambda c: recorded.judge(c, digest, whole=whole))

    return _unless_it_fails(work) or (None if known else _NOT_OURS)


def _unless_it_fails(work: Callable[[], None]) -> str | None:
    """Why it failed: the backup is what it is, whether the database can be told of it or not."""
    try:
        work()
    except (ProctorError, SQLAlchemyError, OSError) as error:
        return _reason(error)
    return None


def _reason(error: Exception) -> str:
    """In a sentence; others' exceptions by kind only, whose words may hold an address."""
    if not isinstance(error, ProctorError):
        return f"{type(error).__name__}."
    return error.message if error.where is None else f"{error.message} ({error.where})"


# --- objects ----------------------------------------------------------------------------------------------------------


def _write_objects(store: ObjectStore, folder: Path, *, copied: bool) -> tuple[int, int]:
    """List all objects, and copy them where they are this data folder's own; how many, and their bytes.

    Log lines are left out: they are swept at any time, and no row refers to them.
    """
    count = size = 0
    target = ObjectStore(folder / "objects") if copied else None
    with (folder / OBJECTS).open("w", encoding="utf-8") as lines, tempfile.TemporaryDirectory(dir=folder) as spool:
        for key in filterfalse(is_log, store.list("")):
            path = Path(spool) / "object"
            store.get_file(key, path)
            stored = path.stat().st_size
            lines.write(json.dumps({"key": key, "size": stored, "sha256": sha256_of(path)}) + "\n")
            if target is not None:
                target.put_file(key, path)
            path.unlink()
            count, size = count + 1, size + stored
        lines.flush()
        os.fsync(lines.fileno())
    return count, size


def _hours(time: timedelta) -> str:
    return f"{time.total_seconds() / 3600:.1f} h"
