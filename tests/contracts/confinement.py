"""What every sandbox in which commands run keeps them to: limits, and what can't be reached from within."""

from __future__ import annotations

import asyncio
import socket
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.sandboxes.errors import UnsupportedByBackend
from proctor.sandboxes.interfaces import (
    LimitKind,
    Network,
    Place,
    Reach,
    ServiceSpec,
    Strength,
)
from tests.contracts.sandboxes import COMMANDS, FORK_BOMB, LIMITS, SandboxContract, python, shell


class ConfinementContract(SandboxContract):
    """Limits and walls."""

    @pytest.fixture
    def open_folder(self):
        """A folder that every user can pass through; pytest's own is private."""
        with tempfile.TemporaryDirectory(prefix="layer-") as name:
            Path(name).chmod(0o755)
            yield Path(name)

    async def test_a_memory_hog_is_told_from_a_plain_kill(self, start):
        sandbox = await start(limits=replace(LIMITS, memory_mb=128))
        hog = await python(sandbox, "x = bytearray(1 << 20)\nwhile True: x += bytearray(8 << 20)", timeout_sec=30)
        assert hog.oom
        assert hog.limit is LimitKind.MEMORY
        assert hog.exit_code != 0
        plain = await shell(sandbox, "kill -9 $$")
        assert (plain.signal, plain.oom, plain.limit) == (9, False, None)

    async def test_a_fork_bomb_meets_the_process_limit(self, start):
        sandbox = await start(limits=replace(LIMITS, pids=64))
        await python(sandbox, FORK_BOMB, timeout_sec=1.0, session="bomb")
        await sandbox.kill_session("bomb")
        await sandbox.kill_all()
        assert (await shell(sandbox, "echo alive | cat")).stdout == b"alive\n"

    async def test_a_disk_filler_is_killed_at_the_limit(self, start):
        sandbox = await start(limits=replace(LIMITS, disk_mb=32, file_size_mb=8))
        script = "i=0; while :; do i=$((i+1)); head -c 4000000 /dev/zero > /app/$i || exit 1; done"
        result = await shell(sandbox, script, timeout_sec=30)
        assert result.limit is LimitKind.DISK
        assert result.signal == 9
        assert await sandbox.disk_used() > 32 * 1000**2
        assert (await shell(sandbox, "echo verifier > /logs/verifier/f")).exit_code == 0

    async def test_deleted_files_that_are_held_open_count(self, start):
        sandbox = await start(limits=replace(LIMITS, disk_mb=32, file_size_mb=8))
        program = (
            "import os, itertools\n"
            "held = []\n"
            "for i in itertools.count():\n"
            "    held.append(open(f'/app/{i}', 'wb')); os.unlink(f'/app/{i}')\n"
            "    if i > 60: import time; time.sleep(1000)\n"
            "    held[-1].write(bytes(4 << 20)); held[-1].flush()\n"
        )
        result = await python(sandbox, program, timeout_sec=30)
        assert result.limit is LimitKind.DISK

    async def test_one_file_meets_the_file_size_limit(self, start):
        sandbox = await start(limits=replace(LIMITS, file_size_mb=1))
        result = await shell(sandbox, "exec head -c 5000000 /dev/zero > /app/f")
        assert result.limit is LimitKind.FILE_SIZE
        assert len(await sandbox.read("/app/f", 1 << 30)) == 1024**2

    async def test_a_flood_of_output_is_counted_and_dropped(self, start):
        sandbox = await start()
        result = await shell(sandbox, "yes", timeout_sec=0.5, output_limit=10_000)
        assert result.limit is LimitKind.WALL
        assert len(result.stdout) == 10_000
        assert result.truncated

    # --- what a sandbox can't reach -------------------------------------------------------------------

    async def test_no_network(self, start):
        sandbox = await start()
        server = socket.create_server(("127.0.0.1", 0))
        with server:
            port = server.getsockname()[1]
            for address in (f"127.0.0.1', {port}", "1.1.1.1', 53"):
                result = await python(sandbox, f"import socket; socket.create_connection(('{address}), timeout=3)")
                assert result.exit_code != 0
        names = (await shell(sandbox, "cat /proc/net/dev | tail -n +3 | cut -d: -f1")).stdout.split()
        assert names in ([b"lo"], [])

    async def test_a_relays_socket_is_the_one_way_out(self, start):
        sandbox, other = await start(relay=True), await start()
        asked = (
            "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/proctor/relay.sock'); s.sendall(b'ping\\n')"
        )

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"pong to " + await reader.readline())
            await writer.drain()
            writer.close()

        path = sandbox.relay / "relay.sock"
        async with await asyncio.start_unix_server(answer, path):
            path.chmod(0o666)
            result = await python(sandbox, f"{asked}; print(s.recv(100))")
            assert b"pong to ping" in result.stdout, result.stderr
            assert (await python(other, asked)).exit_code != 0
            planted = await shell(
                sandbox, "rm -f /proctor/relay.sock; mv /proctor/relay.sock /tmp/x; echo x > /proctor/x"
            )
            assert planted.exit_code != 0
            assert [one.name for one in sandbox.relay.iterdir()] == ["relay.sock"]
        folder = sandbox.relay
        await sandbox.destroy()
        assert not folder.exists()
        assert other.relay is None

    async def test_a_layer_is_read_by_all_and_written_by_nobody(self, start, tmp_path, open_folder):
        tree = open_folder
        (tree / "bin").mkdir()
        (tree / "bin/tool").write_text("#!/bin/sh\necho ran\n")
        (tree / "bin/tool").chmod(0o755)
        sandbox = await start(layers={"/proctor-layers/tool": tree})
        assert (await shell(sandbox, "/proctor-layers/tool/bin/tool")).stdout == b"ran\n"
        spoil = "cd /proctor-layers/tool; echo x > bin/tool; echo x > new; rm -f bin/tool; chmod 777 . bin"
        await shell(sandbox, f"({spoil}) 2>/dev/null; true", user="agent" if self.image is None else "root")
        assert [path.name for path in sorted(tree.rglob("*"))] == ["bin", "tool"]
        assert (tree / "bin/tool").read_text() == "#!/bin/sh\necho ran\n"
        assert (tree / "bin").stat().st_mode & 0o777 == 0o755
        await shell(sandbox, "echo mine > /app/kept")
        await sandbox.kill_all()
        snapshot = await sandbox.snapshot(tmp_path / "state.tar")
        with tarfile.open(snapshot.path) as tar:
            names = tar.getnames()
        assert [name for name in names if "proctor-layers" in name] == []
        assert any(name.endswith("app/kept") for name in names)
        again = await start(base=snapshot, layers={"/proctor-layers/tool": tree})
        assert (await shell(again, "/proctor-layers/tool/bin/tool; cat /app/kept")).stdout == b"ran\nmine\n"

    async def test_services_are_had_or_refused(self, backend, start):
        assert (await start()).service("main").workdir
        with pytest.raises(UnsupportedByBackend):
            (await start()).service("db")
        if not backend.capabilities().services:
            with pytest.raises(UnsupportedByBackend) as refused:
                await start(services=(ServiceSpec(place=Place(name="db"), image="db"),))
            assert refused.value.where == "services"

    async def test_an_allowlist_is_held_or_refused(self, backend, start):
        if Network.ALLOWLIST not in backend.capabilities().networks:
            with pytest.raises(UnsupportedByBackend) as refused:
                await start(reach=Reach(network=Network.ALLOWLIST, hosts=("example.org",)))
            assert refused.value.where == "network"

    async def test_host_files_are_not_there(self, start, tmp_path):
        sandbox = await start()
        (tmp_path / "secret").write_text("host")
        result = await shell(sandbox, f"cat {tmp_path}/secret /etc/shadow /root/.ssh/* /home/*/.ssh/* 2>/dev/null")
        assert result.stdout == b""

    async def test_a_system_path_can_t_be_written(self, start):
        sandbox = await start()
        script = "for p in /usr/bin/x /bin/x /etc/passwd /etc/x /lib/x /dev/x; do echo x 2>/dev/null > $p; done"
        await shell(sandbox, f"({script}) 2>/dev/null; mv /bin /bin2; rm -rf /usr/bin/env; ln -sf /app /etc")
        assert (await shell(sandbox, "ls /usr/bin/x /bin/x /etc/x /dev/x 2>/dev/null; env true")).stdout == b""

    async def test_a_hard_link_to_a_system_file_is_refused(self, start):
        sandbox = await start()
        assert (await shell(sandbox, "ln /usr/bin/env /app/env")).exit_code != 0

    async def test_two_sandboxes_do_not_see_each_other(self, start):
        one, other = await start(), await start()
        await shell(one, "sleep 4242 & echo private > /tmp/private; exit 0")
        assert b"4242" not in (await shell(other, COMMANDS)).stdout
        assert await other.read("/tmp/private", 10) is None
        await shell(other, "kill -9 -1")
        assert b"4242" in (await shell(one, COMMANDS)).stdout

    async def test_a_spare_sandbox_does_not_know_the_host_s_processes(self, start):
        sandbox = await start()
        seen = (await shell(sandbox, "ls /proc | grep -c '^[0-9]'")).stdout
        assert int(seen) < 8

    async def test_a_limit_that_is_only_declared_is_no_error(self, backend, start):
        sandbox = await start(limits=replace(LIMITS, cpus=1.0))
        if backend.capabilities().limits[LimitKind.CPU] is Strength.ENFORCED:
            assert sandbox.strengths[LimitKind.CPU] is Strength.ENFORCED
