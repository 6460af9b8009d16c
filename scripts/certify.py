"""Certifies as many example tasks as fit into a time, in an order drawn by a seed, and says which were left out.

``.venv/bin/python scripts/certify.py SEED SECONDS``. Exit code 1: a task is refused or not decided.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITE = ROOT / "examples" / "workshop"
PROCTOR = Path(sys.executable).with_name("proctor")
ROW = re.compile(r" proctor/([a-z0-9-]+) +(certified|refused|not decided)\b")
"""Of the table at the end, which standard output has; a task that was not come to has another word."""


def main(seed: str, budget: float) -> int:
    """One check of all tasks, interrupted when the time is over: what is complete then counts."""
    tasks = sorted(path.parent for path in SUITE.glob("*/task.toml"))
    random.Random(seed).shuffle(tasks)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="proctor-certify-") as place:
        Path(place).chmod(0o755)  # the database does not run as root
        suite = Path(place) / "suite"
        suite.mkdir()
        for number, task in enumerate(tasks):  # a check takes folders by their names
            (suite / f"{number:03d}-{task.name}").symlink_to(task.resolve())
        found = _check(suite, Path(place) / "home", budget)
    bad = sorted(name for name, verdict in found.items() if verdict != "certified")
    left = sorted(task.name for task in tasks if task.name not in found)
    print(f"seed {seed}: {len(found)} of {len(tasks)} tasks checked in {time.monotonic() - started:.0f} s")
    print("certify left out:", ", ".join(left) or "nothing")
    if bad:
        print("not certified:", ", ".join(bad))
    return int(bool(bad))


def _check(suite: Path, home: Path, budget: float) -> dict[str, str]:
    command = [PROCTOR, "suite", "check", str(suite)]
    environment = {**os.environ, "PROCTOR_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    timer = threading.Timer(budget, running.send_signal, [signal.SIGINT])
    timer.start()
    found = {}
    assert running.stdout is not None
    for line in running.stdout:
        print(line, end="", flush=True)
        if match := ROW.match(line):
            found[match[1]] = match[2]
    running.wait()
    timer.cancel()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
