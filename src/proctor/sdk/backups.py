"""Backups of a data folder: the database as of one moment, a list of the objects, and what proves that both are whole.

A backup is a new folder: ``database.dump`` (pg_dump's custom format), ``objects.jsonl`` (key, size and sha256 of each
object, a line each), a copy of the objects where they lie in the data folder, the server's secret, and, written last,
``manifest.json``. A folder without a manifest is no backup. The dump is taken first and the objects are listed after
it: an object is stored before the row that names it, so none that the dump knows is missed.

One's own PostgreSQL and a bucket have tools of their own; ``docs/how-to/back-up.md`` says how they go together.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import filterfalse
from pathlib import Path
from typing import Any

from proctor.app import embedded_server
from proctor.database.embedded import EmbeddedServer
from proctor.database.upgrade import HEAD
from proctor.kernel.errors import IntegrityError, ProctorError, UsageError
from proctor.kernel.paths import writing
from proctor.objects.store import ObjectStore
from proctor.settings import Settings
from proctor.telemetry.places import is_log

__all__ = ["Backup", "BackupBroken", "Verified", "create_backup", "restore_backup", "verify_backup"]

VERSION: int = 2
DUMP, OBJECTS, MANIFEST, KEY = "database.dump", "objects.jsonl", "manifest.json", "server.key"
CLOCKS_APART = timedelta(minutes=5)
"""How far the clocks of two machines may be apart."""
LONGEST_AGE = timedelta(hours=26)
"""A daily backup that is older than this was not made today; two hours are for its making."""


class BackupBroken(IntegrityError):
    """The backup can't be relied on."""

    code = "backup-broken"
    remedy = "Make a new one with `proctor backup create FOLDER`, and keep this one as it is until that is verified."


class BackupRefused(UsageError):
    """A backup can't be made or restored so."""

    code = "backup"
    remedy = "docs/how-to/back-up.md says what goes."


@dataclass(frozen=True, kw_only=True)
class Backup:
    """What a backup says of itself. ``rows``: of each table; ``copied``: whether it holds the objects too."""

    version: int
    created_at: datetime
    revision: str
    dump_sha256: str
    dump_bytes: int
    key_sha256: str | None
    """Of the server's secret, without which no API key opens anything; ``None``: there was none."""
    rows: Mapping[str, int]
    list_sha256: str
    objects: int
    object_bytes: int
    copied: bool


@dataclass(frozen=True, kw_only=True)
class Verified:
    """A backup that was restored into a scratch server and found whole."""

    backup: Backup
    age_sec: float
    rows: int
    objects: int


def create_backup(settings: Settings, folder: Path) -> Backup:
    """Write a backup to a new folder. Raises ``BackupRefused``, ``PathUnusable``."""
    if settings.database_url is not None:
        raise BackupRefused("The database is one's own PostgreSQL, which is backed up by its own tools.")
    if folder.exists():
        raise BackupRefused("The folder exists.", where=str(folder))
    with writing(folder):
        folder.mkdir(parents=True, mode=0o700)
    rows = embedded_server(settings).counted_dump(folder / DUMP)
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
        revision=HEAD,
        dump_sha256=_sha256(folder / DUMP),
        dump_bytes=(folder / DUMP).stat().st_size,
        key_sha256=_sha256(folder / KEY) if has_key else None,
        rows=rows,
        list_sha256=_sha256(folder / OBJECTS),
        objects=count,
        object_bytes=size,
        copied=copied,
    )
    _write_manifest(folder, backup)
    return backup


def verify_backup(folder: Path, *, longest_age: timedelta = LONGEST_AGE) -> Verified:
    """Restore a backup into a scratch server, count its rows and check its objects. Raises ``BackupBroken``."""
    backup = _read(folder)
    age = datetime.now(UTC) - backup.created_at
    if age < -CLOCKS_APART:
        raise BackupBroken(f"It says that it will be made in {_hours(-age)}.", where=str(folder))
    if age > longest_age:
        raise BackupBroken(
            f"It is stale: made {_hours(age)} ago, and may be {_hours(longest_age)} old.", where=str(folder)
        )
    objects = _check_files(folder, backup)
    with tempfile.TemporaryDirectory(prefix="proctor-verify-") as scratch:
        server = EmbeddedServer(Path(scratch) / "postgres")
        with server:
            _restored(server, folder)
            found = server.counts()
    if found != dict(backup.rows):
        wrong = sorted(name for name in {*found, *backup.rows} if found.get(name) != backup.rows.get(name))
        raise BackupBroken(f"Other rows came back than it says, in {', '.join(wrong)}.", where=str(folder))
    return Verified(backup=backup, age_sec=age.total_seconds(), rows=sum(found.values()), objects=objects)


