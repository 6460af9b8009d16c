"""Backups of the installation, as they were made and proven: recorded by the commands that did it.

A backup is known by the digest of its manifest, which is recorded when it was written. So what another installation
made and a manifest that was changed since are not found here, however whole they are. Every function is the
scheduler's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Connection

from proctor.database.queries import run_query

__all__ = ["LONGEST_AGE", "BackupsReport", "RecordedBackup", "is_known", "judge", "lose", "record", "report"]

_run = partial(run_query, "proctor.health")

LONGEST_AGE = timedelta(hours=26)
"""A daily backup that is older than this was not made today; two hours are for its making."""
KEPT_DAYS: int = 400
"""A year and some weeks of what is a row a day."""


@dataclass(frozen=True, kw_only=True)
class RecordedBackup:
    """A backup that this installation made."""

    digest: str
    """SHA-256 of its manifest, in hexadecimal."""
    made_at: datetime
    bytes: int
    """Of the dump, and of the objects where it holds them."""
    host: str
    """The machine it was written on."""
    folder: str
    """And where there; it may have been moved since."""
    verified_at: datetime | None
    """When it was last restored and found whole; ``None``: never, or it was found broken since."""
    age_sec: float
    """Since it was made."""


@dataclass(frozen=True, kw_only=True)
class BackupsReport:
    """What is known of backups."""

    elsewhere: str | None
    """Who takes them instead, as ``PROCTOR_BACKUPS_ELSEWHERE`` says; then nothing here is missed."""
    own_database: bool
    """Whether the database is a PostgreSQL of one's own, which ``proctor backup`` can't back up."""
    recorded: int
    """How many are known, of the last 400 days."""
    newest: RecordedBackup | None
    newest_verified: RecordedBackup | None
    unaudited_sec: float | None
    """Since the newest verified one was made, or since the installation began; ``None``: they are taken elsewhere, or
    there is no tenant yet."""
    limit_sec: float
    """How long that may be."""
    is_overdue: bool


def record(connection: Connection, *, digest: str, made_at: datetime, size: int, host: str, folder: str) -> None:
    """Keep that a backup was made. Safe to repeat."""
    _run(connection, "record_backup", digest=digest, made_at=made_at, bytes=size, host=host, folder=folder)
    _run(connection, "forget_backups", days=KEPT_DAYS)


def judge(connection: Connection, digest: str, *, whole: bool) -> bool:
    """Keep that a backup was found whole just now, or that it was not. ``False``: this installation did not make it."""
    return _run(connection, "judge_backup", digest=digest, whole=whole).first() is not None


def is_known(connection: Connection, digest: str) -> bool:
    """Whether this installation made it."""
    return _run(connection, "known_backup", digest=digest).first() is not None


def lose(connection: Connection, *, host: str, folder: str) -> None:
    """Keep that what was made there is not found there any more as it was, so that it is not known to be whole."""
    _run(connection, "lose_backups", host=host, folder=folder)


def report(connection: Connection, *, elsewhere: str | None, own_database: bool) -> BackupsReport:
    """What is known of backups now."""
    verified = _newest(connection, verified=True)
    since = verified.age_sec if verified is not None else _run(connection, "age").scalar_one()
    unaudited = None if elsewhere else since
    return BackupsReport(
        elsewhere=elsewhere,
        own_database=own_database,
        recorded=_run(connection, "count_backups").scalar_one(),
        newest=_newest(connection, verified=False),
        newest_verified=verified,
        unaudited_sec=unaudited,
        limit_sec=LONGEST_AGE.total_seconds(),
        is_overdue=unaudited is not None and unaudited > LONGEST_AGE.total_seconds(),
    )


def _newest(connection: Connection, *, verified: bool) -> RecordedBackup | None:
    row = _run(connection, "newest_backup", verified=verified).one_or_none()
    return None if row is None else RecordedBackup(**row._mapping)
