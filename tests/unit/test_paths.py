"""Folders that come about whole or not at all."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.kernel.paths import FileTaken, FolderTaken, PathUnusable, new_file, new_folder


def fill(path: Path, meanwhile: Callable[[], object] = lambda: None) -> None:
    with new_folder(path) as filling:
        (filling / "a").write_text("1")
        assert not (path / "a").exists()
        meanwhile()


def test_it_is_there_at_the_end_and_nothing_beside_it(tmp_path: Path) -> None:
    fill(tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    assert (tmp_path / "new" / "a").read_text() == "1"


def test_an_empty_folder_is_filled_and_a_full_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    fill(tmp_path / "there")
    with pytest.raises(FolderTaken, match="already") as raised:
        fill(tmp_path / "there")
    assert raised.value.where == str(tmp_path / "there")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_a_link_is_followed_and_what_it_leads_to_is_kept(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "precious").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(FolderTaken):
        fill(tmp_path / "link")
    (tmp_path / "real" / "precious").unlink()
    fill(tmp_path / "link")
    assert (tmp_path / "real" / "a").exists()


def test_a_file_or_no_parent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FolderTaken):
        fill(tmp_path / "file")
    with pytest.raises(PathUnusable, match="no folder"):
        fill(tmp_path / "no" / "where")


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_fails_on_the_way_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(error):
        fill(tmp_path / "new", fail)
    assert list(tmp_path.iterdir()) == []


def test_whoever_came_first_keeps_the_place(tmp_path: Path) -> None:
    def take() -> None:
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "theirs").touch()

    with pytest.raises(FolderTaken):
        fill(tmp_path / "new", take)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    assert (tmp_path / "new" / "theirs").exists()


def test_a_full_disk_is_told_as_the_paths(tmp_path: Path) -> None:
    def run_out() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(PathUnusable, match="No space"):
        fill(tmp_path / "new", run_out)
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "x.csv"

    def half() -> None:
        with new_file(target) as filling:
            filling.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert list(tmp_path.iterdir()) == []
    with new_file(target) as filling:
        filling.write_text("whole")
        assert not target.exists()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["whole"]
    with pytest.raises(FileTaken), new_file(target):
        raise AssertionError("it is not begun")
    with pytest.raises(PathUnusable), new_file(tmp_path / "no" / "x.csv"):
        raise AssertionError("it is not begun")
