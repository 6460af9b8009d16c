"""Start a distribution's PostgreSQL for a test, with TLS and passwords as an administrator would have it.

with external_server() as server:                       # Debian's newest; roles bootstrapped
    server.app, server.scheduler, server.owner          # URLs, sslmode=verify-full
    with flaky_proxy(server.port, seed=1, idle_sec=0.5, drop_probability=0.1) as proxy:
        server.through(proxy.port).app
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import trustme
from sqlalchemy.engine import URL

from proctor.database import roles
from tests.external.tls_proxy import Proxy, flaky_proxy

__all__ = ["ExternalServer", "Proxy", "external_server", "flaky_proxy", "installed_versions", "why_not"]

DEBIAN: Path = Path("/usr/lib/postgresql")
UNPRIVILEGED: tuple[str, ...] = ("postgres", "nobody")
READY_WITHIN_SEC: float = 20.0


@dataclass(frozen=True, kw_only=True)
class ExternalServer:
    """A running server: where it listens, what it trusts, and a URL for each role."""

    version: str
    programs: Path
    port: int
    certificate_authority: Path
    log: Path
    tls: bool
    passwords: Mapping[str, str]

    @property
    def superuser(self) -> URL:
        return self.url("postgres", "postgres")

    @property
    def owner(self) -> URL:
        return self.url(roles.OWNER)

    @property
    def app(self) -> URL:
        return self.url(roles.APP)

    @property
    def scheduler(self) -> URL:
        return self.url(roles.SCHEDULER)

    def through(self, port: int) -> ExternalServer:
        """The same server, reached through another port."""
        return replace(self, port=port)

    def url(self, role: str, database: str = roles.DATABASE) -> URL:
        return URL.create(
            roles.DRIVER,
            username=role,
            password=self.passwords[role],
            host="localhost",
            port=self.port,
            database=database,
            query={"sslmode": "verify-full", "sslrootcert": str(self.certificate_authority)}
            if self.tls
            else {"sslmode": "disable"},
        )


def installed_versions() -> list[str]:
    """The major versions of PostgreSQL that Debian's packages put here, newest first."""
    found = [path.parent.parent.name for path in DEBIAN.glob("*/bin/postgres")]
    return sorted(found, key=int, reverse=True)


def why_not(version: str | None = None) -> str:
    """The reason to skip; empty when a server can be started."""
    versions = installed_versions()
    if not versions:
        return f"no PostgreSQL server is installed below {DEBIAN} (apt install postgresql)"
    if version and version not in versions:
        return f"PostgreSQL {version} is not installed below {DEBIAN}"
    return ""


@contextmanager
def external_server(
    version: str | None = None, *, bootstrap: bool = True, programs: Path | None = None, listen: Sequence[str] = ()
) -> Iterator[ExternalServer]:
    """A new cluster in a temporary folder, as an unprivileged user, on a TCP port of this machine only.

    ``listen``: more addresses of this machine's, each in a /24 network that may sign in. ``programs`` is a folder of
    PostgreSQL's programs other than Debian's: the wheel's, which are built without TLS.
    """
    tls = programs is None
    version = version or (installed_versions()[0] if programs is None else "")
    programs = programs or DEBIAN / version / "bin"
    who = _who()
    folder = Path(tempfile.mkdtemp(prefix="external-postgres-"))
    passwords = {role: secrets.token_urlsafe(12) for role in ("postgres", *roles.ROLES)}
    try:
        _certificates(folder)
        (folder / "password").write_text(passwords["postgres"])
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o600 if path.name != "ca.pem" else 0o644)
            if who:
                os.chown(path, who.pw_uid, who.pw_gid)
        _initdb(programs, folder, who)
        kind = "hostssl" if tls else "host"
        networks = ("127.0.0.1/32", "::1/128", *(f"{address.rpartition('.')[0]}.0/24" for address in listen))
        rules = (f"{kind} all all {network} scram-sha-256\n" for network in networks)
        (folder / "data" / "pg_hba.conf").write_text("".join(rules))
        (folder / "password").unlink()
        server = ExternalServer(
            version=version,
            programs=programs,
            port=_free_port(),
            certificate_authority=folder / "ca.pem",
            log=folder / "log",
            tls=tls,
            passwords=passwords,
        )
        with _postgres(server, folder, who, ("localhost", *listen)):
            if bootstrap:
                with connect(server.superuser) as superuser:
                    roles.bootstrap(superuser, passwords)
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def connect(url: URL) -> psycopg.Connection:
    """One connection with exactly what the URL says."""
    return psycopg.connect(
        url.set(drivername="postgresql").render_as_string(hide_password=False), autocommit=True, connect_timeout=10
    )


def _who() -> pwd.struct_passwd | None:
    """The account to run as when we are root, as whom PostgreSQL refuses to run."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next(known[name] for name in UNPRIVILEGED if name in known)


def _certificates(folder: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    server = authority.issue_cert("localhost")
    server.private_key_pem.write_to_path(str(folder / "server.key"))
    for number, part in enumerate(server.cert_chain_pems):
        part.write_to_path(str(folder / "server.crt"), append=number > 0)


def _initdb(programs: Path, folder: Path, who: pwd.struct_passwd | None) -> None:
    subprocess.run(
        [
            str(programs / "initdb"),
            *("-D", str(folder / "data"), "--username=postgres", f"--pwfile={folder / 'password'}"),
            *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"),
        ],
        check=True,
        capture_output=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        **_identity(who),  # type: ignore[call-overload]
    )


@contextmanager
def _postgres(
    server: ExternalServer, folder: Path, who: pwd.struct_passwd | None, addresses: Sequence[str]
) -> Iterator[None]:
    settings = {
        "listen_addresses": ",".join(addresses),
        "port": str(server.port),
        "unix_socket_directories": "",
        "fsync": "off",
        "timezone": "UTC",
    }
    if server.tls:
        settings |= {"ssl": "on", "ssl_cert_file": f"{folder}/server.crt", "ssl_key_file": f"{folder}/server.key"}
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            [str(server.programs / "postgres"), "-D", str(folder / "data"), *words],
            stdout=log,
            stderr=log,
            env={"LC_ALL": "C"},
            **_identity(who),  # type: ignore[call-overload]
        )
    try:
        _wait(server, process)
        yield
    finally:
        process.send_signal(2)
        process.wait(30)


def _wait(server: ExternalServer, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_WITHIN_SEC
    while True:
        try:
            connect(server.superuser).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{server.log.read_text()}") from None
        time.sleep(0.02)


def _identity(who: pwd.struct_passwd | None) -> dict[str, object]:
    return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": [], "cwd": "/"} if who else {"cwd": "/"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
