"""Roles, database and schema as they are before the first migration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import URL

from proctor.database import roles
from proctor.database.embedded import Connections, EmbeddedServer
from proctor.database.embedded.control import connect


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("roles") / "database"


@pytest.fixture(scope="module")
def urls(folder: Path) -> Iterator[Connections]:
    with EmbeddedServer(folder) as urls:
        yield urls


@pytest.fixture
def superuser(folder: Path, urls: Connections) -> Iterator[psycopg.Connection]:
    password = json.loads((folder / "passwords.json").read_text())["postgres"]
    with connect(urls.owner.set(username="postgres", password=password)) as connection:
        yield connection


def test_no_role_is_more_than_it_needs_or_a_member_of_another(superuser: psycopg.Connection) -> None:
    rows = superuser.execute(
        "SELECT rolname, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolreplication, rolinherit, rolcanlogin"
        " FROM pg_roles WHERE rolname LIKE 'proctor%' ORDER BY rolname"
    ).fetchall()
    nothing_but_login = (False, False, False, False, False, False, True)
    assert rows == [(name, *nothing_but_login) for name in sorted(roles.ROLES)]
    members = superuser.execute("SELECT FROM pg_auth_members WHERE member::regrole::text LIKE 'proctor%'").fetchall()
    assert members == []


def test_the_owner_owns_database_and_schema(superuser: psycopg.Connection) -> None:
    database = superuser.execute("SELECT datdba::regrole::text FROM pg_database WHERE datname = 'proctor'").fetchone()
    schema = superuser.execute("SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'proctor'").fetchone()
    assert (database, schema) == (("proctor_owner",), ("proctor_owner",))


@pytest.mark.parametrize("role", ["app", "scheduler"])
def test_a_table_that_no_migration_granted_is_closed(urls: Connections, role: str) -> None:
    with connect(urls.owner) as owner:
        owner.execute("CREATE TABLE IF NOT EXISTS proctor.closed (id int GENERATED ALWAYS AS IDENTITY)")
    with connect(_url(urls, role)) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT FROM proctor.closed")
    with connect(urls.owner) as owner:
        owner.execute("DROP TABLE proctor.closed")


@pytest.mark.parametrize("role", ["app", "scheduler"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE proctor.mine (id int)",
        "CREATE TABLE public.mine (id int)",
        "CREATE TEMPORARY TABLE mine (id int)",
        "CREATE SCHEMA mine",
        "CREATE DATABASE mine",
        "CREATE ROLE mine",
        "SET ROLE proctor_owner",
        "SET ROLE postgres",
        "ALTER ROLE proctor_scheduler BYPASSRLS",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT pg_read_file('PG_VERSION')",
    ],
)
def test_a_working_role_can_make_nothing_and_become_nobody(urls: Connections, role: str, statement: str) -> None:
    with connect(_url(urls, role)) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


@pytest.mark.parametrize("database", ["postgres", "template1"])
def test_no_other_database_is_open(urls: Connections, database: str) -> None:
    for role in ("owner", "app", "scheduler"):
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            connect(_url(urls, role).set(database=database))


def test_functions_of_the_owner_are_not_for_everybody(urls: Connections) -> None:
    with connect(urls.owner) as owner:
        owner.execute("CREATE FUNCTION proctor.secret() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    with connect(urls.app) as app, pytest.raises(psycopg.errors.InsufficientPrivilege):
        app.execute("SELECT proctor.secret()")
    with connect(urls.owner) as owner:
        owner.execute("DROP FUNCTION proctor.secret")


def test_vectors_can_be_compared_by_the_app(urls: Connections) -> None:
    with connect(urls.app) as app:
        assert app.execute("SELECT '[1,2]'::vector <-> '[1,4]'::vector").fetchone() == (2.0,)


def test_bootstrap_may_run_again_and_corrects_what_it_finds(
    folder: Path, urls: Connections, superuser: psycopg.Connection
) -> None:
    superuser.execute("ALTER ROLE proctor_app SUPERUSER BYPASSRLS PASSWORD 'x'")
    passwords = json.loads((folder / "passwords.json").read_text())
    roles.bootstrap(superuser, passwords)
    row = superuser.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = 'proctor_app'").fetchone()
    assert row == (False, False)
    connect(urls.app).close()


def test_no_statement_holds_a_password(folder: Path, superuser: psycopg.Connection) -> None:
    superuser.execute("SET log_statement = 'all'")
    passwords = json.loads((folder / "passwords.json").read_text())
    roles.bootstrap(superuser, passwords)
    log = (folder / "server.log").read_text()
    assert "ALTER ROLE" in log
    assert not any(password in log for password in passwords.values())


def test_the_apps_url_is_enough() -> None:
    found = roles.external_urls("postgresql://proctor_app:s3cret@db.example:6432/proctor?sslmode=verify-full")
    assert found.app.drivername == "postgresql+psycopg"
    assert found.scheduler == found.app.set(username="proctor_scheduler")
    assert found.owner is None


def test_each_role_may_have_a_url_of_its_own() -> None:
    found = roles.external_urls("postgres://a:1@h/d", "postgresql://b:2@h/d", "postgresql+psycopg://c:3@h/d")
    assert [url.username for url in (found.app, found.scheduler, found.owner) if url] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "no URL"),
        ("mysql://proctor_app:s3cret@h/d", "only PostgreSQL"),
        ("postgresql://h/d", "no user"),
        ("postgresql://proctor_app:s3cret@h", "no database"),
    ],
)
def test_a_url_that_leaves_something_open_is_refused_without_its_password(text: str, message: str) -> None:
    with pytest.raises(roles.DatabaseUrlInvalid, match=message) as caught:
        roles.external_urls(text)
    assert caught.value.exit_code == 2
    assert "s3cret" not in str(caught.value)


def _url(urls: Connections, role: str) -> URL:
    url = getattr(urls, role)
    assert isinstance(url, URL)
    return url
