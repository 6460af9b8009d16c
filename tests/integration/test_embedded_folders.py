"""Folders of an embedded server that are none, are not ours, or lie where no socket may."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from proctor.database.embedded import EmbeddedServer
from proctor.database.embedded.control import connect
from proctor.database.embedded.errors import (
    FolderRefused,
)
from proctor.database.embedded.keeper import live_clients, started
from tests.integration.test_embedded_life import eventually

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the embedded server is for Linux"),
    # Tests fork to become another user; newer Pythons warn of that beside any thread, such as a test runner's.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]


def test_stop_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "none")
    assert not server.stop()
    assert not server.status().running
    assert not (tmp_path / "none").exists()


def test_a_zombie_is_dead(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    eventually(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
    assert started(process.pid) is None
    process.wait()


def test_names_that_are_no_entries_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "clients").mkdir()
    (tmp_path / "clients" / "README").touch()
    assert live_clients(str(tmp_path)) == []
    assert (tmp_path / "clients" / "README").exists()


def test_a_data_path_longer_than_a_socket_path_may_be(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["long" * 12] * 5)
    assert len(str(folder)) > 200
    with EmbeddedServer(folder) as urls:
        assert len(str(urls.app.query["host"])) < 60
        connect(urls.app).close()


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(FolderRefused, match="chmod go-w"):
        EmbeddedServer(folder).acquire()
    assert folder.stat().st_mode & 0o777 == 0o777


def test_a_file_or_link_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for path in (tmp_path / "file", tmp_path / "link"):
        with pytest.raises(FolderRefused):
            EmbeddedServer(path).acquire()
