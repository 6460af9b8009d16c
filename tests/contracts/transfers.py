"""What every sandbox in which commands run does with files: kept both ways, and never through what an agent planted."""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path

import pytest

from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.interfaces import (
    TransferLimits,
)
from tests.contracts.sandboxes import SandboxContract, python, shell


class TransferContract(SandboxContract):
    """Files put, taken and kept."""

    async def test_modes_links_holes_and_times_are_kept_both_ways(self, start, tmp_path):
        tree = _difficult_tree(tmp_path / "in")
        sandbox = await start()
        await sandbox.put(tree, "/app/tree")
        seen = await shell(
            sandbox, "cd /app/tree; stat -c '%n %a %h %Y %U' *; du -k holes | cut -f1; readlink dangling"
        )
        lines = seen.stdout.decode().splitlines()
        assert "first 640 2 1000000000 agent" in lines
        assert "second 640 2 1000000000 agent" in lines
        assert int(lines[-2]) < 1024 or not self.keeps_holes
        assert lines[-1] == "/no/where"
        await sandbox.get("/app/tree", tmp_path / "out")
        _same_tree(tree, tmp_path / "out", self.time_unit_ns)

    async def test_a_snapshot_keeps_modes_links_holes_and_times(self, start, tmp_path):
        tree = _difficult_tree(tmp_path / "in")
        first = await start()
        await first.put(tree, "/app/tree")
        kept = await first.snapshot(tmp_path / "state.tar")
        assert kept.size < 8 * 1024**2
        second = await start(base=kept)
        await second.get("/app/tree", tmp_path / "out")
        _same_tree(tree, tmp_path / "out", self.time_unit_ns)
        again = await second.snapshot(tmp_path / "again.tar")
        assert again.sha256 == kept.sha256

    async def test_a_snapshot_shows_what_was_deleted(self, start, tmp_path):
        first = await start()
        await shell(first, "mkdir /app/d; touch /app/d/gone /app/kept; rm -r /app/d")
        second = await start(base=await first.snapshot(tmp_path / "state.tar"))
        assert (await shell(second, "ls /app")).stdout == b"kept\n"

    async def test_what_the_owner_shut_himself_out_of_is_still_kept(self, start, tmp_path):
        first = await start()
        await shell(first, "mkdir /app/d; echo secret > /app/d/f; chmod 000 /app/d/f /app/d")
        kept = await first.snapshot(tmp_path / "state.tar")
        with tarfile.open(kept.path) as archive:
            assert archive.getmember("app/d").mode == 0
            assert archive.extractfile("app/d/f").read() == b"secret\n"
        second = await start(base=kept)
        assert (await shell(second, "stat -c %a /app/d; chmod 700 /app/d; stat -c %a /app/d/f")).stdout == b"0\n0\n"

    async def test_put_replaces_what_an_agent_planted(self, start, tmp_path):
        sandbox = await start()
        await shell(sandbox, "mkdir -p /elsewhere /tests/test.sh/deep; ln -s /elsewhere /tests/lib")
        (tmp_path / "tests" / "lib").mkdir(parents=True)
        (tmp_path / "tests" / "test.sh").write_text("trusted")
        (tmp_path / "tests" / "lib" / "m.py").write_text("trusted")
        await sandbox.put(tmp_path / "tests", "/tests")
        assert await sandbox.read("/tests/test.sh", 10) == b"trusted"
        assert (await shell(sandbox, "ls /elsewhere; test -L /tests/lib")).exit_code == 1

    async def test_put_through_a_planted_symlink_stays_in_the_sandbox(self, start, tmp_path):
        sandbox = await start()
        outside = tmp_path / "outside"
        outside.mkdir(mode=0o777)
        (tmp_path / "f").write_text("x")
        await shell(sandbox, f"ln -s {outside} /app/a; ln -s ../../../../../../../../..{outside} /app/b")
        for name in ("a", "b"):
            await sandbox.put(tmp_path / "f", f"/app/{name}-not/f")
            with pytest.raises(TransferRefused):
                await sandbox.put(tmp_path / "f", f"/app/{name}/../f")
            try:
                await sandbox.put(tmp_path / "f", f"/app/{name}/f")
            except TransferRefused:
                continue
        assert list(outside.iterdir()) == []

    async def test_read_and_get_through_a_planted_symlink_stay_in_the_sandbox(self, start, tmp_path):
        sandbox = await start()
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret").write_text("host")
        await shell(sandbox, f"ln -s {outside} /app/a; ln -s ../../../../../../../../..{outside} /app/b")
        for name in ("a", "b"):
            assert await sandbox.read(f"/app/{name}/secret", 10) is None
            with pytest.raises(TransferRefused):
                await sandbox.get(f"/app/{name}/secret", tmp_path / "out")
            with pytest.raises(TransferRefused):
                await sandbox.get(f"/app/{name}", tmp_path / "out")

    async def test_get_refuses_pipes_sockets_and_devices(self, start, tmp_path):
        sandbox = await start()
        await python(
            sandbox,
            "import os, socket, stat\n"
            "for name in 'abc': os.mkdir('/app/' + name)\n"
            "os.mkfifo('/app/a/x')\n"
            "socket.socket(socket.AF_UNIX).bind('/app/b/x')\n"
            "os.mknod('/app/c/x', stat.S_IFCHR, 0)\n",  # the one device number that anybody may make
        )
        for name in set("abc") - set(self.unseen):
            with pytest.raises(TransferRefused):
                await sandbox.get(f"/app/{name}", tmp_path / "out")
            assert not (tmp_path / "out").exists()
        await sandbox.kill_all()
        kept = await sandbox.snapshot(tmp_path / "state.tar")
        with tarfile.open(kept.path) as archive:
            assert not [name for name in archive.getnames() if name.endswith("/x")]

    async def test_a_sparse_bomb_is_refused(self, start, tmp_path):
        sandbox = await start()
        await shell(sandbox, "truncate -s 1G /app/bomb")
        with pytest.raises(TransferRefused, match="sparse"):
            await sandbox.get("/app/bomb", tmp_path / "out")
        with pytest.raises(TransferRefused, match="sparse"):
            await sandbox.snapshot(tmp_path / "state.tar")

    async def test_set_uid_bits_do_not_come_out(self, start, tmp_path):
        sandbox = await start()
        await shell(sandbox, "cp /usr/bin/id /app/id; chmod 6755 /app/id")
        await sandbox.get("/app/id", tmp_path / "id")
        assert stat.S_IMODE((tmp_path / "id").stat().st_mode) == 0o755

    async def test_a_hundred_thousand_entries_are_too_many(self, start, tmp_path):
        sandbox = await start()
        await python(sandbox, "for i in range(3000): open(f'/app/{i}', 'w')")
        with pytest.raises(TransferRefused, match="2000 entries"):
            await sandbox.get("/app", tmp_path / "out", TransferLimits(entries=2000))

    async def test_a_tree_too_deep_to_walk_is_refused_and_still_removed(self, start, tmp_path):
        sandbox = await start()
        await python(sandbox, "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')", cwd="/app")
        with pytest.raises(TransferRefused, match="deeper"):
            await sandbox.get("/app", tmp_path / "out")
        await sandbox.destroy()


