"""Copies of the whole database: one as of a moment, and the way back to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from psycopg import Connection, sql
from sqlalchemy.engine import URL

from proctor.database import roles
from proctor.database.embedded.cluster import ENVIRONMENT
from proctor.database.embedded.control import connect
from proctor.database.embedded.errors import DiskFull, EmbeddedError, says_disk_full

__all__ = ["Dumped", "counted_dump", "counts", "dump", "restore"]

RESTORED: str = f"{roles.DATABASE}_restored"
REPLACED: str = f"{roles.DATABASE}_replaced"

_END_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


_TABLES = """
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'proctor'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1
"""


@dataclass(frozen=True, kw_only=True)
class Dumped:
    """What was dumped, as of the very moment of the dump."""

    revision: str
    """Of its schema."""
    rows: Mapping[str, int]
    """Of each table."""


def counted_dump(programs: Path, superuser: URL, path: Path) -> Dumped:
    """As ``dump``; also what it holds."""
    with connect(superuser.set(database=roles.DATABASE)) as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        snapshot = connection.execute("SELECT pg_export_snapshot()").fetchone()
        assert snapshot is not None
        revision = connection.execute("SELECT version_num FROM proctor.alembic_version").fetchone()
        assert revision is not None
        found = _counts(connection)
        dump(programs, superuser, path, snapshot=str(snapshot[0]))
        connection.execute("ROLLBACK")
    return Dumped(revision=str(revision[0]), rows=found)


def counts(superuser: URL) -> dict[str, int]:
    """The rows of every table now."""
    with connect(superuser.set(database=roles.DATABASE)) as connection:
        return _counts(connection)


def _counts(connection: Connection) -> dict[str, int]:
    found = {}
    for (name,) in connection.execute(_TABLES).fetchall():
        row = connection.execute(sql.SQL("SELECT count(*) FROM proctor.{}").format(sql.Identifier(name))).fetchone()
        assert row is not None
        found[str(name)] = int(row[0])
    return found


def dump(programs: Path, superuser: URL, path: Path, *, snapshot: str | None = None) -> None:
    """Write ``path`` (0600) in pg_dump's custom format: all of it, or nothing.

    As the superuser: row-level security is forced on the owner too, who could not dump other tenants' rows.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        of = [] if snapshot is None else [f"--snapshot={snapshot}"]
        _run([str(programs / "pg_dump"), "--format=custom", *of], superuser, roles.DATABASE, path, stdout=descriptor)
        os.fsync(descriptor)
        fresh.rename(path)
    finally:
        os.close(descriptor)
        fresh.unlink(missing_ok=True)


def restore(programs: Path, superuser: URL, path: Path) -> None:
    """Put a dump in the database's place. Until it is complete beside it, the database stays as it is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with connect(superuser.set(database="postgres")) as connection:
            for name in (RESTORED, REPLACED):
                connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            connection.execute(roles.create_database(RESTORED))
            _run(
                [str(programs / "pg_restore"), "--exit-on-error", "--single-transaction"],
                superuser,
                RESTORED,
                path,
                stdin=descriptor,
            )
            _refresh_statistics(superuser)
            _swap(superuser)
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(REPLACED)))
    finally:
        os.close(descriptor)


def _refresh_statistics(superuser: URL) -> None:
    """A dump holds none, and until the planner has them the first pages of a large database take many times as long."""
    with connect(superuser.set(database=RESTORED)) as connection:
        connection.execute("ANALYZE")


def _swap(superuser: URL) -> None:
    """Both renames in one transaction: at no moment is there no database of that name."""
    rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    with connect(superuser.set(database="postgres")) as connection:
        connection.execute(_END_SESSIONS, (roles.DATABASE,))
        with connection.transaction():
            for old, new in ((roles.DATABASE, REPLACED), (RESTORED, roles.DATABASE)):
                connection.execute(rename.format(sql.Identifier(old), sql.Identifier(new)))


def _run(
    argv: list[str], superuser: URL, database: str, path: Path, stdin: int | None = None, stdout: int | None = None
) -> None:
    done = subprocess.run(
        [
            *argv,
            *("--no-password", f"--host={superuser.query['host']}", f"--port={superuser.query['port']}"),
            *(f"--username={superuser.username}", f"--dbname={database}"),
        ],
        env={**ENVIRONMENT, "PGPASSWORD": str(superuser.password)},
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.DEVNULL if stdout is None else stdout,
        stderr=subprocess.PIPE,
        start_new_session=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        kind = DiskFull if says_disk_full(said) else EmbeddedError
        raise kind(f"{Path(argv[0]).name} ended with {done.returncode}: {said}", where=str(path))
