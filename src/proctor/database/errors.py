"""What can go wrong with the database.

DatabaseError
├── DatabaseUnavailable     no connection could be made
│   └── DatabaseFull        there is no space left on the database's disk
├── OutOfTime               what was asked was not done in the time that it had
├── UnsafeRole              the connection's role could pass by row-level security
└── SchemaMismatch          the schema is older or newer than this program
"""

from __future__ import annotations

from proctor.kernel.errors import OwnFault

__all__ = [
    "DatabaseError",
    "DatabaseFull",
    "DatabaseUnavailable",
    "OutOfTime",
    "SchemaMismatch",
    "SchemaMissing",
    "SchemaNewer",
    "SchemaOlder",
    "UnsafeRole",
]


class DatabaseError(OwnFault):
    """The database failed."""

    code = "database"


class DatabaseUnavailable(DatabaseError):
    """No connection to the database could be made."""

    code = "database-unavailable"
    remedy = "Run `proctor doctor`; check PROCTOR_DATABASE_URL or the server's log."


class DatabaseFull(DatabaseUnavailable):
    """No space is left on the database's disk."""

    code = "database-disk-full"
    remedy = "Free some space there and run the command again; nothing that was committed is lost."


class OutOfTime(DatabaseError):
    """What was asked was not done in the time that it had; nothing was changed."""

    code = "database-time"
    remedy = "Ask for less at once."


class UnsafeRole(DatabaseError):
    """The database role could pass by row-level security, so it is refused."""

    code = "database-unsafe-role"
    exit_code = 2
    remedy = "Connect as a role that is no superuser, has no BYPASSRLS and owns no table (proctor_app)."


class SchemaMismatch(DatabaseError):
    """The database's schema is not the one this program knows."""

    code = "database-schema"
    exit_code = 2
    remedy = "Run `proctor database upgrade`."


class SchemaMissing(SchemaMismatch):
    """The database has no Proctor schema."""

    code = "database-schema-missing"


class SchemaOlder(SchemaMismatch):
    """The database's schema is older than this program."""

    code = "database-schema-older"


class SchemaNewer(SchemaMismatch):
    """The database's schema is newer than this program."""

    code = "database-schema-newer"
    remedy = "Use a newer Proctor."
