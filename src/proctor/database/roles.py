"""Roles, database and schema: what exists before the first migration, on our own server and on anybody's.

Three roles, none of them a superuser, none with BYPASSRLS, none a member of another:

- ``proctor_owner`` owns the database and the schema and runs migrations;
- ``proctor_app`` reads and writes one tenant's rows at a time;
- ``proctor_scheduler`` works on the queue of all tenants.

Rights on tables and the policies on their rows are the migrations' business. Nothing is granted on a table by
default, so a table that a migration forgot to grant is unreachable rather than open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import psycopg
from psycopg import sql
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from proctor.kernel.errors import UsageError

__all__ = [
    "APP",
    "BOOTSTRAP_VERSION",
    "DATABASE",
    "DRIVER",
    "OWNER",
    "ROLES",
    "SCHEDULER",
    "DatabaseUrlInvalid",
    "ExternalConnections",
    "bootstrap",
    "bootstrap_sql",
    "create_database",
    "external_urls",
]

OWNER: str = "proctor_owner"
APP: str = "proctor_app"
SCHEDULER: str = "proctor_scheduler"
ROLES: tuple[str, ...] = (OWNER, APP, SCHEDULER)
DATABASE: str = "proctor"
DRIVER: str = "postgresql+psycopg"
BOOTSTRAP_VERSION: str = "1"
"""Raised when ``bootstrap`` changes, so that existing embedded servers run it once more."""

_ATTRIBUTES = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS NOINHERIT"

_IN_DATABASE: tuple[str, ...] = (
    "REVOKE ALL ON SCHEMA public FROM PUBLIC",
    f"GRANT USAGE ON SCHEMA public TO {', '.join(ROLES)}",
    f"CREATE SCHEMA IF NOT EXISTS proctor AUTHORIZATION {OWNER}",
    f"GRANT USAGE ON SCHEMA proctor TO {APP}, {SCHEDULER}",
    f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC",
    f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA proctor GRANT USAGE ON SEQUENCES TO {APP}, {SCHEDULER}",
    """DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
        CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'the vector extension was not created: a superuser has to';
END $$""",
)
"""Schema, rights and, where the server has it, the vector extension. Each statement may run again."""

_CREATE_DATABASE = f"CREATE DATABASE {{name}} OWNER {OWNER} TEMPLATE template0 ENCODING 'UTF8'"
_DATABASE_RIGHTS: tuple[str, ...] = (
    f"REVOKE ALL ON DATABASE {DATABASE} FROM PUBLIC",
    f"GRANT CONNECT ON DATABASE {DATABASE} TO {', '.join(ROLES)}",
)


class DatabaseUrlInvalid(UsageError):
    """The database URL can't be used."""

    code = "database-url"
    remedy = "Write postgresql://proctor_app:PASSWORD@HOST:PORT/DATABASE."


@dataclass(frozen=True, kw_only=True)
class ExternalConnections:
    """URLs of a database that somebody else runs; ``owner`` is known only where migrations are run."""

    app: URL
    scheduler: URL
    owner: URL | None


def bootstrap(superuser: psycopg.Connection, passwords: Mapping[str, str]) -> None:
    """Create roles, database and schema, or correct what is there. ``superuser`` is in autocommit mode.

    Passwords travel as SCRAM verifiers, made here, so that no statement or log ever holds one.
    """
    for role in ROLES:
        known = superuser.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
        verifier = superuser.pgconn.encrypt_password(passwords[role].encode(), role.encode(), b"scram-sha-256")
        superuser.execute(
            sql.SQL("{} ROLE {} " + _ATTRIBUTES + " PASSWORD {}").format(
                sql.SQL("CREATE" if known is None else "ALTER"), sql.Identifier(role), verifier.decode()
            )
        )
    if superuser.execute("SELECT FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone() is None:
        superuser.execute(create_database(DATABASE))
    for name in ("postgres", "template1"):
        superuser.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))
    for statement in _DATABASE_RIGHTS:
        superuser.execute(statement)
    inside = psycopg.connect(
        superuser.info.dsn,
        password=superuser.info.password,
        port=superuser.info.port,
        dbname=DATABASE,
        autocommit=True,
    )
    with inside:
        for statement in _IN_DATABASE:
            inside.execute(statement)


def create_database(name: str) -> sql.Composed:
    """The statement that makes a database of the owner's."""
    return sql.SQL(_CREATE_DATABASE).format(name=sql.Identifier(name))


def bootstrap_sql() -> str:
    """The same as a script for psql, for the administrator of another server; it asks for each password."""
    return "\n".join(
        (
            "-- Proctor: roles, database and schema. Run once, as a role that may create roles and databases:",
            "--   proctor database bootstrap-sql > bootstrap.sql",
            "--   psql -X -v ON_ERROR_STOP=1 -d postgres -f bootstrap.sql",
            "-- It may be run again: what exists is corrected, and passwords are asked for once more.",
            *(
                _unless_there(f"CREATE ROLE {role}", f"pg_roles WHERE rolname = '{role}'")
                + f"\nALTER ROLE {role} {_portable(_ATTRIBUTES)};\n\\echo Password of {role}:\n\\password {role}"
                for role in ROLES
            ),
            "-- An administrator who is no superuser (a managed service) needs membership to give things to the owner.",
            f"SELECT 'GRANT {OWNER} TO CURRENT_USER' WHERE NOT pg_has_role(current_user, '{OWNER}', 'USAGE') \\gexec",
            _unless_there(_CREATE_DATABASE.format(name=DATABASE), f"pg_database WHERE datname = '{DATABASE}'"),
            *(f"{statement};" for statement in _DATABASE_RIGHTS),
            f"\\connect {DATABASE}",
            *(f"{statement};" for statement in _IN_DATABASE),
            "",
        )
    )


def external_urls(app: str, scheduler: str | None = None, owner: str | None = None) -> ExternalConnections:
    """The URLs of one's own PostgreSQL, checked and with our driver.

    Without ``scheduler`` it is the app's URL with the user ``proctor_scheduler`` and the same password, if any
    (a password file or a client certificate needs none in the URL).
    """
    app_url = _checked(app, "PROCTOR_DATABASE_URL")
    return ExternalConnections(
        app=app_url,
        scheduler=_checked(scheduler, "PROCTOR_DATABASE_SCHEDULER_URL")
        if scheduler
        else app_url.set(username=SCHEDULER),
        owner=_checked(owner, "PROCTOR_DATABASE_OWNER_URL") if owner else None,
    )


def _checked(text: str, name: str) -> URL:
    """A URL whose role and database are named; libpq would otherwise assume the user's name for both."""
    try:
        url = make_url(text)
    except ArgumentError:
        raise DatabaseUrlInvalid("It is no URL.", where=name) from None
    if url.drivername not in ("postgres", "postgresql", DRIVER):
        raise DatabaseUrlInvalid(f"It is for {url.drivername!r}; only PostgreSQL is known here.", where=name)
    if not url.username or not url.database:
        raise DatabaseUrlInvalid("It names no user or no database.", where=name)
    return url.set(drivername=DRIVER)


def _unless_there(statement: str, looked_up: str) -> str:
    """psql runs what a query answers: the statement, or nothing."""
    quoted = statement.replace("'", "''")
    return f"SELECT '{quoted}' WHERE NOT EXISTS (SELECT FROM {looked_up}) \\gexec"  # noqa: S608  # constants only


def _portable(attributes: str) -> str:
    """What an administrator who is no superuser may say: the rest is the default of a new role."""
    return " ".join(word for word in attributes.split() if word in ("LOGIN", "NOCREATEDB", "NOCREATEROLE", "NOINHERIT"))
