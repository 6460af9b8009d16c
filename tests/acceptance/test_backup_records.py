"""An installation knows of its backups: which it made and which were proven; none that is forged or another's."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from proctor.app import embedded_server, open_present
from proctor.database.errors import DatabaseUnavailable
from proctor.database.upgrade import HEAD
from proctor.health import backups as recorded
from proctor.health.backups import BackupsReport
from proctor.sdk.backups import create_backup, verify_backup
from proctor.settings import Settings
from tests.acceptance.conftest import Cli

pytestmark = [pytest.mark.slow, pytest.mark.server]

NOT_OURS = "This installation did not make it, or its manifest was changed since."


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """An installation of a server, with nothing in it yet."""
    cli = Cli(folder=tmp_path_factory.mktemp("records"))
    cli("setup-link")
    cli("leaderboard", "nothing", code=2)  # its tenant is made
    return cli


def known(home: Path) -> BackupsReport:
    with open_present(Settings(home=home)) as database:
        return database.as_scheduler(lambda c: recorded.report(c, elsewhere=None, own_database=False))


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()


def test_a_backup_is_known_when_it_is_made_and_counts_when_it_is_proven(made: Cli, tmp_path: Path) -> None:
    before = known(made.home)
    assert (before.recorded, before.newest, before.newest_verified, before.is_overdue) == (0, None, None, False)
    done = made("backup", "create", "first")
    assert "Next: proctor backup verify first" in done.stdout
    assert done.stderr == ""
    first = known(made.home)
    assert first.newest is not None
    assert (first.newest.digest, first.newest.host) == (digest(made.folder / "first"), socket.gethostname())
    assert first.newest.folder == str(made.folder / "first")
    assert first.newest.bytes >= (made.folder / "first" / "database.dump").stat().st_size
    assert first.newest_verified is None, "nobody has restored it"

    verified = made("backup", "verify", "first")
    assert verified.stderr == ""
    for _ in range(2):  # safe to repeat
        told = made.json("backup", "verify", "first")
        assert (told["digest"], told["unrecorded"]) == (first.newest.digest, None)
    after = known(made.home)
    assert after.recorded == 1
    assert after.newest_verified is not None
    assert after.newest_verified.digest == first.newest.digest
    assert after.unaudited_sec == after.newest_verified.age_sec

    moved = tmp_path / "moved"
    shutil.copytree(made.folder / "first", moved)
    assert made.json("backup", "verify", str(moved))["unrecorded"] is None, "the same one, wherever it lies"
    (moved / "database.dump").write_bytes(b"PGDMP")
    assert "[backup-broken]" in made("backup", "verify", str(moved), code=5).stderr
    assert known(made.home).newest_verified is None, "what was found broken is not told of as proven"
    made("backup", "verify", "first")
    assert known(made.home).newest_verified is not None


@pytest.mark.parametrize("how", ["damaged", "another's words", "without a manifest", "gone"])
def test_what_is_not_found_as_it_was_is_verified_no_longer(made: Cli, tmp_path: Path, how: str) -> None:
    folder = made.folder / f"lost-{how.partition(' ')[0].strip(chr(39))}"
    made("backup", "create", folder.name)
    made("backup", "verify", folder.name)
    newest = known(made.home).newest_verified
    assert newest is not None
    assert newest.folder == str(folder)
    made("backup", "verify", str(tmp_path / "never"), code=2)
    still = known(made.home).newest_verified
    assert still is not None
    assert still.digest == newest.digest, "what was never here is nothing of it"
    manifest = folder / "manifest.json"
    if how == "damaged":
        manifest.write_text("[]")
    elif how == "another's words":
        said = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**said, "rows": {**said["rows"], "cell": 12345}}))
    elif how == "without a manifest":
        manifest.unlink()
    else:
        folder.rename(tmp_path / "elsewhere")
    made("backup", "verify", folder.name, code=2 if how == "gone" else 5)
    seen = known(made.home).newest_verified
    assert seen is None or seen.folder != str(folder)
    if how == "gone":
        made("backup", "verify", str(tmp_path / "elsewhere"))
        again = known(made.home).newest_verified
        assert again is not None
        assert again.digest == newest.digest


def test_one_that_says_another_day_is_not_the_one_that_was_made_there(made: Cli) -> None:
    made("backup", "create", "dated")
    made("backup", "verify", "dated")
    manifest = made.folder / "dated" / "manifest.json"
    said = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**said, "created_at": "2020-01-01T00:00:00Z"}))
    assert "It is stale" in made("backup", "verify", "dated", code=5).stderr
    seen = known(made.home).newest
    assert seen is not None
    assert (seen.folder, seen.verified_at) == (str(made.folder / "dated"), None)


def test_another_good_one_in_its_place_says_nothing_of_it(made: Cli, tmp_path: Path) -> None:
    for name in ("one", "other"):
        made("backup", "create", str(tmp_path / name))
        made("backup", "verify", str(tmp_path / name))
    newest = known(made.home).newest_verified
    assert newest is not None
    (tmp_path / "other").rename(tmp_path / "aside")
    (tmp_path / "one").rename(tmp_path / "other")
    made("backup", "verify", str(tmp_path / "other"))
    made("backup", "verify", str(tmp_path / "other"), "--max-age-hours", "0", code=5)
    (tmp_path / "other" / "database.dump").write_bytes(b"PGDMP")
    made("backup", "verify", str(tmp_path / "other"), code=5)
    kept = known(made.home).newest_verified
    assert kept is not None
    assert kept.digest == newest.digest


def test_neither_a_forged_manifest_nor_anothers_backup_counts(made: Cli, tmp_path: Path) -> None:
    made("backup", "create", "honest")
    before = known(made.home)
    forged = tmp_path / "forged"
    shutil.copytree(made.folder / "honest", forged)
    manifest = json.loads((forged / "manifest.json").read_text())
    (forged / "manifest.json").write_text(json.dumps({**manifest, "dump_bytes": 1}, indent=2))
    told = made("backup", "verify", str(forged))
    assert "whole: " in told.stdout
    assert f"Health does not count it as verified: {NOT_OURS}" in told.stderr

    other = Cli(folder=tmp_path)
    other("leaderboard", "nothing", code=2)
    other("backup", "create", "theirs")
    assert NOT_OURS in made("backup", "verify", str(tmp_path / "theirs")).stderr
    after = known(made.home)
    assert (after.recorded, after.newest) == (before.recorded, after.newest)
    assert after.newest is not None
    assert after.newest.verified_at is None

    stale = tmp_path / "stale"
    shutil.copytree(made.folder / "honest", stale)
    made("backup", "verify", "honest")
    assert "It is stale" in made("backup", "verify", str(stale), "--max-age-hours", "0", code=5).stderr
    assert known(made.home).newest_verified is not None, "too old for a wish is not broken"


def test_without_an_installation_here_it_is_verified_all_the_same(made: Cli, tmp_path: Path) -> None:
    made("backup", "create", "carried")
    nowhere = tmp_path / "nowhere"
    told = made("backup", "verify", "carried", PROCTOR_HOME=str(nowhere))
    assert "whole: " in told.stdout
    assert f"There is no database in the data folder. ({nowhere})" in told.stderr
    assert not nowhere.exists(), "looking makes nothing"


def test_what_is_put_back_knows_the_backup_it_came_from(made: Cli, tmp_path: Path) -> None:
    for name in ("earlier", "later"):
        made("backup", "create", name)
        made("backup", "verify", name)
    count = known(made.home).recorded
    home = tmp_path / "restored"
    told = made("backup", "restore", "later", PROCTOR_HOME=str(home))
    assert told.stderr == ""
    restored = known(home)
    assert restored.recorded == count, "those of before, and the one it came from, of which its dump knows nothing"
    assert restored.newest_verified is not None
    assert restored.newest_verified.digest == digest(made.folder / "later")
    assert restored.unaudited_sec == restored.newest_verified.age_sec, "as old as what came back"
    made("backup", "verify", "later", PROCTOR_HOME=str(home))
    assert known(home).recorded == count


def test_a_backup_that_could_not_be_told_of_stands(made: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DatabaseUnavailable("It went away.")

    settings, before = Settings(home=made.home), known(made.home).recorded
    monkeypatch.setattr(recorded, "record", fail)
    told = create_backup(settings, tmp_path / "kept")
    monkeypatch.undo()
    assert told.unrecorded is not None
    assert "It went away." in told.unrecorded
    assert known(made.home).recorded == before
    assert verify_backup(settings, tmp_path / "kept").unrecorded == NOT_OURS
    made("backup", "restore", str(tmp_path / "kept"), PROCTOR_HOME=str(tmp_path / "home"))


def test_a_schema_that_is_to_be_upgraded_is_backed_up_as_it_is(made: Cli) -> None:
    settings = Settings(home=made.home)

    def say(revision: str) -> None:
        with embedded_server(settings) as urls:
            engine = create_engine(urls.owner)
            with engine.begin() as connection:
                connection.execute(text("UPDATE proctor.alembic_version SET version_num = :it"), {"it": revision})
            engine.dispose()

    say("0027")
    told = made("backup", "create", "before-the-upgrade")
    assert "The backup is whole, but this installation does not know of it: The database is at revision 0027" in (
        told.stderr
    )
    say(HEAD)
    manifest = json.loads((made.folder / "before-the-upgrade" / "manifest.json").read_text())
    assert manifest["revision"] == "0027"
