"""What every sandbox backend does. ``SandboxContract`` holds for all; ``RealSandboxContract`` where commands run, and
there also ``TransferContract`` and ``ConfinementContract``.

A backend's test module derives a class from them and gives it a ``backend`` fixture.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import tarfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psutil
import pytest

from proctor.sandboxes.errors import NothingThere, SandboxError, SandboxGone, TransferRefused, UnsupportedByBackend
from proctor.sandboxes.interfaces import (
    ExecRequest,
    ExecResult,
    Labels,
    LimitKind,
    Sandbox,
    SandboxBackend,
    SandboxSpec,
    TransferLimits,
)

Start = Callable[..., Awaitable[Sandbox]]


def labels(*, owner: str | None = None, expires_in: float = 3600) -> Labels:
    """Labels of a sandbox that this process owns."""
    own = f"{socket.gethostname()}:{os.getpid()}:{psutil.Process().create_time()}"
    expires_at = datetime.now(UTC) + timedelta(seconds=expires_in)
    return Labels(tenant=uuid4(), run_set=uuid4(), attempt=uuid4(), owner=owner or own, expires_at=expires_at)


async def shell(sandbox: Sandbox, script: str, **more: Any) -> ExecResult:
    """Run a shell script in the sandbox."""
    return await sandbox.exec(ExecRequest(argv=["sh", "-c", script], **more))


async def python(sandbox: Sandbox, program: str, **more: Any) -> ExecResult:
    """Run a Python program in the sandbox."""
    return await sandbox.exec(ExecRequest(argv=["python3", "-c", program], **more))


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 10) -> None:
    """Wait for a condition that is about to come true; fail when it doesn't."""
    deadline = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < deadline, "the awaited condition never came true"
        await asyncio.sleep(0.01)


async def nobody_is_live(_: Labels) -> bool:
    """For the reaper: no sandbox is in use."""
    return False


async def everybody_is_live(_: Labels) -> bool:
    """For the reaper: every sandbox is in use."""
    return True


