"""A backup is proven before it is needed: made under work, verified, put back; a broken one says why."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import ROOT, Cli

pytestmark = [pytest.mark.slow, pytest.mark.server]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A data folder with a run in it, and a backup of it beside."""
    cli = Cli(folder=tmp_path_factory.mktemp("backup"))
    cli("run", str(ROOT / "examples" / "basics"), "--agent", "oracle,noop")
    cli("setup-link")  # as on a server: its secret is made
    cli("backup", "create", "kept")
    return cli


def changed(made: Cli, tmp_path: Path, change: Callable[[Path], None]) -> Path:
    """A copy of the backup with something wrong."""
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(made.folder / "kept", copy)
    change(copy)
    return copy


def test_a_backup_is_verified_and_put_back(made: Cli) -> None:
    told = made.json("backup", "verify", "kept")
    assert told["rows"] > 100
    assert told["objects"] > 8
    assert told["backup"]["rows"]["attempt"] == 16
    board = made("leaderboard", "basics").stdout
    elsewhere = {"PROCTOR_HOME": str(made.folder / "elsewhere")}
    assert "are in" in made("backup", "restore", "kept", **elsewhere).stdout
    assert made("leaderboard", "basics", **elsewhere).stdout == board
    again = made.json("cells", "basics")["cells"][0]["attempt"]
    assert made("attempt", "logs", again, **elsewhere).stdout == made("attempt", "logs", again).stdout
    assert (
        "nothing to do" in made("run", str(ROOT / "examples" / "basics"), "--agent", "oracle,noop", **elsewhere).stderr
    ), "what was paid for is not paid for again"
    assert "[backup]" in made("backup", "restore", "kept", code=2, **elsewhere).stderr
    assert "[backup]" in made("backup", "create", "kept", code=2).stderr
    for path in ("kept", "kept/database.dump"):
        assert (made.folder / path).stat().st_mode & 0o077 == 0


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _say(copy: Path, **fields: object) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, **fields}))


def _object(copy: Path) -> Path:
    return copy / "objects" / json.loads((copy / "objects.jsonl").read_text().splitlines()[0])["key"]


def _dump_with_its_digest(copy: Path) -> None:
    """Somebody made the manifest fit a dump that is none."""
    import hashlib

    (copy / "database.dump").write_bytes(b"PGDMP" + bytes(100))
    _say(copy, dump_sha256=hashlib.sha256(b"PGDMP" + bytes(100)).hexdigest())


def _listed(key: str) -> bytes:
    return json.dumps({"key": key, "size": 1, "sha256": "0" * 64}).encode()


def _list(copy: Path, line: bytes) -> None:
    """Somebody wrote another list, and made the manifest fit."""
    import hashlib

    (copy / "objects.jsonl").write_bytes(line)
    _say(copy, list_sha256=hashlib.sha256(line).hexdigest(), objects=1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda copy: (copy / "server.key").unlink(), "It is missing."),
        (lambda copy: (copy / "server.key").write_bytes(b"x" * 32), "It is not what was written"),
        (lambda copy: (copy / "server.key").write_bytes(b""), "It is empty."),
        (lambda copy: _say(copy, created_at="2126-01-01T00:00:00+00:00"), "It says that it will be made in"),
        (lambda copy: (copy / "manifest.json").unlink(), "It has no manifest: it is empty, or was never finished."),
        (lambda copy: _cut(copy / "manifest.json"), "Its manifest can't be read."),
        (lambda copy: _cut(copy / "database.dump"), "truncated, or changed"),
        (lambda copy: (copy / "database.dump").write_bytes(b""), "It is empty."),
        (lambda copy: (copy / "database.dump").unlink(), "It is missing."),
        (lambda copy: _cut(copy / "objects.jsonl"), "truncated, or changed"),
        (lambda copy: _object(copy).unlink(), "It is missing."),
        (lambda copy: _cut(_object(copy)), "t is "),
        (lambda copy: _say(copy, created_at="2026-01-01T00:00:00+00:00"), "It is stale: made "),
        (lambda copy: _say(copy, rows={"attempt": 15}), "Other rows came back than it says, in "),
        (lambda copy: _say(copy, version=99), "It is of version 99"),
        (_dump_with_its_digest, "Its dump can't be restored"),
        (lambda copy: _say(copy, version="2"), "Its manifest can't be read: version: It has to be a whole number."),
        (lambda copy: _say(copy, objects="51"), "objects: It has to be a whole number."),
        (lambda copy: _say(copy, created_at="2026-01-01T00:00:00"), "created_at: "),
        (lambda copy: _say(copy, rows=None), "rows: "),
        (lambda copy: _say(copy, rows=[1]), "rows: "),
        (lambda copy: _say(copy, rows={"a\x1b[31m": -1}), "rows.a\\x1b[31m"),
        (lambda copy: (copy / "manifest.json").write_text("[]"), "Its manifest can't be read"),
        (lambda copy: (copy / "manifest.json").write_text("[" * 200_000), "Its manifest can't be read"),
        (lambda copy: _list(copy, b"{"), "Its line 1 lists no object: "),
        (lambda copy: _list(copy, b"[]"), "Its line 1 lists no object: "),
        (lambda copy: _list(copy, b"\xff"), "Its line 1 lists no object: "),
        (lambda copy: _list(copy, _listed("a\x00")), "Its line 1 lists no object: key: "),
        (lambda copy: _list(copy, _listed("\x1b[31mX")), "Its line 1 lists no object: key: "),
        (lambda copy: _list(copy, _listed("k" * 5000)), "Its line 1 lists no object: "),
        (lambda copy: _list(copy, _listed("k" * 300)), "It lists 'kkk"),
        (lambda copy: _list(copy, _listed("../../x")), "It lists '../../x'"),
    ],
)
def test_a_broken_backup_says_why(made: Cli, tmp_path: Path, change: Callable[[Path], None], reason: str) -> None:
    told = made("backup", "verify", str(changed(made, tmp_path, change)), code=5).stderr
    assert "[backup-broken]" in told
    assert reason in told


def test_an_empty_folder_is_no_backup(made: Cli, tmp_path: Path) -> None:
    assert "It has no manifest" in made("backup", "verify", str(tmp_path), code=5).stderr
    for name in ("n" * 300, "a\x1b[31mb", os.fsdecode(b"\xff\xfe")):
        for command in ("create", "verify"):
            told = made("backup", command, str(tmp_path / name), code=2).stderr
            assert "A folder can't be named so." in told
            assert "\x1b" not in told
    for hours in ("inf", "nan", "1e308", "-1"):
        assert "max-age-hours" in made("backup", "verify", str(tmp_path), "--max-age-hours", hours, code=2).stderr
    assert "There is no such folder." in made("backup", "verify", str(tmp_path / "none"), code=2).stderr
