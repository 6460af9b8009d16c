"""What a hostile program inside a local sandbox tries, and what becomes of it."""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from proctor.sandboxes.errors import ExecChannelError, SandboxError, SandboxGone
from proctor.sandboxes.interfaces import ExecRequest, SandboxSpec
from proctor.sandboxes.local import LocalBackend
from proctor.sandboxes.local.meters import descendants
from tests.contracts.sandboxes import FORK_BOMB, labels, python, shell, until
from tests.integration.test_sandbox_local import sandbox_root  # noqa: F401 - a fixture

pytestmark = pytest.mark.sandboxes


@pytest.fixture
def backend(sandbox_root):  # noqa: F811
    return LocalBackend(sandbox_root)


@pytest.fixture
async def sandbox(backend):
    made = await backend.create(SandboxSpec(labels=labels()))
    yield made
    await made.destroy()


def call(number: int, *arguments: int) -> str:
    """A Python program that makes one system call and prints its error number."""
    words = ", ".join(map(str, (number, *arguments)))
    return (
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"result = libc.syscall({words})\n"
        "print(ctypes.get_errno() if result < 0 else 'allowed')\n"
    )


# --- the keeper -------------------------------------------------------------------------------------------


async def test_killing_the_keeper_does_nothing(sandbox):
    numbers = [n for n in range(1, 65) if n not in (32, 33)]
    program = f"import os\nfor n in {numbers}:\n  os.kill(1, n)\n"
    assert (await python(sandbox, program)).exit_code == 0
    assert (await shell(sandbox, "echo alive")).stdout == b"alive\n"


async def test_the_keeper_s_memory_descriptors_and_environment_are_closed(sandbox):
    for path in ("mem", "environ", "fd/3", "exe", "root/etc/passwd", "cwd", "maps", "syscall", "auxv"):
        result = await shell(sandbox, f"head -c 1 /proc/1/{path}")
        assert result.exit_code != 0, path
        assert result.stdout == b""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="system-call numbers of x86_64")
@pytest.mark.parametrize(
    ("name", "number", "arguments", "expected"),
    [
        ("ptrace", 101, (16, 1, 0, 0), b"1"),
        ("process_vm_readv", 310, (1, 0, 0, 0, 0, 0), b"1"),
        ("pidfd_getfd", 438, (0, 0, 0), b"1"),
        ("unshare a user namespace", 272, (0x10000000,), b"1"),
        ("clone a user namespace", 56, (0x10000000 | 17, 0, 0, 0, 0), b"1"),
        ("clone3", 435, (0, 0), b"38"),
        ("setns", 308, (0, 0), b"1"),
        ("mount", 165, (0, 0, 0, 0, 0), b"1"),
        ("umount2", 166, (0, 0), b"1"),
        ("pivot_root", 155, (0, 0), b"1"),
        ("fsopen", 430, (0, 0), b"1"),
        ("keyctl", 250, (0, 0, 0, 0, 0), b"1"),
        ("add_key", 248, (0, 0, 0, 0, 0), b"1"),
        ("bpf", 321, (0, 0, 0), b"1"),
        ("perf_event_open", 298, (0, 0, 0, 0, 0), b"1"),
        ("userfaultfd", 323, (0,), b"1"),
        ("io_uring_setup", 425, (1, 0), b"1"),
        ("open_by_handle_at", 304, (0, 0, 0), b"1"),
        ("kexec_load", 246, (0, 0, 0, 0), b"1"),
        ("finit_module", 313, (0, 0, 0), b"1"),
        ("swapon", 167, (0, 0), b"1"),
        ("reboot", 169, (0, 0, 0, 0), b"1"),
        ("clock_settime", 227, (0, 0), b"1"),
        ("socket of AF_VSOCK", 41, (40, 1, 0), b"97"),
        ("socket of AF_ALG", 41, (38, 5, 0), b"97"),
        ("socket of AF_PACKET", 41, (17, 3, 0), b"97"),
        ("netfilter netlink", 41, (16, 3, 12), b"97"),
        ("an x32 call", 0x40000000 | 39, (), b"38"),
        ("TIOCSTI", 16, (0, 0x5412, 0), b"1"),
        ("TIOCSTI with a high word", 16, (0, 0x100005412, 0), b"1"),
        ("TIOCLINUX", 16, (0, 0x541C, 0), b"1"),
    ],
)
async def test_a_dangerous_system_call_is_refused(sandbox, name, number, arguments, expected):
    arguments = tuple(f"ctypes.c_long({argument})" for argument in arguments)
    result = await python(sandbox, call(f"ctypes.c_long({number})", *arguments))
    assert result.stdout.strip() == expected, name


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="machine code of x86_64")
async def test_a_call_through_the_32_bit_gate_kills(sandbox):
    program = (
        "import ctypes, mmap\n"
        "page = mmap.mmap(-1, 4096, prot=7)\n"
        r"page.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')" + "\n"  # mov eax, 20 (getpid); int 0x80; ret
        "address = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "print('allowed', ctypes.CFUNCTYPE(ctypes.c_int)(address)())\n"
    )
    result = await python(sandbox, program)
    assert result.signal in (signal.SIGSYS, signal.SIGSEGV)
    assert b"allowed" not in result.stdout


