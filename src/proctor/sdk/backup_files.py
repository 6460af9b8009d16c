"""What a backup's folder holds: its manifest and its list of objects, written, read again, and checked.

Whoever can write there is hostile: nothing is believed that was not looked at, and nothing of it is told as it stands.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from proctor.kernel.errors import IntegrityError, UsageError
from proctor.kernel.validation import words_of

__all__ = [
    "DUMP",
    "KEY",
    "OBJECTS",
    "VERSION",
    "Backup",
    "BackupBroken",
    "BackupRefused",
    "check_files",
    "check_name",
    "read_manifest",
    "sha256_of",
    "write_manifest",
]

VERSION: int = 2
DUMP, OBJECTS, MANIFEST, KEY = "database.dump", "objects.jsonl", "manifest.json", "server.key"
LONGEST_PLACE: int = 2048
"""Of a backup's path, in bytes: half of what a path may have, for objects lie below it."""
MANIFEST_BYTES: int = 1024 * 1024
LINE_BYTES: int = 4096
"""Of an object in the list: a key, a size and a digest."""
_Count = Annotated[int, Field(ge=0, le=2**53)]
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Revision = Annotated[str, Field(pattern=r"^[0-9]{4}$")]
_Table = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")]


def _in_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("It is no time of this calendar") from error


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("It has a character that can't be printed")
    return text


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

    version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    created_at: Annotated[AwareDatetime, AfterValidator(_in_utc)]
    revision: _Revision
    dump_sha256: _Digest
    dump_bytes: _Count
    key_sha256: _Digest | None
    """Of the server's secret, without which no API key opens anything; ``None``: there was none."""
    rows: Mapping[_Table, _Count]
    list_sha256: _Digest
    objects: _Count
    object_bytes: _Count
    copied: bool


@dataclass(frozen=True, kw_only=True)
class _Listed:
    """An object of a backup, as its list has it."""

    key: Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_printable)]
    size: _Count
    sha256: _Digest


_BACKUP, _LISTED = TypeAdapter(Backup), TypeAdapter(_Listed)


def write_manifest(folder: Path, backup: Backup) -> str:
    """All of it or nothing; its digest."""
    fresh = folder / f".{MANIFEST}"
    document = {**asdict(backup), "created_at": backup.created_at.isoformat()}
    content = json.dumps(document, indent=2).encode()
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(folder / MANIFEST)
    return hashlib.sha256(content).hexdigest()


def read_manifest(folder: Path) -> tuple[Backup, str]:
    """What it says of itself, and the digest of just these bytes."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise BackupRefused("There is no such folder.", where=str(folder))
    try:
        content = _content(path)
        _check_version(content, path)
        backup = _BACKUP.validate_json(content, strict=True)
    except FileNotFoundError as error:
        raise BackupBroken("It has no manifest: it is empty, or was never finished.", where=str(folder)) from error
    except ValidationError as error:
        raise BackupBroken(f"Its manifest can't be read: {_first(error)}.", where=str(path)) from error
    except (OSError, ValueError) as error:
        raise BackupBroken("Its manifest can't be read.", where=str(path)) from error
    return backup, hashlib.sha256(content).hexdigest()


def _content(path: Path) -> bytes:
    """A manifest's bytes; of what is none, no more than it takes to know."""
    if path.exists() and not path.is_file():  # reading a pipe has no end
        raise BackupBroken("Its manifest is no file.", where=str(path))
    with path.open("rb") as file:
        content = file.read(MANIFEST_BYTES + 1)
    if len(content) > MANIFEST_BYTES:
        raise BackupBroken("Its manifest is too large to be one.", where=str(path))
    return content


def _check_version(content: bytes, path: Path) -> None:
    """Before anything else is read: another version may say other things. Raises ``BackupBroken``, ``ValueError``."""
    document = from_json(content)
    version = document.get("version") if isinstance(document, dict) else None
    if type(version) is int and 0 <= version < 10**9 and version != VERSION:
        raise BackupBroken(f"It is of version {version}; this program knows {VERSION}.", where=str(path))


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, without what was written there."""
    told = error.errors(include_url=False, include_context=False, include_input=False)[0]
    words = words_of(told)
    where = ".".join(ascii(part).strip("'") for part in told["loc"])
    return f"{where}: {words}" if where else words


def check_name(folder: Path) -> None:
    """That a backup can be recorded and told of by where it lies. Raises ``BackupRefused``."""
    place = os.path.realpath(folder)
    if not place.isprintable() or len(os.fsencode(place)) > LONGEST_PLACE or not _are_names(place.split(os.sep)):
        raise BackupRefused(
            "A folder can't be named so.", where=ascii(str(folder))[:200], remedy="Use letters, digits, - and _."
        )


def _are_names(parts: Sequence[str]) -> bool:
    """Whether a file can be called by each of them."""
    return max(len(os.fsencode(one)) for one in parts) <= os.pathconf("/", "PC_NAME_MAX")


def _check_file(path: Path, sha256: str) -> None:
    try:
        _check_content(path, sha256)
    except OSError as error:
        raise BackupBroken(f"It can't be read: {error.strerror}.", where=str(path)) from error


def _check_content(path: Path, sha256: str) -> None:
    if not path.is_file():
        raise BackupBroken("It is missing.", where=str(path))
    if path.stat().st_size == 0 and sha256 != hashlib.sha256().hexdigest():
        raise BackupBroken("It is empty.", where=str(path))
    if sha256_of(path) != sha256:
        raise BackupBroken("It is not what was written: truncated, or changed.", where=str(path))


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- its files --------------------------------------------------------------------------------------------------------


def check_files(folder: Path, backup: Backup) -> int:
    """Whether all is there as it was written; how many objects."""
    _check_file(folder / DUMP, backup.dump_sha256)
    _check_file(folder / OBJECTS, backup.list_sha256)
    if backup.key_sha256 is not None:
        _check_file(folder / KEY, backup.key_sha256)
    return _check_objects(folder, backup)


def _check_objects(folder: Path, backup: Backup) -> int:
    count = 0
    for listed in _lines(folder):
        count += 1
        if backup.copied:
            _check_file(_inside(folder / "objects", listed.key), listed.sha256)
    if count != backup.objects:
        raise BackupBroken(f"It lists {count} objects and says {backup.objects}.", where=str(folder / OBJECTS))
    return count


def _inside(root: Path, key: str) -> Path:
    """An object's copy; a list that leads out of the backup is nobody's."""
    path = root / key
    try:
        is_inside = path.resolve().is_relative_to(root.resolve())
        path.exists()
    except OSError:  # a name that no file can have
        is_inside = False
    if not is_inside:
        raise BackupBroken(f"It lists {key!r}.", where=str(root))
    return path


def _lines(folder: Path) -> Iterator[_Listed]:
    with (folder / OBJECTS).open("rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(LINE_BYTES), b""), 1):
            try:
                yield _LISTED.validate_json(line, strict=True)
            except ValidationError as error:
                where = str(folder / OBJECTS)
                raise BackupBroken(f"Its line {number:,} lists no object: {_first(error)}.", where=where) from error