class SandboxContract:
    """Holds for every backend, the fake included."""

    image: str | None = None
    """What sandboxes start from; ``None``: the host's userland."""
    time_unit_ns = 1
    """How finely times are kept."""
    unseen = ""
    """What a backend leaves out without a word, since it never sees it: a pipe (a), a socket (b), a device (c)."""
    keeps_holes = True
    """Whether a hole that is put is a hole inside too."""

    @pytest.fixture
    def backend(self) -> SandboxBackend:
        raise NotImplementedError

    @pytest.fixture
    async def start(self, backend: SandboxBackend) -> AsyncIterator[Start]:
        made: list[Sandbox] = []

        async def start(**fields: Any) -> Sandbox:
            fields.setdefault("labels", labels())
            fields.setdefault("image", self.image)
            made.append(await backend.create(SandboxSpec(**fields)))
            return made[-1]

        yield start
        for sandbox in made:
            await sandbox.destroy()

    async def test_capabilities_name_a_strength_for_every_limit(self, backend, start):
        assert set(backend.capabilities().limits) == set(LimitKind)
        assert set((await start()).strengths) == set(LimitKind)

    async def test_doctor_says_that_sandboxes_start_here(self, backend):
        assert all(check.ok for check in backend.doctor())

    async def test_without_an_image_nothing_is_pulled(self, backend):
        if self.image is not None:
            with pytest.raises(UnsupportedByBackend):
                await backend.pull(None)
        else:
            assert await backend.pull(None) == "host"

    async def test_a_command_that_succeeds(self, start):
        result = await (await start()).exec(ExecRequest(argv=["true"]))
        assert (result.exit_code, result.signal, result.limit, result.oom) == (0, None, None, False)

    async def test_an_unknown_user_is_refused_by_name(self, start):
        with pytest.raises(UnsupportedByBackend) as refused:
            await start(user="somebody")
        assert refused.value.where == "user"

    async def test_a_user_that_is_not_declared_is_refused(self, backend, start):
        for user in {"agent", "root"} - (backend.capabilities().users or {"agent", "root"}):
            with pytest.raises(UnsupportedByBackend):
                await start(user=user)

    @pytest.mark.parametrize("place", ["/usr/tool", "/proctor-layers", "/proctor-layers/a/b", "relative"])
    async def test_a_layer_has_its_place_and_is_a_folder(self, start, tmp_path, place):
        with pytest.raises(UnsupportedByBackend):
            await start(layers={place: tmp_path})
        with pytest.raises(UnsupportedByBackend) as refused:
            await start(layers={"/proctor-layers/tool": tmp_path / "nothing"})
        assert refused.value.where == "layers"

    async def test_files_come_back_as_they_were_put(self, start, tmp_path):
        sandbox = await start()
        tree = tmp_path / "in"
        (tree / "empty").mkdir(parents=True)
        (tree / "a.txt").write_bytes(b"hello")
        (tree / "run.sh").write_text("#!/bin/sh\n")
        (tree / "run.sh").chmod(0o755)
        (tree / "link").symlink_to("a.txt")
        await sandbox.put(tree, "/app/tree")
        await sandbox.get("/app/tree", tmp_path / "out")
        out = tmp_path / "out"
        assert (out / "a.txt").read_bytes() == b"hello"
        assert stat.S_IMODE((out / "run.sh").stat().st_mode) == 0o755
        assert os.readlink(out / "link") == "a.txt"
        assert list((out / "empty").iterdir()) == []

    async def test_one_file_is_put_by_its_new_name(self, start, tmp_path):
        sandbox = await start()
        (tmp_path / "source").write_bytes(b"content")
        await sandbox.put(tmp_path / "source", "/tests/deep/name")
        assert await sandbox.read("/tests/deep/name", 100) == b"content"

    async def test_read_is_capped_and_knows_what_is_not_there(self, start, tmp_path):
        sandbox = await start()
        (tmp_path / "f").write_bytes(b"0123456789")
        await sandbox.put(tmp_path / "f", "/app/f")
        assert await sandbox.read("/app/f", 4) == b"0123"
        assert await sandbox.read("/app/nothing", 4) is None
        assert await sandbox.read("/app/f/below", 4) is None

    async def test_read_refuses_a_symlink(self, start, tmp_path):
        sandbox = await start()
        (tmp_path / "link").symlink_to("/etc/passwd")
        await sandbox.put(tmp_path / "link", "/app/link")
        with pytest.raises(TransferRefused):
            await sandbox.read("/app/link", 10)

    async def test_get_never_writes_over_what_is_there(self, start, tmp_path):
        sandbox = await start()
        (tmp_path / "f").write_bytes(b"new")
        (tmp_path / "old").write_bytes(b"old")
        await sandbox.put(tmp_path / "f", "/app/f")
        with pytest.raises(TransferRefused):
            await sandbox.get("/app/f", tmp_path / "old")
        assert (tmp_path / "old").read_bytes() == b"old"

    async def test_get_tells_what_is_not_there_from_what_is_refused(self, start, tmp_path):
        sandbox = await start()
        for path in ("/app/nothing", "/nowhere/at/all"):
            with pytest.raises(NothingThere):
                await sandbox.get(path, tmp_path / "out")

    async def test_get_is_capped_by_entries_and_bytes(self, start, tmp_path):
        sandbox = await start()
        tree = tmp_path / "in"
        tree.mkdir()
        for number in range(5):
            (tree / str(number)).write_bytes(b"x" * 100)
        await sandbox.put(tree, "/app/tree")
        for limits in (TransferLimits(entries=3), TransferLimits(total_bytes=450), TransferLimits(file_bytes=99)):
            with pytest.raises(TransferRefused):
                await sandbox.get("/app/tree", tmp_path / "out", limits)
            assert not (tmp_path / "out").exists()

    async def test_a_new_sandbox_starts_from_a_snapshot(self, start, tmp_path):
        first = await start()
        (tmp_path / "f").write_bytes(b"kept")
        await first.put(tmp_path / "f", "/app/sub/f")
        kept = await first.snapshot(tmp_path / "state.tar")
        assert kept.size == kept.path.stat().st_size
        with tarfile.open(kept.path) as archive:
            assert "app/sub/f" in archive.getnames()
        second = await start(base=kept, restore_system=True)
        assert await second.read("/app/sub/f", 10) == b"kept"

    async def test_a_snapshot_is_capped_and_leaves_nothing_when_refused(self, start, tmp_path):
        sandbox = await start()
        (tmp_path / "f").write_bytes(b"x" * 1000)
        await sandbox.put(tmp_path / "f", "/app/f")
        with pytest.raises(TransferRefused):
            await sandbox.snapshot(tmp_path / "state.tar", TransferLimits(total_bytes=10))
        assert not (tmp_path / "state.tar").exists()

    async def test_destroy_can_be_repeated_and_ends_everything(self, start):
        sandbox = await start()
        await sandbox.destroy()
        await sandbox.destroy()
        with pytest.raises(SandboxGone):
            await sandbox.exec(ExecRequest(argv=["true"]))
        with pytest.raises(SandboxGone):
            await sandbox.read("/app/f", 1)

    async def test_ids_are_unique(self, start):
        assert (await start()).id != (await start()).id

    async def test_the_reaper_removes_what_outlived_its_expiry_and_nothing_else(self, backend, start):
        old, new = await start(labels=labels(expires_in=-1)), await start()
        assert await backend.reap(everybody_is_live) == 0
        assert await backend.reap(nobody_is_live) == 1
        with pytest.raises(SandboxGone):
            await old.exec(ExecRequest(argv=["true"]))
        assert (await new.exec(ExecRequest(argv=["true"]))).exit_code == 0
        assert await backend.reap(nobody_is_live) == 0


