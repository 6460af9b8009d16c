"""What of the docker backend needs no engine: changes read, states written, users found, pulls held to their limit."""

from __future__ import annotations

import asyncio
import io
import tarfile
from pathlib import Path

import pytest

from proctor.sandboxes import pulls
from proctor.sandboxes.docker.fetching import Fetching
from proctor.sandboxes.docker.images import by_digest
from proctor.sandboxes.docker.labels import labels_of, written
from proctor.sandboxes.docker.readiness import probe_of, unframed
from proctor.sandboxes.docker.states import StateWriter, filtered, read_changes
from proctor.sandboxes.docker.users import default_user, read_groups, read_users
from proctor.sandboxes.errors import TransferRefused, UnsupportedByBackend
from proctor.sandboxes.interfaces import Probe, TransferLimits
from proctor.sandboxes.pulls import OwnTurns
from tests.contracts.sandboxes import labels
from tests.contracts.turns import PullTurnsContract

CHANGED, ADDED, DELETED = 0, 1, 2


def test_changes_are_named_by_their_topmost_paths() -> None:
    listed = [
        {"Path": "/app", "Kind": CHANGED},
        {"Path": "/app/new", "Kind": ADDED},
        {"Path": "/app/new/deep", "Kind": ADDED},
        {"Path": "/etc", "Kind": CHANGED},
        {"Path": "/etc/motd", "Kind": CHANGED},
        {"Path": "/etc/hosts", "Kind": CHANGED},  # the engine's own
        {"Path": "/usr/bin/gone", "Kind": DELETED},
    ]
    changes = read_changes(listed)
    assert (changes.kept, changes.gone) == (["/app/new", "/etc/motd"], ["/usr/bin/gone"])
    assert (read_changes(None).kept, read_changes(None).gone) == ([], [])


def test_what_has_no_readable_name_is_kept_with_its_folder() -> None:
    listed = [
        {"Path": "/app", "Kind": CHANGED},
        {"Path": "/app/caf\ufffd", "Kind": ADDED},
        {"Path": "/app/caf\ufffd/x", "Kind": ADDED},
        {"Path": "/app/new", "Kind": ADDED},
    ]
    assert read_changes(listed).kept == ["/app"]
    with pytest.raises(TransferRefused):
        read_changes([{"Path": "/\ufffd", "Kind": ADDED}])


def test_volumes_of_an_image_are_kept_whole() -> None:
    changes = read_changes([{"Path": "/srv/new", "Kind": ADDED}], ("/data", "/srv/new/below/", "/"))
    assert changes.kept == ["/data", "/srv/new"]
    assert changes.keeps("/data/any/thing")
    assert not changes.keeps("/database")


def spool(tmp_path: Path, name: str, members: dict[str, bytes | None]) -> io.BufferedRandom:
    file = (tmp_path / name).open("w+b")
    with tarfile.open(fileobj=file, mode="w") as tar:
        for path, content in members.items():
            member = tarfile.TarInfo(path)
            member.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            member.size, member.uid, member.mode = len(content or b""), 7, 0o4755
            tar.addfile(member, io.BytesIO(content or b""))
    file.seek(0)
    return file


def test_a_state_is_written_and_a_container_filled_from_it(tmp_path: Path) -> None:
    with (tmp_path / "state.tar").open("xb") as out, spool(tmp_path, "a", {"new": None, "new/f": b"x"}) as made:
        writer = StateWriter(out, TransferLimits())
        writer.add(made, "/app")
        writer.gone("/usr/bin/gone")
        snapshot = writer.finish(tmp_path / "state.tar")
    assert snapshot.changed_system_paths == ("usr/bin/gone",)
    assert snapshot.size == snapshot.path.stat().st_size
    with tarfile.open(snapshot.path) as tar:
        found = {member.name: (member.uid, member.mode) for member in tar}
    assert found == {"app/new": (7, 0o755), "app/new/f": (7, 0o755), "usr/bin/.wh.gone": (0, 0o644)}
    for restore, gone in ((False, ["/usr/bin/gone"]), (True, [])):
        with snapshot.path.open("rb") as state, (tmp_path / f"fill-{restore}").open("w+b") as fill:
            assert filtered(state, fill, restore_system=restore) == gone
            with tarfile.open(fileobj=fill) as tar:
                assert tar.getnames() == ["app/new", "app/new/f"]


ODD_NAMES = (
    ".wh.",
    ".wh..",
    ".wh...",
    ".wh.ok",
    ".wh..wh..opq",
    "a\nb",
    "\udcff\udcfe",
    "x" * 255,
    "é" * 127,
    " ",
    "\\",
)
"""What files may be called; with ``hdrcharset`` a name looks like a header's own word."""
TAR_WORDS = ("é\n20 hdrcharset=BINARY\n", "é\n30 PROCTOR.gone=app/ok\n", "é\n9 GNU.sparse.major=1\n")
"""Names that look like a header's own words."""


