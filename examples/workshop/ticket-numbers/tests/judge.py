"""Runs /app/next.sh on folders made here: many at once, with hooks that hold it up, and killed in the middle."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import CLEAN, score

SLOW = "#!/bin/bash\ntouch .began.$1\nsleep {}\necho done $1\n"


def start(folder, cwd="/"):
    command = ["bash", "/app/next.sh", str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(command, **pipes, text=True, cwd=cwd, env=CLEAN, start_new_session=True)


def ended(call, seconds=8):
    """Its exit code and what it printed. Whoever does not end in time is killed."""
    try:
        told, _ = call.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        killed(call)
        return None, ""
    return call.returncode, told


def killed(call):
    os.killpg(call.pid, signal.SIGKILL)
    call.communicate(timeout=5)


@contextmanager
def place(counter=None, hook=None, name="tickets"):
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above) / name
        folder.mkdir()
        if counter is not None:
            (folder / "counter").write_text(counter)
        if hook is not None:
            (folder / "hook").write_text(hook)
            (folder / "hook").chmod(0o755)
        yield folder


def shown(folder):
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


def until(path):
    limit = time.monotonic() + 5
    while not path.exists() and time.monotonic() < limit:
        time.sleep(0.01)
    return path.exists()


def one_after_the_other():
    with place() as folder:
        got = [ended(start(folder)) for _ in range(3)]
        return got == [(0, "1\n"), (0, "2\n"), (0, "3\n")] and (folder / "counter").read_text().strip() == "3"


def large_numbers():
    with place("899999999999999") as folder:
        return ended(start(folder)) == (0, "900000000000000\n") and shown(folder) == {"counter"}


def names():
    good = True
    for name in ("two  words", "-n", "*"):
        with place("8\n", name=name) as folder:
            good = good and ended(start(name, cwd=folder.parent)) == (0, "9\n")
    return good


def many_at_once():
    with place("7\n", "#!/bin/bash\nsleep 0.01\n") as folder:
        calls = [start(folder) for _ in range(24)]
        got = sorted(int(told or 0) for _, told in [ended(call, 30) for call in calls])
        return got == list(range(8, 32)) and (folder / "counter").read_text().strip() == "31"


def hook_gets_the_number():
    with place("41", '#!/bin/bash\necho "$# $1 $(pwd)" > .saw\necho noise\n') as folder:
        good = ended(start(folder)) == (0, "42\n") and shown(folder) == {"counter", "hook"}
        return good and (folder / ".saw").read_text().strip() == f"1 42 {folder}"


def hook_fails():
    with place("5\n", "#!/bin/bash\n[ -e .fine ]\n") as folder:
        first = ended(start(folder)), (folder / "counter").read_text()
        (folder / ".fine").touch()
        return first == ((5, ""), "5\n") and ended(start(folder)) == (0, "6\n")


def hook_is_no_program():
    with place("5", "#!/bin/bash\nexit 1\n") as folder:
        (folder / "hook").chmod(0o644)
        return ended(start(folder)) == (0, "6\n")


def others_wait():
    with place("1", SLOW.format(1)) as folder:
        first = start(folder)
        began = until(folder / ".began.2")
        second = start(folder)
        time.sleep(0.4)
        held = not (folder / ".began.3").exists()
        return began and held and [ended(first), ended(second)] == [(0, "2\n"), (0, "3\n")]


def folders_are_apart():
    with place("1", SLOW.format(6)) as slow, place("1") as other:
        first = start(slow)
        good = until(slow / ".began.2") and ended(start(other), 4) == (0, "2\n")
        killed(first)
        return good


def killed_in_the_hook():
    with place("10\n", SLOW.format(30)) as folder:
        first = start(folder)
        good = until(folder / ".began.11")
        killed(first)
        (folder / "hook").unlink()
        return good and (folder / "counter").read_text() == "10\n" and ended(start(folder), 4) == (0, "11\n")


def killed_at_any_moment():
    with place("100\n") as folder:
        for step in range(25):
            call = start(folder)
            time.sleep(0.001 * step)
            killed(call)
            if not (folder / "counter").read_text().strip().isdigit():
                return False
        code, told = ended(start(folder), 4)
        return code == 0 and 101 <= int(told) <= 126 and shown(folder) == {"counter"}


def damaged():
    good = True
    for counter in ("", "\n", "08\n", "x", "1 2", "1\n2\n", "-1", "1\n\n", "0x10", "a[$(touch .ran)]"):
        with place(counter, "#!/bin/bash\ntouch .ran\n") as folder:
            good = good and ended(start(folder)) == (3, "") and (folder / "counter").read_text() == counter
            good = good and not (folder / ".ran").exists()
    return good


def no_folder():
    with place("1") as folder:
        missing, file = ended(start(folder / "missing", cwd=folder)), ended(start(folder / "counter", cwd=folder))
        return (missing, file) == ((3, ""), (3, "")) and (folder / "counter").read_text() == "1"


checks = [one_after_the_other, large_numbers, names, many_at_once, hook_gets_the_number, hook_fails, hook_is_no_program,
          others_wait, folders_are_apart, killed_in_the_hook, killed_at_any_moment, damaged, no_folder]  # fmt: skip
score({check.__name__.replace("_", " "): check for check in checks})
