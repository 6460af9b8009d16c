"""One's own PostgreSQL: Debian's, with TLS, bootstrapped by an administrator, and behind a proxy that drops."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from proctor.database import roles
from proctor.database.embedded import cluster
from proctor.database.engine import Database
from tests.external.servers import ExternalServer, connect, external_server, flaky_proxy, installed_versions, why_not

pytestmark = [pytest.mark.endurance, pytest.mark.skipif(bool(why_not()), reason=why_not() or "can run")]


@pytest.fixture(scope="module", params=installed_versions())
def server(request: pytest.FixtureRequest) -> Iterator[ExternalServer]:
    with external_server(request.param) as server:
        yield server


def test_each_role_signs_in_over_tls(server: ExternalServer) -> None:
    for url in (server.owner, server.app, server.scheduler):
        with connect(url) as connection:
            row = connection.execute(
                "SELECT current_user, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            ).fetchone()
        assert row == (url.username, True)


def test_without_tls_or_the_right_authority_there_is_no_connection(server: ExternalServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="no encryption"):
        connect(server.app.set(query={"sslmode": "disable"}))
    with pytest.raises(psycopg.OperationalError, match="certificate"):
        connect(server.app.set(query={"sslmode": "verify-full", "sslrootcert": "system"}))


def test_our_pools_accept_the_urls_as_settings_give_them(server: ExternalServer) -> None:
    urls = roles.external_urls(
        *(
            url.set(drivername="postgresql").render_as_string(hide_password=False)
            for url in (server.app, server.scheduler)
        )
    )
    database = Database(urls.app, urls.scheduler)
    with database.scheduler() as connection:
        assert connection.execute(text("SELECT current_user")).scalar_one() == "proctor_scheduler"
    database.close()


@pytest.fixture(params=["debian", "wheel"])
def programs(request: pytest.FixtureRequest) -> Path | None:
    """What an administrator's rights are changed with PostgreSQL 16, so the newest is tried beside Debian's."""
    return None if request.param == "debian" else cluster.binaries()


def test_an_administrator_runs_the_script_twice(programs: Path | None) -> None:
    """``\\password`` asks at the terminal, so passwords are given here by another statement in its place."""
    with external_server(bootstrap=False, programs=programs) as server:
        script = roles.bootstrap_sql()
        for role in roles.ROLES:
            assert f"\\password {role}\n" in script
            script = script.replace(f"\\password {role}\n", f"ALTER ROLE {role} PASSWORD '{server.passwords[role]}';\n")
        for _ in range(2):
            _psql(server, script)
        for url in (server.owner, server.app, server.scheduler):
            connect(url).close()
        with connect(server.superuser) as superuser:
            rows = superuser.execute(
                "SELECT rolname, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolreplication, rolinherit"
                " FROM pg_roles WHERE rolname LIKE 'proctor%' ORDER BY rolname"
            ).fetchall()
        assert rows == [(name, False, False, False, False, False, False) for name in sorted(roles.ROLES)]


def test_an_administrator_who_is_no_superuser_can_run_it(programs: Path | None) -> None:
    """Managed services give away CREATEROLE and CREATEDB, and no more."""
    with external_server(bootstrap=False, programs=programs) as server:
        with connect(server.superuser) as superuser:
            superuser.execute("CREATE ROLE admin LOGIN CREATEROLE CREATEDB PASSWORD 'admin'")
        script = roles.bootstrap_sql()
        for role in roles.ROLES:
            script = script.replace(f"\\password {role}\n", f"ALTER ROLE {role} PASSWORD '{server.passwords[role]}';\n")
        for _ in range(2):
            _psql(server, script, "admin", "admin")
        with connect(server.owner) as owner:
            owner.execute("CREATE TABLE proctor.works (id int)")
        with connect(server.app) as app, pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute("SELECT FROM proctor.works")


def test_the_proxy_passes_tls_through(server: ExternalServer) -> None:
    with flaky_proxy(server.port, seed=1, idle_sec=30, drop_probability=0) as proxy:
        with connect(server.through(proxy.port).app) as connection:
            assert connection.execute("SELECT repeat('x', 1000000)").fetchone() == ("x" * 1_000_000,)
        assert proxy.accepted == 1
        assert proxy.dropped == 0


def test_the_proxy_drops_idle_connections_and_the_pool_does_not_mind(server: ExternalServer) -> None:
    with flaky_proxy(server.port, seed=1, idle_sec=0.2, drop_probability=0) as proxy:
        through = server.through(proxy.port)
        database = Database(through.app, through.scheduler)
        for expected in (1, 2):
            with database.scheduler() as connection:
                assert connection.execute(text("SELECT 1")).scalar_one() == 1
            _until(lambda: proxy.dropped_idle, expected)
        database.close()


def test_random_drops_repeat_with_the_seed(server: ExternalServer) -> None:
    counts = []
    for _ in range(2):
        with flaky_proxy(server.port, seed=7, idle_sec=30, drop_probability=0.05, spare_bytes=4096) as proxy:
            counts.append([_statements_until_dropped(server.through(proxy.port)) for _ in range(3)])
            assert proxy.dropped_at_random == 3
    assert counts[0] == counts[1]
    assert len(set(counts[0])) > 1


def _statements_until_dropped(server: ExternalServer) -> int:
    connection = connect(server.app)
    for number in range(10_000):
        try:
            connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return number
    raise AssertionError("it was never dropped")


def _psql(server: ExternalServer, script: str, user: str = "postgres", password: str | None = None) -> None:
    done = subprocess.run(
        [str(server.programs / "psql"), "-X", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-f", "-"],
        input=script,
        env={
            "PGHOST": "localhost",
            "PGPORT": str(server.port),
            "PGUSER": user,
            "PGPASSWORD": password or server.passwords["postgres"],
            "PGSSLMODE": "verify-full" if server.tls else "disable",
            "PGSSLROOTCERT": str(server.certificate_authority),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def _until(read: object, expected: int) -> None:
    assert callable(read)
    deadline = time.monotonic() + 10
    while read() < expected:
        assert time.monotonic() < deadline
        time.sleep(0.02)
