# mypy: ignore-errors
"""The resident first process of a local sandbox: forks every exec, waits for it, says how it ended.

This file is not imported by Proctor. Its text is run by the sandbox's own interpreter (``-I -S -E``), which
is why it uses nothing but built-in modules: starting is what most sandboxes spend their time on.

It is process 1 of its pid namespace, so no signal from within reaches it unless it handles it, and not
dumpable, so that a program of the same user can neither trace it nor open its memory or its descriptors.
The control socket closes on exec. Each exec's ending comes from ``wait``; nothing else can produce one.

Messages, one per packet (sizes are fixed): see ``channel.py`` for the host's side.
"""

import _ctypes
import _signal
import _socket
import _struct
import errno
import posix
import resource
import select
import sys

EXEC, KILL_EXEC, KILL_SESSION, KILL_ALL = 1, 2, 3, 4
HELLO, DONE, FAILED, KILLED = 1, 2, 3, 4
MESSAGE = _struct.Struct("<BIi")
PR_SET_DUMPABLE = 4
NICE = 10  # below the keeper, so that no crowd of processes starves it, and below Proctor itself
MANY = 150  # entries of /proc: some 60 are not processes

control_fd, no_file, processes, file_size = map(int, sys.argv[1:5])
control = _socket.socket(fileno=control_fd)
running = {}  # pid of an exec's first process (also its session) -> number of the exec
execs = {}  # number of an exec -> pid
sessions = {}  # number of a named session -> the kernel sessions of its execs


class _Int(_ctypes._SimpleCData):
    _type_ = "i"


class _Function(_ctypes.CFuncPtr):
    _flags_ = 1
    _restype_ = _Int


def shut_out_same_user():
    prctl = _Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl"))
    if prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        posix._exit(70)


def answer(kind, number, value=0):
    control.send(MESSAGE.pack(kind, number, value))


def read_all(fd):
    pieces, offset = [], 0
    while piece := posix.pread(fd, 1 << 20, offset):
        pieces.append(piece)
        offset += len(piece)
    return b"".join(pieces)


def start(number, session, fds):
    fields = read_all(fds[0]).split(b"\0")
    count = int(fields[0])
    directory, argv, env = fields[1], fields[2 : 2 + count], fields[2 + count : -1]
    try:
        pid = posix.fork()
    except OSError as error:
        answer(FAILED, number, error.errno)
        return
    if pid == 0:
        become(argv, dict(entry.split(b"=", 1) for entry in env), directory, fds[1:])
    running[pid] = number
    execs[number] = pid
    forget_ended(pid)
    sessions.setdefault(session, set()).add(pid)


def become(argv, env, directory, streams):
    try:
        posix.setsid()
        if len(streams) == 2:
            streams.insert(0, posix.open("/dev/null", posix.O_RDONLY))
        # Above 2 first: a stream's own number may be 0, 1 or 2.
        for target, fd in enumerate([posix.dup(fd) for fd in streams]):
            posix.dup2(fd, target, inheritable=True)
        for ignored in (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT, _signal.SIGCHLD):
            _signal.signal(ignored, _signal.SIG_DFL)
        posix.umask(0o022)
        posix.nice(NICE)
        limit(resource.RLIMIT_CORE, 0)
        limit(resource.RLIMIT_NOFILE, no_file)
        limit(resource.RLIMIT_FSIZE, file_size)
        limit(resource.RLIMIT_NPROC, processes)
        posix.chdir(directory)
        run(argv, env)
    except BaseException as error:  # noqa: BLE001 - a fork must never return into the keeper's loop
        posix.write(2, b"%s: %s\n" % (argv[0] if argv else b"exec", str(error).encode()))
    posix._exit(126)


def limit(kind, value):
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def run(argv, env):
    program = argv[0]
    folders = [b""] if b"/" in program else env.get(b"PATH", b"/usr/bin:/bin").split(b":")
    code = 127
    for folder in folders:
        try:
            posix.execve(folder + b"/" + program if folder else program, argv, env)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                code = 126
            reason = error.strerror
    posix.write(2, b"%s: %s\n" % (program, reason.encode()))
    posix._exit(code)


def reap(flags=posix.WNOHANG):
    try:
        while True:
            pid, status = posix.waitpid(-1, flags)
            if pid == 0:
                return True
            number = running.pop(pid, None)
            if number is not None:
                del execs[number]
                answer(DONE, number, status)
    except ChildProcessError:
        return False


def members(wanted):
    for name in posix.listdir("/proc"):
        if not name.isdigit() or name == "1":
            continue
        try:
            fd = posix.open("/proc/" + name + "/stat", posix.O_RDONLY | posix.O_CLOEXEC)
        except OSError:
            continue
        try:
            state, _, _, session = posix.read(fd, 1024).rpartition(b")")[2].split(None, 4)[:4]
        except (OSError, ValueError):
            continue
        finally:
            posix.close(fd)
        if int(session) in wanted and state not in (b"Z", b"X"):
            yield int(name)


def signal_all(pids, number):
    for pid in pids:
        try:  # noqa: SIM105 - contextlib would cost a start its import
            posix.kill(pid, number)
        except OSError:
            pass


def kill_sessions(wanted):
    """Kill them; with many processes the whole sandbox is held still meanwhile.

    A signal to all (-1) is atomic: the kernel lets no fork slip through between. A fork bomb leaves the
    keeper a thousandth of a processor, enough for that one call, after which it has all the time it needs.
    """
    while True:
        held = len(posix.listdir("/proc")) > MANY
        if held:
            signal_all([-1], _signal.SIGSTOP)
        left = list(members(wanted))
        signal_all(left, _signal.SIGKILL)
        if held:
            signal_all([-1], _signal.SIGCONT)
        reap()
        if not left:
            return
        posix.sched_yield()


def kill_all():
    while True:
        signal_all([-1], _signal.SIGKILL)
        if not reap(0):
            return


def forget_ended(new):
    """A number may be used again once its session is empty; it must not stand for the old name."""
    for known in sessions.values():
        known.discard(new)


def take():
    data, ancillary, _, _ = control.recvmsg(64, 64, _socket.MSG_CMSG_CLOEXEC)
    if not data:
        posix._exit(0)
    fds = [fd for _, _, raw in ancillary for (fd,) in _struct.iter_unpack("i", raw)]
    try:
        obey(*MESSAGE.unpack(data), fds)
    finally:
        for fd in fds:
            posix.close(fd)


def obey(kind, number, value, fds):
    if kind == EXEC:
        start(number, value, fds)
        return
    if kind == KILL_EXEC:
        kill_sessions({execs[value]} if value in execs else set())
    elif kind == KILL_SESSION:
        kill_sessions(sessions.pop(value, set()))
    elif kind == KILL_ALL:
        kill_all()
        sessions.clear()
    answer(KILLED, number)


def main():
    shut_out_same_user()
    posix.closerange(3, control_fd)
    posix.closerange(control_fd + 1, 1024)
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    woken, wake = posix.pipe2(posix.O_NONBLOCK | posix.O_CLOEXEC)
    posix.set_inheritable(control_fd, False)
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    _signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    poller = select.poll()
    poller.register(control_fd, select.POLLIN)
    poller.register(woken, select.POLLIN)
    answer(HELLO, 0)
    while True:
        for fd, _ in poller.poll():
            if fd == woken:
                posix.read(woken, 4096)
                reap()
            else:
                take()


main()
