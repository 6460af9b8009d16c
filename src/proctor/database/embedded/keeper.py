"""The process above the embedded server: it starts the server, and stops it when no client is left.

Run as a script by ``server.py`` with one JSON argument, and with the standard library alone (``python -I -S``), so
that it weighs a few megabytes. It exists because a client that is killed can stop nothing: somebody must outlive it.

Three facts are held as kernel locks, which no crash leaves behind:

- ``lock``: somebody starts or stops the server. The keeper takes it before it decides that nobody is left.
- ``keeper.lock``: a keeper lives. It names its pid, start time and place (boot and pid namespace).
- ``server.lock``: handed to the server and inherited by all its processes, so it is free only when the last one
  of them has ended. Whoever holds it knows that a ``postmaster.pid`` found in the folder is stale.

If the keeper itself is killed, the kernel sends the server SIGINT (its fast shutdown): nothing runs unwatched.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import sys
import time
import zlib

__all__ = ["Keeper", "entry_name", "live_clients", "main", "place", "started"]

POLL_SEC: float = 1.0
"""How often the clients are looked at: well under the time a person waits for a prompt to come back."""
EMPTY_POLLS: int = 3
"""Polls without a client before the server stops; a quick second command finds it still warm after a kill."""
FAST_STOP_SEC: float = 60.0
"""A fast shutdown writes one checkpoint; after this long the rest is left to the write-ahead log."""
CRASHES: int = 5
"""Restarts for living clients after a crash; more than this is a fault that a restart does not cure."""
CRASH_MEMORY_SEC: float = 300.0
"""A server that ran this long had recovered from whatever ended the one before."""
LOG_BYTES: int = 8 * 1024 * 1024
"""The log's cap: as much again is kept in ``server.log.1``."""
PORT: int = 5432
PR_SET_PDEATHSIG: int = 1

_ENTRY = re.compile(r"(\d+)-(\d+)-([0-9a-f]{8})-[0-9a-f]+")


def started(pid: int) -> int | None:
    """The process's start in clock ticks since boot; None for no such process, or one that is only a zombie."""
    try:
        state, start = _state_and_start(pid)
    except OSError:
        return None
    return None if state in "ZX" else start