def refilled(path: Path) -> tuple[list[str], list[str]]:
    """What a state leaves of a container: names, and what is gone."""
    with path.open("rb") as state, path.with_suffix(".fill").open("w+b") as fill:
        gone = filtered(state, fill, restore_system=False)
        with tarfile.open(fileobj=fill) as tar:
            return tar.getnames(), list(gone)


def test_files_that_are_called_like_whiteouts_or_oddly_are_kept_as_files(tmp_path: Path) -> None:
    names = [*ODD_NAMES, *TAR_WORDS, "ok", "/".join(["d" * 200] * 15)]
    with (tmp_path / "state.tar").open("xb") as out, spool(tmp_path, "a", dict.fromkeys(names, b"")) as made:
        writer = StateWriter(out, TransferLimits())
        writer.add(made, "/app")
        for gone in ("/app/ok2", "/app/.wh.x", "/app/a\nb2", f"/app/{'y' * 255}"):
            writer.gone(gone)
        writer.finish(tmp_path / "state.tar")
    kept, gone = refilled(tmp_path / "state.tar")
    assert kept == [f"app/{name}" for name in names]
    assert gone == ["/app/ok2", "/app/.wh.x", "/app/a\nb2", f"/app/{'y' * 255}"]


def test_a_state_with_nothing_in_it_fills_nothing(tmp_path: Path) -> None:
    with (tmp_path / "state.tar").open("xb") as out:
        StateWriter(out, TransferLimits()).finish(tmp_path / "state.tar")
    assert refilled(tmp_path / "state.tar") == ([], [])


def test_states_from_before_tell_whiteouts_by_name_and_by_what_the_writer_made_of_them(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "state.tar", "w") as tar:
        for name, when in ((".wh.top", 0), ("app/.wh.gone", 0), ("app/.wh.own", 7), ("app/.wh.", 0), ("app/.wh..", 0)):
            member = tarfile.TarInfo(name)
            member.mtime = when
            tar.addfile(member)
    assert refilled(tmp_path / "state.tar") == (["app/.wh.own", "app/.wh.", "app/.wh.."], ["/top", "/app/gone"])


def test_a_name_that_no_tar_can_be_read_with_is_refused(tmp_path: Path) -> None:
    """As an engine writes it: a header's path in raw bytes, which the tar's reader takes for a charset."""
    path = b"15 path=\n9 hdrcharset=\xff\n\n"
    record = b"%d%s" % (len(path), path[2:])
    head = tarfile.TarInfo("pax")
    head.type, head.size = tarfile.XHDTYPE, len(record)
    raw = head.tobuf(tarfile.USTAR_FORMAT) + record.ljust(512, b"\0") + tarfile.TarInfo("f").tobuf() + bytes(1024)
    (tmp_path / "a").write_bytes(raw)
    with (tmp_path / "s").open("xb") as out, (tmp_path / "a").open("rb") as made, pytest.raises(TransferRefused):
        StateWriter(out, TransferLimits()).add(made, "/")
    with (tmp_path / "a").open("rb") as state, (tmp_path / "o").open("w+b") as fill, pytest.raises(TransferRefused):
        filtered(state, fill, restore_system=False)


@pytest.mark.parametrize("name", ["../f", "a/../../f", "..", "a/.."])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with (
        (tmp_path / "s").open("xb") as out,
        spool(tmp_path, "a", {name: b"x"}) as made,
        pytest.raises(TransferRefused),
    ):
        StateWriter(out, TransferLimits()).add(made, "/")


PASSWD = b"root:x:0:0::/root:/bin/sh\nagent:x:1000:1001::/home/agent:/bin/sh\nno line\nbad:x:a:b::/:/\n"
NO_IDS = ("²:0", "0:²", "9" * 5000 + ":0", "99999999999:0", "4294967295:0", "-1:0", " 1:0", "1_0:0", ":0", "٣:0")
GROUPS = {"staff": 50, "77": 78}


