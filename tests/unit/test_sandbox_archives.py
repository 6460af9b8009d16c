"""Hostile archives, and trees that are no archive's fault: nothing is written outside, all is capped."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile

import pytest

from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.files.archives import extract, write_snapshot
from proctor.sandboxes.files.confined import descriptor, open_in_root, parts_of
from proctor.sandboxes.files.trees import remove_tree, tree_use
from proctor.sandboxes.interfaces import Snapshot, TransferLimits
from proctor.sandboxes.system_paths import belongs_to_system, runs_at_start


def member(name, kind=tarfile.REGTYPE, *, link="", content=b"", **fields):
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, len(content)
    for field, value in fields.items():
        setattr(made, field, value)
    return made, content


def archive_of(tmp_path, *members):
    path = tmp_path / "hostile.tar"
    with tarfile.open(path, "w") as archive:
        for made, content in members:
            archive.addfile(made, io.BytesIO(content))
    return Snapshot(path=path, sha256=hashlib.sha256(path.read_bytes()).hexdigest(), size=path.stat().st_size)


def unpack(snapshot, root, *, limits=None, skip=lambda name: False):
    root.mkdir(exist_ok=True)
    with descriptor(os.open(root, os.O_PATH)) as fd:
        extract(snapshot, fd, owner=None, limits=limits or TransferLimits(), skip=skip)


@pytest.mark.parametrize(
    "members",
    [
        [member("/absolute", content=b"x")],
        [member("../outside", content=b"x")],
        [member("a/../../outside", content=b"x")],
        [member("a", tarfile.SYMTYPE, link="/etc"), member("a/passwd", content=b"x")],
        [member("a", tarfile.SYMTYPE, link="../../outside"), member("a/f", content=b"x")],
        [member("a", tarfile.SYMTYPE, link="b"), member("b", tarfile.DIRTYPE), member("a/f", content=b"x")],
        [member("hard", tarfile.LNKTYPE, link="/etc/passwd")],
        [member("hard", tarfile.LNKTYPE, link="../outside")],
        [member("a", tarfile.SYMTYPE, link="/etc/passwd"), member("hard", tarfile.LNKTYPE, link="a")],
        [member("a", tarfile.SYMTYPE, link="/etc"), member("hard", tarfile.LNKTYPE, link="a/passwd")],
        [member("d", tarfile.DIRTYPE), member("hard", tarfile.LNKTYPE, link="d")],
        [member("device", tarfile.CHRTYPE, devmajor=1, devminor=3)],
        [member("disk", tarfile.BLKTYPE, devmajor=8, devminor=0)],
        [member("pipe", tarfile.FIFOTYPE)],
    ],
    ids=lambda members: "+".join(f"{made.name}:{made.type.decode()}" for made, _ in members),
)
def test_a_hostile_archive_is_refused(tmp_path, members):
    (tmp_path / "outside").mkdir()
    with pytest.raises(TransferRefused):
        unpack(archive_of(tmp_path, *members), tmp_path / "root")
    assert list((tmp_path / "outside").iterdir()) == []


def test_set_uid_bits_are_dropped(tmp_path):
    unpack(archive_of(tmp_path, member("f", content=b"x", mode=0o6755)), tmp_path / "root")
    assert (tmp_path / "root/f").stat().st_mode & 0o7777 == 0o755


def test_entries_are_capped(tmp_path):
    hostile = archive_of(tmp_path, *(member(f"f{number}") for number in range(50)))
    with pytest.raises(TransferRefused, match="20 entries"):
        unpack(hostile, tmp_path / "root", limits=TransferLimits(entries=20))


def test_a_sparse_bomb_is_refused(tmp_path):
    headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "bomb",
        "GNU.sparse.realsize": str(1 << 40),
    }
    table = b"1\n0\n512\n".ljust(512, b"\0") + bytes(512)
    hostile = archive_of(tmp_path, member("bomb", content=table, pax_headers=headers))
    with pytest.raises(TransferRefused, match=r"in one file|sparse"):
        unpack(hostile, tmp_path / "root")
    with pytest.raises(TransferRefused, match="sparse"):
        unpack(hostile, tmp_path / "root2", limits=TransferLimits(file_bytes=1 << 60, total_bytes=1 << 60))


def test_a_changed_or_torn_snapshot_is_refused(tmp_path):
    snapshot = archive_of(tmp_path, member("f", content=b"x" * 5000))
    snapshot.path.write_bytes(snapshot.path.read_bytes().replace(b"xx", b"xy"))
    with pytest.raises(TransferRefused, match="digest"):
        unpack(snapshot, tmp_path / "root")
    assert not list((tmp_path / "root").iterdir())
    torn = tmp_path / "torn.tar"
    torn.write_bytes(snapshot.path.read_bytes()[:3000])
    digest = hashlib.sha256(torn.read_bytes()).hexdigest()
    with pytest.raises(TransferRefused):
        unpack(Snapshot(path=torn, sha256=digest, size=3000), tmp_path / "root3")


def test_symlinks_are_kept_as_they_are_and_never_followed(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "abs").symlink_to("/etc/passwd")
    (root / "up").symlink_to("../../..")
    snapshot = write_snapshot(root, tmp_path / "s.tar", TransferLimits(), frozenset())
    unpack(snapshot, tmp_path / "copy")
    assert os.readlink(tmp_path / "copy/abs") == "/etc/passwd"
    assert os.readlink(tmp_path / "copy/up") == "../../.."


def test_a_snapshot_can_be_read_by_tar_itself(tmp_path):
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "d" / "f").write_text("content")
    with (root / "holes").open("wb") as file:
        file.truncate(10 << 20)
        file.seek(5 << 20)
        file.write(b"middle")
    snapshot = write_snapshot(root, tmp_path / "s.tar", TransferLimits(), frozenset())
    with tarfile.open(snapshot.path) as archive:
        assert archive.extractfile("holes").read() == (root / "holes").read_bytes()
    assert snapshot.size < 1 << 20


def test_system_paths_and_start_up_files_are_named_and_left_out(tmp_path):
    root = tmp_path / "root"
    packages = root / "home/agent/.local/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (packages / "evil.pth").write_text("import os")
    (packages / "module.py").write_text("")
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/sitecustomize.py").write_text("")
    snapshot = write_snapshot(root, tmp_path / "s.tar", TransferLimits(), frozenset())
    evil = "home/agent/.local/lib/python3.11/site-packages/evil.pth"
    assert snapshot.changed_system_paths == (evil, "usr", "usr/lib", "usr/lib/sitecustomize.py")
    unpack(snapshot, tmp_path / "copy", skip=lambda name: belongs_to_system(name) or runs_at_start(name))
    assert not (tmp_path / "copy/usr").exists()
    assert not (tmp_path / "copy" / evil).exists()
    assert (tmp_path / "copy" / evil).with_name("module.py").exists()


@pytest.mark.parametrize("path", ["relative", "/a/../b", "/a\0b", ".."])
def test_paths_that_are_not_plain_are_refused(path):
    with pytest.raises(TransferRefused):
        parts_of(path)


def test_opening_below_a_root_never_leaves_it(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("x")
    (root / "out").symlink_to("../secret")
    (root / "magic").symlink_to("/proc/self/root/etc/passwd")
    with descriptor(os.open(root, os.O_PATH)) as fd:
        for name in ("/out", "/../secret", "/magic"):
            with pytest.raises(OSError):
                open_in_root(fd, name, os.O_RDONLY)


def test_folders_and_empty_files_take_room_and_holes_take_none(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "empty").touch()
    (tmp_path / "link").symlink_to("nowhere")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    os.link(tmp_path / "sparse", tmp_path / "again")
    assert 4 * 4096 <= tree_use(tmp_path).bytes <= 6 * 4096


def test_a_tree_deeper_than_the_stack_is_measured_as_such_and_removed(tmp_path):
    top = tmp_path / "deep"
    top.mkdir()
    here = os.getcwd()
    os.chdir(top)
    try:
        for _ in range(2500):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)
    assert tree_use(top).too_deep
    remove_tree(top)
    assert not top.exists()


def test_removal_does_not_follow_a_symlink(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "f").touch()
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "gone")
    assert (tmp_path / "kept" / "f").exists()
