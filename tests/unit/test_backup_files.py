"""What anybody may have written into a backup, or as its name: one error that says what is wrong, and no orders."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from proctor.kernel.errors import UsageError
from proctor.sdk.backups import BackupBroken, create_backup, verify_backup
from proctor.settings import Settings

EMPTY = hashlib.sha256().hexdigest()
MANIFEST: dict[str, Any] = {
    "version": 2,
    "created_at": "2026-12-01T00:00:00+00:00",
    "revision": "0030",
    "dump_sha256": EMPTY,
    "dump_bytes": 0,
    "key_sha256": None,
    "rows": {"attempt": 1},
    "list_sha256": EMPTY,
    "objects": 51,
    "object_bytes": 1,
    "copied": True,
}
LINE: dict[str, Any] = {"key": "a/b", "size": 1, "sha256": EMPTY}


def refused(folder: Path, manifest: bytes, listed: bytes = b"") -> str:
    """What is said of a backup with such a manifest and such a list; nothing of it is an order to a terminal."""
    (folder / "database.dump").touch()
    (folder / "objects.jsonl").write_bytes(listed)
    (folder / "manifest.json").write_bytes(manifest)
    with pytest.raises(BackupBroken) as caught:
        verify_backup(Settings(home=folder / "home"), folder, longest_age=timedelta(days=36_600))
    assert str(caught.value).isprintable()
    return caught.value.message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("created_at", "2026-12-01T00:00:00"),
        ("created_at", "0001-01-01T00:00:00+14:00"),
        ("created_at", "9999-12-31T23:59:59-14:00"),
        ("rows", None),
        ("rows", [1]),
        ("rows", {"attempt": "1"}),
        ("rows", {"\x1b[31m": 1}),
        ("rows", {"\x9b31m": 1}),
        ("version", "2"),
        ("version", True),
        ("version", 10**18),
        ("objects", "51"),
        ("objects", 51.0),
        ("dump_bytes", -1),
        ("object_bytes", 10**30),
        ("revision", "9999\x1b[31m"),
        ("copied", 1),
    ],
)
def test_a_field_that_is_wrong_is_named(tmp_path: Path, field: str, value: object) -> None:
    told = refused(tmp_path, json.dumps({**MANIFEST, field: value}).encode())
    assert told.startswith(f"Its manifest can't be read: {field}")
    assert len(told) < 200


@pytest.mark.parametrize("content", [b"[" * 200_000, b"[]", b"1", b"null", b"", b"\xff", b'{"version": ' + b"9" * 5000])
def test_what_is_no_manifest_says_so(tmp_path: Path, content: bytes) -> None:
    assert refused(tmp_path, content).startswith("Its manifest can't be read")


def test_a_manifest_is_neither_a_pipe_nor_without_an_end(tmp_path: Path) -> None:
    assert refused(tmp_path, b" " * 2_000_000) == "Its manifest is too large to be one."
    (tmp_path / "manifest.json").unlink()
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(BackupBroken, match="Its manifest is no file"):
        verify_backup(Settings(home=tmp_path / "home"), tmp_path)


@pytest.mark.parametrize("key", ["a\x00", "\x1b[31m", "\x9b31m", "\u202egnp", "a" * 5000, "", "b\u2028"])
def test_a_key_that_no_object_can_have_is_told_of_by_its_line(tmp_path: Path, key: str) -> None:
    lines = json.dumps({**LINE, "key": key}, ensure_ascii=False).encode() + b"\n"
    manifest = {**MANIFEST, "list_sha256": hashlib.sha256(lines).hexdigest()}
    told = refused(tmp_path, json.dumps(manifest).encode(), lines)
    assert told.startswith("Its line 1 lists no object: ")


def test_what_can_not_be_opened_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("proctor.sdk.backup_files.sha256_of", refuse)
    assert refused(tmp_path, json.dumps(MANIFEST).encode()) == "It can't be read: Permission denied."


@pytest.mark.parametrize("name", ["b" * 300, "b" * 300 + "/c", "/".join(["b" * 200] * 12), "bk\udcff\udcfe", "b\x1b/c"])
def test_a_name_that_no_backup_can_have_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    settings, folder = Settings(home=tmp_path / "home"), tmp_path / "new" / name
    for refuse in (create_backup, verify_backup):
        with pytest.raises(UsageError, match="can't be named so") as caught:
            refuse(settings, folder)
        assert str(caught.value).isprintable()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_whose_own_folder_can_not_be_told_of_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / os.fsdecode(b"here-\xff")
    inside.mkdir()
    (tmp_path / "link").symlink_to(inside)
    monkeypatch.chdir(inside)
    for folder in (Path("kept"), tmp_path / "link" / "kept"):
        with pytest.raises(UsageError, match="can't be named so"):
            create_backup(Settings(home=tmp_path / "home"), folder)
    assert list(inside.iterdir()) == []