async def test_terminal_injection_is_refused_on_a_real_terminal(sandbox):
    program = (
        "import fcntl, os, pty, termios\n"
        "pid, fd = pty.fork()\n"
        "if pid == 0:\n"
        "    try:\n"
        "        fcntl.ioctl(0, termios.TIOCSTI, b'x')\n"
        "    except OSError as error:\n"
        "        os._exit(error.errno)\n"
        "    os._exit(0)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert (await python(sandbox, program)).stdout == b"1\n"


async def test_no_descriptor_but_the_three_streams_reaches_a_command(sandbox):
    program = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
    assert (await python(sandbox, program)).stdout == b"[0, 1, 2, 3]\n"  # 3: the listing itself


async def test_an_exec_s_result_can_t_be_forged(sandbox):
    """A background program shouts packets of the keeper's form into everything it can write to."""
    packet = struct.pack("<BIi", 2, 2, 0)
    shout = (
        "import glob, os\n"
        "while True:\n"
        "    for path in glob.glob('/proc/*/fd/*'):\n"
        "        try:\n"
        "            fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)\n"
        f"            os.write(fd, {packet!r})\n"
        "            os.close(fd)\n"
        "        except OSError:\n"
        "            pass\n"
    )
    await sandbox.exec(ExecRequest(argv=["sh", "-c", 'setsid python3 -c "$0" >/dev/null 2>&1 &', shout]))
    for code in range(10):
        assert (await shell(sandbox, f"exit {code}")).exit_code == code


async def test_garbage_from_the_keeper_is_a_broken_channel(sandbox):
    """Even a keeper that was taken over can only lose its sandbox: what it says is parsed as hostile."""
    running = asyncio.create_task(shell(sandbox, "sleep 1000"))
    await until(lambda: _sleeping(sandbox))
    sandbox._channel._dispatch(77, 1, 1)
    sandbox._channel._dispatch(2, 4_000_000_000, 0)
    assert not running.done()
    sandbox._channel._broken()
    with pytest.raises(ExecChannelError):
        await running
    with pytest.raises((ExecChannelError, SandboxGone)):
        await shell(sandbox, "true")


async def test_a_dead_keeper_is_an_infrastructure_error(sandbox):
    running = asyncio.create_task(shell(sandbox, "sleep 1000"))
    await until(lambda: _sleeping(sandbox))
    os.kill(sandbox.keeper_pid, signal.SIGKILL)
    with pytest.raises(ExecChannelError):
        await running


# --- /proc, mounts, privileges ----------------------------------------------------------------------------


async def test_proc_is_read_only_and_knows_no_host_process(sandbox):
    script = "echo 0 > /proc/self/oom_score_adj; echo x > /proc/sys/kernel/hostname; echo b > /proc/sysrq-trigger"
    result = await shell(sandbox, script)
    assert result.exit_code != 0
    assert result.stderr.count(b"annot create") + result.stderr.count(b"ermission") >= 1
    pids = (await shell(sandbox, "ls /proc | grep '^[0-9]'")).stdout.split()
    assert max(map(int, pids)) < 100


async def test_the_interpreter_can_t_be_overwritten_through_proc(sandbox):
    for path in ("/proc/self/exe", "/proc/1/exe", "/usr/bin/python3", "/bin/sh"):
        assert (await shell(sandbox, f"echo x > {path}")).exit_code != 0


async def test_set_uid_programs_gain_nothing(sandbox):
    result = await shell(sandbox, "grep -E 'NoNewPrivs|Cap(Eff|Prm|Bnd)' /proc/self/status; su -c id; sudo id; id -u")
    lines = dict(line.split(b":\t") for line in result.stdout.splitlines() if b":\t" in line)
    assert lines[b"NoNewPrivs"] == b"1"
    assert {int(lines[b"Cap" + kind], 16) for kind in (b"Eff", b"Prm", b"Bnd")} == {0}
    assert result.stdout.splitlines()[-1] == b"1000"


async def test_nested_user_namespaces_are_refused(sandbox):
    assert (await shell(sandbox, "unshare -U true")).exit_code != 0


async def test_system_mounts_can_t_be_moved_away(sandbox):
    for name in ("usr", "bin", "etc", "proc", "dev", "lib"):
        assert (await shell(sandbox, f"mv /{name} /{name}.old")).exit_code != 0
        assert (await shell(sandbox, f"mount --bind /tmp /{name}")).exit_code != 0


async def test_shared_memory_is_small_and_dev_is_closed(sandbox):
    result = await shell(sandbox, "head -c 100000000 /dev/zero > /dev/shm/x; stat -c %s /dev/shm/x")
    assert int(result.stdout) <= 64 * 1024**2
    assert (await shell(sandbox, "mknod /dev/sda b 8 0 || touch /dev/x")).exit_code != 0


async def test_sandboxes_run_as_host_users_of_their_own(backend, sandbox):
    other = await backend.create(SandboxSpec(labels=labels()))
    try:
        uids = [psutil.Process(box.keeper_pid).uids().real for box in (sandbox, other)]
        if os.geteuid() == 0:
            assert min(uids) > 1_000_000
            assert uids[0] != uids[1]
        else:
            assert set(uids) == {os.geteuid()}
    finally:
        await other.destroy()


# --- processes --------------------------------------------------------------------------------------------


async def test_a_session_that_forks_without_end_is_killed(backend):
    box = await backend.create(SandboxSpec(labels=labels()))
    try:
        bomb = asyncio.create_task(python(box, FORK_BOMB, session="bomb"))
        await until(lambda: _many(box))
        await box.kill_session("bomb")
        assert (await bomb).signal == signal.SIGKILL
        assert descendants(box.keeper_pid) == []
    finally:
        await box.destroy()


async def test_destroy_leaves_no_process_folder_or_control_group(backend, sandbox_root):  # noqa: F811
    box = await backend.create(SandboxSpec(labels=labels()))
    await shell(box, "for i in 1 2 3; do setsid sleep 1000 & done; chmod 000 /app; exit 0")
    tree = [psutil.Process(pid) for pid in [box.keeper_pid, *descendants(box.keeper_pid)]]
    await box.destroy()
    assert not [process for process in tree if process.is_running()]
    assert not list(sandbox_root.glob("pl-*"))
    assert not list(Path("/sys/fs/cgroup").glob(f"*/proctor-sandboxes/{box.id}"))


async def test_nothing_leaks_over_many_sandboxes(backend):
    async def life() -> None:
        box = await backend.create(SandboxSpec(labels=labels()))
        await shell(box, "echo x; sleep 0.01 & exit 0")
        await box.destroy()

    await life()
    before = len(os.listdir("/proc/self/fd"))
    await asyncio.gather(*(life() for _ in range(24)))
    assert len(os.listdir("/proc/self/fd")) == before
    assert len(asyncio.all_tasks()) == 1


HOST = """
import asyncio, sys
from pathlib import Path
from proctor.sandboxes.local import LocalBackend
from proctor.sandboxes.interfaces import ExecRequest, SandboxSpec
from tests.contracts.sandboxes import labels

async def main():
    backend = LocalBackend(Path(sys.argv[1]))
    box = await backend.create(SandboxSpec(labels=labels()))
    await box.exec(ExecRequest(argv=["sh", "-c", "for i in 1 2 3; do setsid sleep 1000 & done; exit 0"]))
    print(box.keeper_pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_kill_9_of_the_host_leaves_no_process_and_the_reaper_the_rest(backend, sandbox_root):  # noqa: F811
    import proctor

    source = str(Path(proctor.__file__).parents[1])
    top = str(Path(__file__).parents[2])
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(sandbox_root)],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": ":".join([source, top, *sys.path])},
    )
    with host:
        keeper = int(host.stdout.readline())
        tree = [psutil.Process(pid) for pid in [keeper, *descendants(keeper)]]
        assert len(tree) == 4
        host.kill()
    await until(lambda: _all_ended(tree))
    assert len(list(sandbox_root.glob("pl-*"))) == 1

    async def nobody(_: object) -> bool:
        return False

    assert await backend.reap(nobody) == 1
    assert not list(sandbox_root.glob("pl-*"))


async def test_commands_after_the_end_are_refused(backend):
    box = await backend.create(SandboxSpec(labels=labels()))
    running = asyncio.create_task(shell(box, "sleep 1000"))
    await until(lambda: _sleeping(box))
    await box.destroy()
    with pytest.raises(SandboxError):
        await running


async def _sleeping(box) -> bool:
    return len(descendants(box.keeper_pid)) > 0


async def _many(box) -> bool:
    return len(descendants(box.keeper_pid)) > 200


async def _all_ended(tree) -> bool:
    return not any(process.is_running() for process in tree)