def _difficult_tree(tree: Path) -> Path:
    """Modes, a hard link, a hole, a dangling symlink, an odd name, an empty folder, old times."""
    (tree / "empty").mkdir(parents=True)
    (tree / "first").write_bytes(b"linked")
    (tree / "first").chmod(0o640)
    (tree / "second").hardlink_to(tree / "first")
    (tree / "dangling").symlink_to("/no/where")
    (tree / "ünï\ncode").write_bytes(os.urandom(1000))
    with (tree / "holes").open("wb") as file:
        file.seek(40 * 1024**2)
        file.write(b"end")
    for path in (*tree.iterdir(), tree):
        os.utime(path, ns=(10**18 + 123_456_789, 10**18 + 123_456_789), follow_symlinks=False)
    return tree


def _same_tree(one: Path, other: Path, time_unit_ns: int) -> None:
    for path in (one, *sorted(one.rglob("*"))):
        twin = other / path.relative_to(one)
        ours, theirs = path.lstat(), twin.lstat()
        assert ours.st_mode == theirs.st_mode, path
        assert ours.st_mtime_ns // time_unit_ns == theirs.st_mtime_ns // time_unit_ns, path
        if path.is_symlink():
            assert os.readlink(path) == os.readlink(twin)
        elif path.is_file():
            assert (ours.st_nlink, ours.st_size) == (theirs.st_nlink, theirs.st_size), path
            assert theirs.st_blocks * 512 < max(ours.st_blocks * 512 * 2, 65536)
            assert path.read_bytes() == twin.read_bytes()
    assert sorted(p.relative_to(one) for p in one.rglob("*")) == sorted(p.relative_to(other) for p in other.rglob("*"))
