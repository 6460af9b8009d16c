"""Archives of tasks: the same bytes for the same content, and nothing hostile gets out of one."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from proctor.suites import archives
from proctor.suites.archives import pack, unpack
from proctor.suites.digests import content_digest
from proctor.suites.errors import ArchiveInvalid, TaskChanged
from proctor.suites.files import read_tree


def task_folder(folder: Path) -> Path:
    (folder / "environment").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "task.toml").write_text("")
    (folder / "instruction.md").write_text("Do it.\n")
    (folder / "environment/run").write_text("#!/bin/sh\n")
    (folder / "environment/program").write_bytes(b"\x7fELF...")
    (folder / f"environment/{'long' * 40}.txt").write_text("x")
    (folder / "environment/empty").write_text("")
    (folder / "tests/test.sh").symlink_to("../environment/run")
    return folder


def packed(folder: Path, archive: Path) -> bytes:
    pack(read_tree(folder).files, archive)
    return archive.read_bytes()


def test_the_bytes_depend_on_the_content_alone(tmp_path: Path) -> None:
    one, other = task_folder(tmp_path / "one"), task_folder(tmp_path / "other")
    for path in other.rglob("*"):
        if path.is_file():
            path.chmod(0o600)
    assert packed(one, tmp_path / "one.tar") == packed(other, tmp_path / "other.tar")


def test_what_is_unpacked_is_what_was_packed(tmp_path: Path) -> None:
    tree = read_tree(task_folder(tmp_path / "one"))
    pack(tree.files, tmp_path / "one.tar")
    unpack(tmp_path / "one.tar", tmp_path / "cache/unpacked")
    again = read_tree(tmp_path / "cache/unpacked")
    assert again.problems == []
    assert content_digest(again.files) == content_digest(tree.files)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["unpacked"]


def test_modes_follow_from_what_a_file_is(tmp_path: Path) -> None:
    packed(task_folder(tmp_path / "one"), tmp_path / "one.tar")
    unpack(tmp_path / "one.tar", tmp_path / "unpacked")
    modes = {name: (tmp_path / "unpacked" / name).stat().st_mode & 0o777 for name in _NAMES}
    assert modes == dict(zip(_NAMES, (0o755, 0o755, 0o644, 0o755, 0o755), strict=True))


_NAMES = ("environment/run", "environment/program", "environment/empty", "tests/test.sh", "environment")


def test_a_folder_that_is_there_already_is_kept(tmp_path: Path) -> None:
    packed(task_folder(tmp_path / "one"), tmp_path / "one.tar")
    (tmp_path / "unpacked").mkdir()
    (tmp_path / "unpacked/first").write_text("")
    unpack(tmp_path / "one.tar", tmp_path / "unpacked")
    assert [path.name for path in (tmp_path / "unpacked").iterdir()] == ["first"]


@pytest.mark.parametrize("content", ["longer than before\n", "x", "No it.\n"])
def test_a_file_that_changed_meanwhile_is_refused(tmp_path: Path, content: str) -> None:
    tree = read_tree(task_folder(tmp_path / "one"))
    (tmp_path / "one/instruction.md").write_text(content)
    with pytest.raises(TaskChanged):
        pack(tree.files, tmp_path / "one.tar")


def hostile(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, target
        archive.addfile(member)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "archive",
    [
        hostile("../out"),
        hostile("/tmp/out"),
        hostile("tests/../../out"),
        hostile("link", tarfile.SYMTYPE, "/etc/passwd"),
        hostile("link", tarfile.LNKTYPE, "../x"),
        hostile("device", tarfile.CHRTYPE),
        hostile("pipe", tarfile.FIFOTYPE),
        hostile("folder", tarfile.DIRTYPE),
        b"no archive",
    ],
)
def test_a_hostile_archive_leaves_nothing(tmp_path: Path, archive: bytes) -> None:
    (tmp_path / "bad.tar").write_bytes(archive)
    with pytest.raises(ArchiveInvalid):
        unpack(tmp_path / "bad.tar", tmp_path / "cache/unpacked")
    assert list((tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "out").exists()


def test_an_archive_beyond_the_limits_of_a_task_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed(task_folder(tmp_path / "one"), tmp_path / "one.tar")
    monkeypatch.setattr(archives, "MAX_ENTRIES", 3)
    with pytest.raises(ArchiveInvalid, match="more than a task may"):
        unpack(tmp_path / "one.tar", tmp_path / "unpacked")
