"""The embedded server's life: one server a folder, there while somebody uses it, gone afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from proctor.database.embedded import Connections, EmbeddedServer
from proctor.database.embedded.control import connect
from proctor.database.embedded.errors import (
    DatabaseInUse,
    EmbeddedError,
    PasswordsLost,
    ServerElsewhere,
    StartFailed,
    VersionMismatch,
)
from proctor.database.embedded.keeper import entry_name, live_clients, place, started

pytestmark = [
    pytest.mark.endurance,
    pytest.mark.skipif(sys.platform != "linux", reason="the embedded server is for Linux"),
    # Tests fork to become another user; newer Pythons warn of that beside any thread, such as a test runner's.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]

CLIENT = """
import sys
from pathlib import Path
from proctor.database.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
server.acquire()
print(server.status().pid, flush=True)
sys.stdin.readline()
server.release()
"""


def eventually(condition: Callable[[], object], within: float = 15.0) -> None:
    """Poll until it holds; a sleep of a fixed length would be either too short or too long."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


@contextmanager
def client(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has acquired the server; it releases when a line is written to it."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "database"
    yield path
    if path.exists():
        EmbeddedServer(path).stop()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a stopped cluster in it, for tests that leave it usable."""
    path = tmp_path_factory.mktemp("embedded") / "database"
    with EmbeddedServer(path):
        pass
    yield path
    EmbeddedServer(path).stop()


def processes(folder: Path) -> list[psutil.Process]:
    """Keepers of that folder, and what runs below them."""
    keepers = [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(json.dumps(str(folder)) in word for word in process.info["cmdline"] or ())
    ]
    return [one for keeper in keepers for one in (keeper, *_below(keeper))]


def _below(keeper: psutil.Process) -> list[psutil.Process]:
    try:
        return keeper.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def test_a_new_folder_is_ready_to_use_and_nothing_runs_afterwards(folder: Path) -> None:
    server = EmbeddedServer(folder)
    with server as urls:
        for url in (urls.owner, urls.app, urls.scheduler):
            assert url.drivername == "postgresql+psycopg"
            with connect(url) as connection:
                row = connection.execute("SELECT current_user, current_database()").fetchone()
            assert row == (url.username, "proctor")
        status = server.status()
        assert status.running
        assert status.clients == (os.getpid(),)
        assert status.version == "18"
        sockets = status.sockets
        assert sockets is not None
        assert sockets.is_dir()
    assert not server.status().running
    assert processes(folder) == []
    assert not sockets.exists()


def test_the_second_start_is_fast(made: Path) -> None:
    times = []
    for _ in range(3):
        before = time.monotonic()
        with EmbeddedServer(made):
            times.append(time.monotonic() - before)
    assert min(times) < 0.5


def test_the_keeper_is_light(made: Path) -> None:
    with EmbeddedServer(made):
        keeper = processes(made)[0]
        assert keeper.memory_full_info().rss < 15 * 1024 * 1024


def test_only_the_last_release_stops(made: Path) -> None:
    first, second = EmbeddedServer(made), EmbeddedServer(made)
    first.acquire()
    urls = second.acquire()
    first.release()
    connect(urls.app).close()
    second.release()
    assert not second.status().running
    second.release()  # one too many is no error


def test_nested_use_of_one_object_counts(made: Path) -> None:
    server = EmbeddedServer(made)
    with server:
        with server:
            pass
        assert server.status().running
    assert not server.status().running


def test_eight_processes_at_once_get_one_server(folder: Path) -> None:
    processes_ = [
        subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    try:
        pids = {process.stdout.readline().strip() for process in processes_ if process.stdout}
        assert len(pids) == 1
        assert pids != {"None"}
        assert len(EmbeddedServer(folder).status().clients) == 8
    finally:
        for process in processes_:
            process.communicate("\n")
    assert [process.returncode for process in processes_] == [0] * 8
    assert processes(folder) == []


def test_stop_ends_it_under_its_clients(made: Path) -> None:
    with client(made) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert EmbeddedServer(made).stop()
        assert processes(made) == []
        assert not EmbeddedServer(made).stop()


def test_kill_9_of_every_client_stops_the_server_and_the_next_one_finds_its_data(made: Path) -> None:
    with client(made) as one, client(made) as two:
        for process in (one, two):
            assert process.stdout is not None
            process.stdout.readline()
        with connect(_urls(made).owner) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS proctor.kept (id int)")
        for process in (one, two):
            process.kill()
            process.wait()
    eventually(lambda: processes(made) == [])
    with EmbeddedServer(made) as urls, connect(urls.owner) as connection:
        connection.execute("DROP TABLE proctor.kept")


def test_kill_9_of_the_postmaster_under_a_client_is_repaired_by_the_keeper(made: Path) -> None:
    server = EmbeddedServer(made)
    with server as urls:
        _insert(urls, "CREATE TABLE proctor.survivor (id int)", "INSERT INTO proctor.survivor VALUES (7)")
        before = server.status().pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        eventually(lambda: server.status().pid not in (before, None))
        eventually(lambda: _answers(urls))
        with connect(urls.owner) as connection:
            assert connection.execute("SELECT id FROM proctor.survivor").fetchall() == [(7,)]
            connection.execute("DROP TABLE proctor.survivor")


def test_kill_9_of_keeper_and_postmaster_then_acquire_recovers(made: Path) -> None:
    first = EmbeddedServer(made)
    urls = first.acquire()
    _insert(urls, "CREATE TABLE proctor.both (id int)", "INSERT INTO proctor.both VALUES (8)")
    keeper, postmaster = processes(made)[:2]
    keeper.kill()
    postmaster.kill()
    with EmbeddedServer(made) as again, connect(again.owner) as connection:
        assert connection.execute("SELECT id FROM proctor.both").fetchall() == [(8,)]
        connection.execute("DROP TABLE proctor.both")
    first.release()
    assert processes(made) == []


def test_kill_9_of_the_keeper_takes_the_server_down_and_stop_waits_for_it(made: Path) -> None:
    server = EmbeddedServer(made)
    server.acquire()
    keeper, *below = processes(made)
    keeper.kill()
    server.release()
    eventually(lambda: not any(started(process.pid) for process in below), within=1.0)


def test_a_reused_pid_in_the_registry_is_not_a_client(made: Path) -> None:
    start = started(os.getppid())
    assert start is not None
    name = entry_name(str(made), os.getppid(), "00")
    entry = made / "clients" / name.replace(f"-{start}-", f"-{start + 1}-")
    assert entry.name != name
    entry.touch()
    server = EmbeddedServer(made)
    with server:
        assert server.status().clients == (os.getpid(),)
    assert not server.status().running
    assert not entry.exists()


def test_a_copy_of_a_folder_is_a_database_of_its_own(made: Path, tmp_path: Path) -> None:
    """Also a copy of one in use: it takes neither the socket nor the clients of the first for its own."""
    first, second = EmbeddedServer(made), EmbeddedServer(tmp_path / "copy")
    with first as urls:
        subprocess.run(["cp", "-a", str(made), str(tmp_path / "copy")], check=True)
        status = second.status()
        assert (status.running, status.clients) == (False, ())
        with second as others:
            assert others.app.query["host"] != urls.app.query["host"]
            _insert(others, "CREATE TABLE proctor.only_there (id int)")
        with connect(urls.app) as connection:
            assert connection.execute("SELECT to_regclass('proctor.only_there')").fetchone() == (None,)


def test_a_stale_postmaster_file_with_a_living_pid_does_not_stop_a_start(made: Path) -> None:
    (made / "data" / "postmaster.pid").write_text(f"{os.getpid()}\n{made}\n0\n5432\n\n\n\nready\n", encoding="ascii")
    with EmbeddedServer(made) as urls:
        connect(urls.app).close()


def test_a_server_that_somebody_started_by_hand_is_left_alone(made: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], cwd=made / "data", stdin=subprocess.PIPE) as other:
        file = made / "data" / "postmaster.pid"
        file.write_text(f"{other.pid}\n", encoding="ascii")
        with pytest.raises(StartFailed, match=f"did not start \\(pid {other.pid}\\)"):
            EmbeddedServer(made).acquire()
        assert file.exists()
        other.kill()
    assert processes(made) == []


def test_another_major_version_is_refused_before_anything_starts(folder: Path) -> None:
    (folder / "data").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(folder / "data", 12345, 12345)
    (folder / "data" / "PG_VERSION").write_text("15\n", encoding="ascii")
    (folder / "passwords.json").write_text(
        json.dumps(dict.fromkeys(("postgres", "proctor_owner", "proctor_app", "proctor_scheduler"), "x")),
        encoding="ascii",
    )
    with pytest.raises(VersionMismatch, match="made by PostgreSQL 15; this is 18"):
        EmbeddedServer(folder).acquire()
    assert processes(folder) == []


def test_a_lost_password_file_is_said(folder: Path) -> None:
    with EmbeddedServer(folder):
        pass
    (folder / "passwords.json").rename(folder / "elsewhere.json")
    with pytest.raises(PasswordsLost, match=r"passwords\.json"):
        EmbeddedServer(folder).acquire()
    (folder / "elsewhere.json").rename(folder / "passwords.json")
    with EmbeddedServer(folder) as urls:
        connect(urls.app).close()


def test_a_changed_superuser_password_is_a_clear_error_and_not_a_wait(folder: Path) -> None:
    with EmbeddedServer(folder):
        pass
    passwords = json.loads((folder / "passwords.json").read_text())
    (folder / "passwords.json").write_text(json.dumps({**passwords, "postgres": "guess"}))
    with pytest.raises(StartFailed, match="password authentication failed"):
        EmbeddedServer(folder).acquire()
    assert processes(folder) == []


def test_a_server_of_another_container_is_not_touched(made: Path) -> None:
    """Its pids mean nothing here: the kernel's lock says that it lives, its keeper's name says where."""
    server = EmbeddedServer(made)
    with server:
        named = (made / "keeper.lock").read_text()
        (made / "keeper.lock").write_text(named.replace(place(str(made)), "another-boot/pid:[1]"))
        with pytest.raises(ServerElsewhere, match="another container, mount or machine"):
            EmbeddedServer(made).acquire()
        with pytest.raises(ServerElsewhere):
            EmbeddedServer(made).stop()
        assert not server.status().running
        assert server.status().clients == (os.getpid(),)
        (made / "keeper.lock").write_text(named)


def test_clients_of_another_place_are_passed_over_and_forgotten_at_the_next_start(made: Path) -> None:
    entry = made / "clients" / "1-1-00000000-00"
    entry.touch()
    assert live_clients(str(made)) == []
    assert entry.exists()
    with EmbeddedServer(made):
        assert not entry.exists()


def test_removing_the_whole_folder_ends_the_server(folder: Path) -> None:
    import shutil

    server = EmbeddedServer(folder)
    server.acquire()
    running = processes(folder)
    shutil.rmtree(folder, ignore_errors=True)
    eventually(lambda: not any(process.is_running() for process in running))
    server.release()


def test_an_interrupted_initdb_leaves_nothing_behind(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "data.new.dead").mkdir()
    (folder / "data.new.dead" / "PG_VERSION").touch()
    with EmbeddedServer(folder):
        pass
    assert list(folder.glob("data.new.*")) == []


def test_a_forked_child_cannot_release_its_parents_use(made: Path) -> None:
    server = EmbeddedServer(made)
    with server:
        pid = os.fork()
        if pid == 0:
            server.release()
            os._exit(0)
        os.waitpid(pid, 0)
        assert server.status().running


def test_a_failed_start_is_told_with_the_servers_own_words(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from proctor.database.embedded import cluster

    monkeypatch.setitem(cluster.SETTINGS, "shared_buffers", "plenty")
    with pytest.raises(StartFailed, match="shared_buffers") as caught:
        EmbeddedServer(made).acquire()
    assert str(made / "server.log") in str(caught.value)
    assert EmbeddedServer(made).status().clients == ()


def test_recovery_may_take_as_long_as_it_moves(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit counts from the last progress: with a limit of nothing, a server at rest is given up at once."""
    from proctor.database.embedded import control

    server = EmbeddedServer(made)
    with server:
        monkeypatch.setattr(control, "NO_PROGRESS_SEC", 0.2)
        monkeypatch.setattr(control, "PROGRESS_POLL_SEC", 0.05)
        moves = iter(range(20))
        monkeypatch.setattr(control, "_progress", lambda *_: (next(moves, 20), 0))
        monkeypatch.setattr(control, "_refusal", lambda *_: "the database system is starting up")
        before = time.monotonic()
        with pytest.raises(StartFailed, match="No progress"):
            EmbeddedServer(made).acquire()
        assert time.monotonic() - before > 1.0


def test_the_dump_is_private_and_restorable(made: Path, tmp_path: Path) -> None:
    from proctor.database.embedded.cluster import binaries

    server = EmbeddedServer(made)
    server.dump(tmp_path / "before.dump")
    assert (tmp_path / "before.dump").stat().st_mode & 0o777 == 0o600
    listing = subprocess.run(
        [str(binaries() / "pg_restore"), "--list", str(tmp_path / "before.dump")],
        env={}, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert "SCHEMA - proctor proctor_owner" in listing
    assert not server.status().running
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_dump_restores_the_database_as_it_was_with_its_rights(made: Path, tmp_path: Path) -> None:
    server = EmbeddedServer(made)
    with server as urls:
        _insert(urls, "CREATE TABLE proctor.early (id int)", "INSERT INTO proctor.early VALUES (1)")
        _insert(urls, "GRANT SELECT ON proctor.early TO proctor_app")
        server.dump(tmp_path / "early.dump")
        _insert(urls, "INSERT INTO proctor.early VALUES (2)", "CREATE TABLE proctor.late (id int)")
        server.restore(tmp_path / "early.dump")
        with connect(urls.app) as connection:
            assert connection.execute("SELECT id FROM proctor.early").fetchall() == [(1,)]
            assert connection.execute("SELECT to_regclass('proctor.late')").fetchone() == (None,)
            rights = "SELECT has_database_privilege('public', 'proctor', 'CONNECT')"
            assert connection.execute(rights).fetchone() == (False,)
        _insert(urls, "DROP TABLE proctor.early")


def test_a_broken_dump_changes_nothing(made: Path, tmp_path: Path) -> None:
    server = EmbeddedServer(made)
    with server as urls:
        _insert(urls, "CREATE TABLE proctor.stays (id int)")
        server.dump(tmp_path / "whole.dump")
        (tmp_path / "half.dump").write_bytes((tmp_path / "whole.dump").read_bytes()[:2000])
        with pytest.raises(EmbeddedError, match="pg_restore"):
            server.restore(tmp_path / "half.dump")
        _insert(urls, "DROP TABLE proctor.stays")


def test_a_restore_under_another_client_is_refused(made: Path, tmp_path: Path) -> None:
    server = EmbeddedServer(made)
    server.dump(tmp_path / "whole.dump")
    with client(made) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(DatabaseInUse, match=str(other.pid)):
            server.restore(tmp_path / "whole.dump")


def test_the_log_is_capped(made: Path) -> None:
    with EmbeddedServer(made) as urls:
        with (made / "server.log").open("a") as log:
            log.write("x" * (8 * 1024 * 1024 + 1))
        eventually(lambda: (made / "server.log").stat().st_size < 1024 * 1024)
        assert (made / "server.log.1").stat().st_size > 8 * 1024 * 1024
        with pytest.raises(psycopg.OperationalError):
            connect(urls.app.set(password="wrong"))
        assert "password authentication failed" in (made / "server.log").read_text()


def _urls(folder: Path) -> Connections:
    server = EmbeddedServer(folder)
    urls = server.acquire()
    server.release()
    return urls


def _answers(urls: Connections) -> bool:
    try:
        connect(urls.app).close()
    except psycopg.OperationalError:
        return False
    return True


def _insert(urls: Connections, *statements: str) -> None:
    with connect(urls.owner) as connection:
        for statement in statements:
            connection.execute(statement.encode())
