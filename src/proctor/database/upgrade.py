"""Bringing a database's schema to the version that this program knows, and refusing to work with any other."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError, ProgrammingError

from proctor.database.errors import DatabaseUnavailable, SchemaMismatch, SchemaMissing, SchemaNewer, SchemaOlder

__all__ = ["HEAD", "check_schema", "current_revision", "upgrade"]

HEAD: str = "0030"
"""The revision this program works with; a test holds it equal to the newest file of ``migrations/versions``."""

_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('proctor.migrations', 0))")
_REVISION = text("SELECT version_num FROM proctor.alembic_version")


def current_revision(connection: Connection) -> str | None:
    """The database's revision, ``None`` where Proctor was never set up."""
    known = connection.execute(text("SELECT to_regclass('proctor.alembic_version') IS NOT NULL")).scalar_one()
    return connection.execute(_REVISION).scalar_one_or_none() if known else None


def check_schema(connection: Connection) -> None:
    """Refuse an older or newer schema. Raises ``SchemaMismatch``."""
    try:
        found = current_revision(connection)
    except ProgrammingError as error:
        raise SchemaMismatch("The database's version can't be read.") from error
    if found != HEAD:
        raise _mismatch(found)


def _mismatch(found: str | None) -> SchemaMismatch:
    if found is None:
        return SchemaMissing()
    known = {path.name.split("_")[0] for path in (_MIGRATIONS / "versions").glob("*.py")}
    kind = SchemaOlder if found in known else SchemaNewer
    return kind(f"The database is at revision {found}, this program knows {HEAD}.")


def upgrade(owner: URL) -> bool:
    """Migrate as the owner role; returns whether anything changed. Raises ``SchemaMismatch`` for a newer schema."""
    engine = create_engine(owner)
    try:
        return _upgrade(engine)
    except OperationalError as error:
        raise DatabaseUnavailable(str(error.orig)) from error
    finally:
        engine.dispose()


def _upgrade(engine: Engine) -> bool:
    with engine.begin() as connection:
        connection.execute(_LOCK)
        before = current_revision(connection)
        if before == HEAD:
            return False
        if before is not None and isinstance(mismatch := _mismatch(before), SchemaNewer):
            raise mismatch
        _migrate(connection)
    return True


def _migrate(connection: Connection) -> None:
    import alembic.command  # a tenth of a second that a database at head need not wait for
    import alembic.config

    config = alembic.config.Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = connection
    alembic.command.upgrade(config, "head")