def test_users_of_an_image() -> None:
    users = read_users(PASSWD)
    assert set(users) == {"root", "agent"}
    assert read_users(b"")["root"].uid == 0
    asked = ("", "agent", "1000", "agent:5", "4242", "4242:2345", "agent:staff", "agent:77", "agent:", ":5")
    said = {text: default_user(text, users, GROUPS) for text in asked}
    assert {text: (user.name, user.uid, user.gid, user.told) for text, user in said.items()} == {
        "": ("root", 0, 0, "root"),
        "agent": ("agent", 1000, 1001, "agent"),
        "1000": ("agent", 1000, 1001, "1000"),
        "agent:5": ("agent", 1000, 5, "agent:5"),
        "4242": ("4242", 4242, 0, "4242"),
        "4242:2345": ("4242", 4242, 2345, "4242:2345"),
        "agent:staff": ("agent", 1000, 50, "agent:staff"),
        "agent:77": ("agent", 1000, 78, "agent:77"),
        "agent:": ("agent", 1000, 1001, "agent:"),
        ":5": ("root", 0, 5, "root:5"),
    }


@pytest.mark.parametrize("ids", NO_IDS)
def test_lines_whose_ids_are_none_are_passed_over(ids: str) -> None:
    assert set(read_users(f"x:x:{ids}::/:/bin/sh\n".encode())) == {"root"}


def test_groups_of_an_image() -> None:
    assert read_groups("staff:x:50:a\nx:x:²:\nstaff:x:51:\nno line\nlast:x:4294967294".encode()) == {
        "staff": 50,
        "last": 4294967294,
    }


@pytest.mark.parametrize("said", ["ghost", "²", "99999999999", "4294967294", "agent:ghost", "agent:²", "0:99999999999"])
def test_a_user_that_an_image_does_not_have_is_refused(said: str) -> None:
    with pytest.raises(UnsupportedByBackend) as told:
        default_user(said, read_users(PASSWD), GROUPS)
    assert told.value.where == "user"


def test_of_an_images_names_by_digest_it_is_that_of_the_repository_that_was_asked_for() -> None:
    known = ["docker.io/library/other@sha256:1", "docker.io/library/small@sha256:1", "ghcr.io/a/small@sha256:2"]
    asked = ("small:1", "ghcr.io/a/small:3", "ghcr.io/a/small@sha256:2", "quay.io/none:1")
    assert [by_digest(name, known) for name in asked] == [known[1], known[2], known[2], known[0]]
    assert by_digest("small:1", []) is None


def test_labels_come_back_and_others_are_nobodys() -> None:
    ours = labels()
    assert labels_of(written(ours, "mark", "cell")) == ours
    assert labels_of({"some": "label"}) is None


class TestOwnTurns(PullTurnsContract):
    @pytest.fixture(autouse=True)
    def _clock(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed = 1000.0
        monkeypatch.setattr(pulls.time, "monotonic", self.now)

    @pytest.fixture
    def turns(self) -> OwnTurns:
        return OwnTurns()

    async def later(self, seconds: float) -> None:
        self.passed += seconds

    def now(self) -> float:
        return self.passed


class OneAtTheGate:
    """Turns that one registry gives none of until it is opened."""

    def __init__(self, shut: str) -> None:
        self.shut, self.waiting, self.most = shut, 0, 0

    async def take(self, registry: str) -> float:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0)
        self.waiting -= 1
        return 0.001 if registry == self.shut else 0.0


@pytest.mark.timeout(10)
async def test_who_waits_for_a_turn_keeps_nobody_else_and_may_give_up() -> None:
    turns = OneAtTheGate("ghcr.io")
    one = Fetching(turns=turns)
    waiting = [asyncio.create_task(one.turn(f"ghcr.io/{name}:1")) for name in "abc"]
    await asyncio.sleep(0.01)
    assert turns.most == 1  # the others stand behind the first
    await one.turn("quay.io/a:1")
    waiting[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]
    turns.shut = ""
    await asyncio.gather(*waiting[1:])


def test_an_images_own_healthcheck_is_read_and_its_missing_times_are_dockers() -> None:
    second = 10**9
    assert probe_of(None) == Probe()
    assert probe_of({"Test": ["NONE"]}) == Probe()
    assert probe_of({"Test": ["CMD-SHELL", "a b"], "Interval": 2 * second, "Retries": 5}) == Probe(
        argv=("/bin/sh", "-c", "a b"), interval_sec=2, retries=5
    )
    assert probe_of({"Test": ["CMD", "a", "b"], "Timeout": second, "StartPeriod": second // 2}) == Probe(
        argv=("a", "b"), timeout_sec=1, start_period_sec=0.5
    )


def test_a_log_is_read_without_its_frames_and_to_where_it_breaks_off() -> None:
    frames = b"".join(bytes([kind, 0, 0, 0, 0, 0, 0, len(text)]) + text for kind, text in ((1, b"ab\n"), (2, b"c\n")))
    assert unframed(frames) == b"ab\nc\n"
    assert unframed(frames[:-1] + b"") == b"ab\nc"
    assert unframed(b"\x01\0") == b""