class RealSandboxContract(SandboxContract):
    """Holds where commands really run."""

    # --- commands -------------------------------------------------------------------------------------

    async def test_output_exit_code_and_signal(self, start):
        sandbox = await start()
        result = await shell(sandbox, "echo out; echo err >&2; exit 3")
        assert (result.exit_code, result.signal) == (3, None)
        assert (result.stdout, result.stderr) == (b"out\n", b"err\n")
        killed = await shell(sandbox, "kill -TERM $$")
        assert (killed.exit_code, killed.signal) == (None, 15)

    async def test_a_command_that_is_not_there(self, start):
        result = await (await start()).exec(ExecRequest(argv=["no-such-program"]))
        assert result.exit_code == 127
        assert b"no-such-program" in result.stderr

    async def test_standard_input(self, start):
        sandbox = await start()
        large = os.urandom(300_000)
        result = await sandbox.exec(ExecRequest(argv=["cat"], stdin=large))
        assert result.stdout == large
        assert (await sandbox.exec(ExecRequest(argv=["cat"]))).stdout == b""

    async def test_the_environment_is_the_spec_s_and_the_request_s_alone(self, start, monkeypatch):
        monkeypatch.setenv("HOST_SECRET", "leaked")
        sandbox = await start(env={"A": "spec", "B": "spec"})
        result = await sandbox.exec(ExecRequest(argv=["env"], env={"B": "request"}))
        seen = dict(line.split("=", 1) for line in result.stdout.decode().splitlines())
        assert (seen["A"], seen["B"]) == ("spec", "request")
        assert set(seen) <= {"A", "B", "PATH", "HOME", "USER", "LOGNAME", "LANG", "TERM"}

    async def test_the_working_directory(self, start):
        sandbox = await start(workdir="/srv/project")
        assert (await shell(sandbox, "pwd; touch here")).stdout == b"/srv/project\n"
        assert (await shell(sandbox, "pwd", cwd="/tmp")).stdout == b"/tmp\n"
        assert (await shell(sandbox, "pwd", cwd="/nowhere")).exit_code == 126

    async def test_an_argument_that_no_call_can_carry_is_told_at_once(self, start):
        sandbox = await start()
        for argv in (["a\0b"], []):
            with pytest.raises(SandboxError):
                await sandbox.exec(ExecRequest(argv=argv))

    async def test_a_large_environment_and_many_arguments(self, start):
        sandbox = await start()
        words = [str(number) for number in range(20_000)]
        result = await sandbox.exec(ExecRequest(argv=["echo", *words], env={"LARGE": "x" * 100_000}))
        assert result.stdout.split() == [word.encode() for word in words]

    async def test_output_is_kept_from_its_end_and_shown_from_its_beginning(self, start):
        sandbox = await start()
        shown = bytearray()
        result = await shell(
            sandbox,
            "yes 1234567 | head -c 3000000; echo end",
            output_limit=1000,
            on_output=lambda name, piece: shown.extend(piece),
        )
        assert len(result.stdout) == 1000
        assert result.stdout.endswith(b"end\n")
        assert result.truncated
        assert len(shown) == 1000
        assert shown.startswith(b"1234567\n")

    async def test_output_is_shown_while_the_command_runs(self, start):
        sandbox = await start()
        seen = asyncio.Event()
        running = asyncio.create_task(
            shell(sandbox, "echo first; cat /tmp/go; echo last", on_output=lambda *_: seen.set(), timeout_sec=20)
        )
        await asyncio.wait_for(seen.wait(), 10)
        result = await running
        assert result.stdout == b"first\nlast\n"

    async def test_a_timeout_keeps_what_was_said(self, start):
        sandbox = await start()
        result = await shell(sandbox, "echo said; sleep 100", timeout_sec=0.3)
        assert (result.exit_code, result.signal, result.limit) == (None, 9, LimitKind.WALL)
        assert result.stdout == b"said\n"
        assert 0.3 <= result.seconds < 10

    async def test_many_commands_at_once(self, start):
        sandbox = await start()
        results = await asyncio.gather(*(shell(sandbox, f"echo {n}; exit {n}") for n in range(30)))
        assert [result.exit_code for result in results] == list(range(30))
        assert [result.stdout for result in results] == [b"%d\n" % n for n in range(30)]

    async def test_a_cancelled_exec_leaves_nothing_running(self, start):
        sandbox = await start()
        running = asyncio.create_task(shell(sandbox, "echo up > /tmp/up; sleep 1000"))
        await until(lambda: _there(sandbox, "/tmp/up"))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert b"sleep" not in (await shell(sandbox, COMMANDS)).stdout

    # --- sessions and processes -----------------------------------------------------------------------

    async def test_an_exec_ends_although_its_child_lives_on(self, start):
        sandbox = await start()
        result = await shell(sandbox, "sleep 1000 & echo started", timeout_sec=20)
        assert (result.exit_code, result.stdout) == (0, b"started\n")
        assert b"sleep" in (await shell(sandbox, COMMANDS)).stdout

    async def test_kill_session_takes_its_processes_and_leaves_detached_services(self, start):
        sandbox = await start()
        await shell(sandbox, "sleep 1111 & setsid sleep 2222 & exit 0", session="agent")
        await shell(sandbox, "sleep 3333 & exit 0", session="other")
        await until(lambda: _runs(sandbox, b"2222"))
        await sandbox.kill_session("agent")
        left = (await shell(sandbox, COMMANDS)).stdout
        assert b"1111" not in left
        assert b"2222" in left
        assert b"3333" in left

    async def test_kill_session_ends_the_exec_that_waits(self, start):
        sandbox = await start()
        running = asyncio.create_task(shell(sandbox, "echo up > /tmp/up; sleep 1000", session="agent"))
        await until(lambda: _there(sandbox, "/tmp/up"))
        await sandbox.kill_session("agent")
        assert (await running).signal == 9

    async def test_kill_all_leaves_nothing_but_a_sandbox_that_works(self, start):
        sandbox = await start()
        await shell(sandbox, "for i in 1 2 3 4 5; do setsid sleep 1000 & done; exit 0")
        await sandbox.kill_all()
        assert b"sleep" not in (await shell(sandbox, COMMANDS)).stdout

    async def test_a_background_writer_does_not_outlive_the_end(self, start, tmp_path):
        sandbox = await start()
        await shell(sandbox, "setsid sh -c 'while :; do echo x >> /app/log; done' & exit 0")
        await until(lambda: _there(sandbox, "/app/log"))
        await sandbox.kill_all()
        size = len(await sandbox.read("/app/log", 1 << 30) or b"")
        kept = await sandbox.snapshot(tmp_path / "state.tar")
        with tarfile.open(kept.path) as archive:
            assert archive.getmember("app/log").size == size

    async def test_what_runs_is_counted_from_outside(self, start):
        sandbox = await start()
        await shell(sandbox, "true")
        assert await sandbox.processes() == 0
        await shell(sandbox, "setsid sleep 1000 & exit 0")
        assert await sandbox.processes() == 1
        await sandbox.kill_all()
        assert await sandbox.processes() == 0

    async def test_a_snapshot_is_refused_while_something_runs(self, start, tmp_path):
        sandbox = await start()
        await shell(sandbox, "sleep 1000 & exit 0")
        with pytest.raises(SandboxError):
            await sandbox.snapshot(tmp_path / "state.tar")


LIMITS = SandboxSpec(labels=labels()).limits
COMMANDS = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
FORK_BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


async def _there(sandbox: Sandbox, path: str) -> bool:
    return bool(await sandbox.read(path, 1))


async def _runs(sandbox: Sandbox, word: bytes) -> bool:
    return word in (await shell(sandbox, COMMANDS)).stdout.replace(COMMANDS.encode(), b"")