def _state_and_start(pid: int) -> tuple[str, int]:
    """Of a process or a zombie (proc_pid_stat(5)); ``OSError`` where there is neither."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return fields[0], int(fields[19])


def place(folder: str) -> str:
    """Where names in a folder hold: this boot of this machine, this pid namespace, this path (and in no copy of it)."""
    path = zlib.crc32(os.fsencode(os.path.realpath(folder)))
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{file.read().strip()}/{os.readlink('/proc/self/ns/pid')}/{path:08x}"


def entry_name(folder: str, pid: int, word: str) -> str:
    """How a client is entered: pid, start time, the place where these hold, and a word of its own."""
    return f"{pid}-{started(pid)}-{_here(folder)}-{word}"


def _here(folder: str) -> str:
    return f"{zlib.crc32(place(folder).encode()):08x}"


def live_clients(folder: str) -> list[int]:
    """The pids of living clients; entries of dead processes, and of pids that were reused, are removed.

    Entries of another place are not ours to judge: they are passed over.
    """
    alive, here = [], _here(folder)
    clients = os.path.join(folder, "clients")
    try:
        names = os.listdir(clients)
    except FileNotFoundError:
        return []
    for name in names:
        entry = _ENTRY.fullmatch(name)
        if entry is None or entry[3] != here:
            continue
        if started(int(entry[1])) == int(entry[2]):
            alive.append(int(entry[1]))
        else:
            _remove(os.path.join(clients, name))
    return sorted(alive)


def _remove(path: str, dir_fd: int | None = None) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path, dir_fd=dir_fd)


class Keeper:
    """One server of one data folder, from its start to its end."""

    def __init__(self, plan: dict[str, object]) -> None:
        """``plan``: folder, command (without ``-D``), socket folder, and uid and gid to become (or null)."""
        self.folder = str(plan["folder"])
        self.command = [str(word) for word in plan["command"]]  # type: ignore[attr-defined]
        self.sockets = str(plan["sockets"])
        self.uid, self.gid = plan["uid"], plan["gid"]
        self.data = os.open(os.path.join(self.folder, "data"), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        log = os.path.join(self.folder, "server.log")
        self.log = os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self.pid = 0
        self.was_ready = False

    def run(self) -> None:
        """Keep the server up while clients live; return when it has ended for good."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD})
        crashes = 0
        while crashes < CRASHES:
            lock = self._server_lock()
            if lock is None or not self._clear_stale_files():
                break
            self.was_ready, since = False, time.monotonic()
            self.pid = self._launch(lock)
            os.close(lock)
            if self._watch() or not self.was_ready or not live_clients(self.folder):
                break
            crashes = 1 if time.monotonic() - since > CRASH_MEMORY_SEC else crashes + 1
            self._say("the server ended by itself; starting it again for the clients that live")
        with contextlib.suppress(OSError):
            os.rmdir(self.sockets)

    def _server_lock(self) -> int | None:
        """The lock that proves that no process of an earlier server lives; None when told to stop meanwhile."""
        lock = os.open(os.path.join(self.folder, "server.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                if signal.sigtimedwait({signal.SIGTERM, signal.SIGINT}, 0.05):
                    os.close(lock)
                    return None

    def _clear_stale_files(self) -> bool:
        """Remove what a killed server left; a server that somebody started by hand is left alone (False)."""
        pid = self._postmaster_file()[0]
        if pid.isdigit() and self._works_in_data(int(pid)):
            self._say(f"a PostgreSQL server that Proctor did not start (pid {pid}) uses this data folder")
            return False
        _remove("postmaster.pid", dir_fd=self.data)
        for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
            _remove(os.path.join(self.sockets, name))
        return True

    def _works_in_data(self, pid: int) -> bool:
        try:
            return os.path.samestat(os.stat(f"/proc/{pid}/cwd"), os.fstat(self.data))
        except OSError:
            return False

    def _postmaster_file(self) -> list[str]:
        """The lines of ``postmaster.pid``: the first is its pid, the eighth says whether it is ready."""
        try:
            file = os.open("postmaster.pid", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self.data)
        except OSError:
            return [""]
        with open(file, encoding="utf-8", errors="replace") as text:
            return text.read(4096).split("\n")

    def _is_ready(self) -> bool:
        lines = self._postmaster_file()
        return lines[0] == str(self.pid) and "ready" in "".join(lines[7:8])

    def _launch(self, lock: int) -> int:
        keeper = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                self._become_server(keeper, lock)
            except Exception as error:  # noqa: BLE001  # said in the log; must not unwind here
                self._say(f"the server could not be run: {error}")
            finally:
                os._exit(127)
        return pid

    def _become_server(self, keeper: int, lock: int) -> None:
        """In the child: drop every privilege, tie our life to the keeper's, become PostgreSQL."""
        import ctypes  # only in the child, and while root can still read the interpreter's files

        libc = ctypes.CDLL(None)
        data = os.path.join(self.folder, "data")
        os.set_inheritable(lock, True)
        if self.uid is not None:
            # Folders above may be closed to that user; a descriptor opened by root reaches the data all the same.
            os.set_inheritable(self.data, True)
            data = f"/proc/self/fd/{self.data}"
            os.setgroups([])
            os.setgid(int(str(self.gid)))
            os.setuid(int(str(self.uid)))
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
        if os.getppid() != keeper:
            return  # it died before the kernel knew whom to tell
        os.chdir("/")
        os.umask(0o077)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        os.execve(self.command[0], [*self.command, "-D", data], {"LC_ALL": "C", "TZ": "UTC"})  # noqa: S606  # no shell is wanted

    def _watch(self) -> bool:
        """Until the server ends. True: on purpose. False: by itself."""
        empty = 0
        while True:
            told = signal.sigtimedwait({signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}, POLL_SEC)
            if told and told.si_signo != signal.SIGCHLD:
                return self._stop()
            ended = os.waitpid(self.pid, os.WNOHANG)[0]
            self.was_ready = self.was_ready or self._is_ready()  # a killed server leaves its file, with its last word
            if ended:
                return False
            self._cap_log()
            empty = 0 if live_clients(self.folder) else empty + 1
            if empty >= EMPTY_POLLS and self._nobody_is_coming():
                return self._stop()

    def _nobody_is_coming(self) -> bool:
        """Whether there is no client and none can appear: the lock, once held, is kept until this process ends."""
        try:
            lock = os.open(os.path.join(self.folder, "lock"), os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            return True  # the whole folder was removed
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        if live_clients(self.folder):
            os.close(lock)
            return False
        return True

    def _stop(self) -> bool:
        for number, patience in ((signal.SIGINT, FAST_STOP_SEC), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0)):
            os.kill(self.pid, number)
            if self._ended_within(patience):
                break
        return True

    def _ended_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return True
            signal.sigtimedwait({signal.SIGCHLD}, min(left, 0.2))
        return False

    def _cap_log(self) -> None:
        """Copy and cut: the server keeps its descriptor, which appends, so no line is lost but those in between."""
        if os.fstat(self.log).st_size <= LOG_BYTES:
            return
        try:
            older = os.open(os.path.join(self.folder, "server.log.1"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            offset = 0
            while chunk := os.pread(self.log, 1 << 16, offset):
                offset += os.write(older, chunk)
            os.close(older)
        except OSError:
            pass  # a full disk is the very moment when the log has to shrink
        os.ftruncate(self.log, 0)

    def _say(self, message: str) -> None:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        os.write(self.log, f"{stamp} [keeper {os.getpid()}] FATAL:  {message}\n".encode())


def main(argument: str) -> int:
    """Become a keeper in the background; when this returns 0, a keeper of the folder lives and is named."""
    plan = json.loads(argument)
    path = os.path.join(plan["folder"], "keeper.lock")
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    keeper = Keeper(plan)
    pid = os.fork()
    if pid:
        start = _state_and_start(pid)[1]  # also of one whose server was refused at once: a zombie until we end
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{pid} {start} {place(plan['folder'])}\n".encode(), 0)
        return 0
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(keeper.log, 1)
    os.dup2(keeper.log, 2)
    os.chdir("/")
    keeper.run()
    return 0


if __name__ == "__main__":
    os._exit(main(sys.argv[1]))