def restore_backup(settings: Settings, folder: Path) -> Backup:
    """Put a backup into a data folder that is not there yet. Raises ``BackupBroken``, ``BackupRefused``."""
    backup = _read(folder)
    if settings.database_url is not None:
        raise BackupRefused("The database is one's own PostgreSQL; restore the dump with its own tools.")
    if settings.home.exists() and any(settings.home.iterdir()):
        raise BackupRefused(
            "The data folder holds something.", where=str(settings.home), remedy="Name a new one with PROCTOR_HOME."
        )
    if backup.revision > HEAD:
        raise BackupRefused(f"It is of schema {backup.revision}, newer than this program's {HEAD}.", where=str(folder))
    _check_files(folder, backup)
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
    return backup


def _restored(server: EmbeddedServer, folder: Path) -> None:
    try:
        server.restore(folder / DUMP)
    except ProctorError as error:
        raise BackupBroken(f"Its dump can't be restored: {error.message}", where=str(folder / DUMP)) from error


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
            lines.write(json.dumps({"key": key, "size": stored, "sha256": _sha256(path)}) + "\n")
            if target is not None:
                target.put_file(key, path)
            path.unlink()
            count, size = count + 1, size + stored
        lines.flush()
        os.fsync(lines.fileno())
    return count, size


def _check_files(folder: Path, backup: Backup) -> int:
    """Whether all is there as it was written; how many objects."""
    _check_file(folder / DUMP, backup.dump_sha256)
    _check_file(folder / OBJECTS, backup.list_sha256)
    if backup.key_sha256 is not None:
        _check_file(folder / KEY, backup.key_sha256)
    return _check_objects(folder, backup)


def _check_objects(folder: Path, backup: Backup) -> int:
    count = 0
    for line in _lines(folder):
        count += 1
        if backup.copied:
            _check_file(_inside(folder / "objects", str(line["key"])), str(line["sha256"]))
    if count != backup.objects:
        raise BackupBroken(f"It lists {count} objects and says {backup.objects}.", where=str(folder / OBJECTS))
    return count


def _inside(root: Path, key: str) -> Path:
    """An object's copy; a list that leads out of the backup is nobody's."""
    path = root / key
    if not path.resolve().is_relative_to(root.resolve()):
        raise BackupBroken(f"It lists {key!r}.", where=str(root))
    return path


def _lines(folder: Path) -> Iterator[Mapping[str, Any]]:
    with (folder / OBJECTS).open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


# --- the manifest -----------------------------------------------------------------------------------------------------


def _write_manifest(folder: Path, backup: Backup) -> None:
    fresh = folder / f".{MANIFEST}"
    document = {**asdict(backup), "created_at": backup.created_at.isoformat()}
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(document, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(folder / MANIFEST)


def _read(folder: Path) -> Backup:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise BackupRefused("There is no such folder.", where=str(folder))
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        backup = Backup(**{**document, "created_at": datetime.fromisoformat(document["created_at"])})
    except FileNotFoundError as error:
        raise BackupBroken("It has no manifest: it is empty, or was never finished.", where=str(folder)) from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BackupBroken("Its manifest can't be read.", where=str(path)) from error
    if backup.version != VERSION:
        raise BackupBroken(f"It is of version {backup.version}; this program knows {VERSION}.", where=str(path))
    return backup


def _check_file(path: Path, sha256: str) -> None:
    if not path.is_file():
        raise BackupBroken("It is missing.", where=str(path))
    if path.stat().st_size == 0 and sha256 != hashlib.sha256().hexdigest():
        raise BackupBroken("It is empty.", where=str(path))
    if _sha256(path) != sha256:
        raise BackupBroken("It is not what was written: truncated, or changed.", where=str(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hours(time: timedelta) -> str:
    return f"{time.total_seconds() / 3600:.1f} h"
