"""`proctor init`: what it writes can be read back, whatever the folders are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.engine.spec import read_spec
from proctor.kernel.paths import PathUnusable, check_target
from proctor.sdk.starting import NoTasks, write_run_set_file
from proctor.suites.errors import TaskExists
from proctor.suites.template import write_task


@pytest.mark.parametrize(
    "name", ["plain", "a \"b\" 'c'", "back\\slash", "line\nbreak", "tab\tbell\x07\x7f", "ümlaut {x}"]
)
def test_the_written_file_is_read_back(tmp_path: Path, name: str) -> None:
    write_task(tmp_path / name / "task")
    started = write_run_set_file(tmp_path, tmp_path / f"{name}.toml")
    spec, _ = read_spec(started.file)
    assert spec.suite == f"./{name}"
    assert (tmp_path / spec.suite).is_dir()


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    write_task(tmp_path / "bad\udcff" / "task")
    with pytest.raises(NoTasks, match="UTF-8"):
        write_run_set_file(tmp_path, tmp_path / "f.toml")


def test_where_nothing_can_be_written_is_found_out_before(tmp_path: Path) -> None:
    write_task(tmp_path / "task")
    with pytest.raises(PathUnusable, match="no folder"):
        write_run_set_file(tmp_path, tmp_path / "nodir" / "x.toml")
    with pytest.raises(PathUnusable, match="is a folder"):
        check_target(tmp_path)
    with pytest.raises(PathUnusable, match="can't be written"):
        check_target(Path("/proc/x.html"))
    check_target(tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_a_new_task_says_whether_there_is_something_or_nothing_can_be(tmp_path: Path) -> None:
    with pytest.raises(TaskExists):
        write_task(tmp_path)
    with pytest.raises(PathUnusable):
        write_task(Path("/proc/foo"))


@pytest.mark.parametrize(("folder", "told"), [("absent", "There is no such folder"), ("file", "It is no folder")])
def test_what_is_no_folder_is_told(tmp_path: Path, folder: str, told: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NoTasks, match=told):
        write_run_set_file(tmp_path / folder, tmp_path / "f.toml")
