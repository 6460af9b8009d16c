"""What can go wrong with the embedded server.

EmbeddedError
├── EmbeddedUnavailable     this machine or installation has no embedded server
├── FolderRefused           the data folder belongs to somebody else, or others may write to it
├── ServerElsewhere         the data folder is in use by a server that can't be reached from here
├── StartFailed             the server ended, or showed no progress, before it answered
│   └── DiskFull            no space is left where the data folder is
├── DatabaseInUse           other processes use the database that is to be replaced
├── StopFailed              the server did not end in time
├── VersionMismatch         the data folder was made by another major version of PostgreSQL
└── PasswordsLost           the data folder has data, but its password file is gone
"""

from __future__ import annotations

from proctor.database.errors import DatabaseError

__all__ = [
    "DatabaseInUse",
    "DiskFull",
    "EmbeddedError",
    "EmbeddedUnavailable",
    "FolderRefused",
    "PasswordsLost",
    "ServerElsewhere",
    "StartFailed",
    "StopFailed",
    "VersionMismatch",
    "says_disk_full",
]

_FULL: tuple[str, ...] = ("No space left on device", "Disk quota exceeded", "Check free disk space")
"""PostgreSQL reports a write that was cut short with the last of these alone."""


class EmbeddedError(DatabaseError):
    """The embedded database failed."""

    code = "embedded"


class EmbeddedUnavailable(EmbeddedError):
    """The embedded database can't run here."""

    code = "embedded-unavailable"
    remedy = "Set PROCTOR_DATABASE_URL to a PostgreSQL 15 or newer of your own."


class FolderRefused(EmbeddedError):
    """The database folder can't be used by this user."""

    code = "embedded-folder"
    exit_code = 2
    remedy = "Run as the folder's owner, or choose another data folder."


class ServerElsewhere(EmbeddedError):
    """The database of this folder is in use from another container, mount or machine."""

    code = "embedded-elsewhere"
    remedy = "Run `proctor down` where it was started, or choose another data folder."


class StartFailed(EmbeddedError):
    """The embedded database did not start."""

    code = "embedded-start"
    remedy = "Read the server's log, named above."


class DiskFull(StartFailed):
    """No space is left on the disk of the database folder."""

    code = "embedded-disk-full"
    remedy = "Free some space there and run the command again; nothing that was committed is lost."


class DatabaseInUse(EmbeddedError):
    """Other processes use the database."""

    code = "embedded-in-use"
    exit_code = 2
    remedy = "Let them end, or run `proctor down`, and try again."


class StopFailed(EmbeddedError):
    """The embedded database did not stop."""

    code = "embedded-stop"
    remedy = "Run `proctor down` again; the server's log says what it waits for."


class VersionMismatch(EmbeddedError):
    """The database folder was made by another major version of PostgreSQL."""

    code = "embedded-version"
    exit_code = 2
    remedy = "Install the version of Proctor that made it, dump, and restore into a new folder."


class PasswordsLost(EmbeddedError):
    """The password file of the database folder is missing or unreadable."""

    code = "embedded-passwords"
    remedy = "Put passwords.json back from a backup."


def says_disk_full(text: str) -> bool:
    """Whether that is how PostgreSQL, or its programs, say that the disk is full."""
    return any(words in text for words in _FULL)
