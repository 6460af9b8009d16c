"""Certifies as many example tasks as fit into a time, in an order drawn by a seed, and says which were left out.

``.venv/bin/python scripts/certify.py SEED SECONDS``. Exit code 1: a task is refused or not decided.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITE = ROOT / "examples" / "workshop"
PROCTOR = Path(sys.executable).with_name("proctor")
BATCH: int = 4
"""Tasks a command: as many as it works on at once, so that a slow one delays few."""


def main(seed: str, budget: float) -> int:
    """Certify batch after batch; none is begun that would not fit if it took as long as the longest so far."""
    tasks = sorted(path.parent for path in SUITE.glob("*/task.toml"))
    random.Random(seed).shuffle(tasks)
    started, longest, done, code = time.monotonic(), 0.0, 0, 0
    with tempfile.TemporaryDirectory(prefix="proctor-certify-") as home:
        Path(home).chmod(0o755)  # the database does not run as root
        while done < len(tasks) and time.monotonic() - started + longest < budget:
            began = time.monotonic()
            code |= _check(tasks[done : done + BATCH], Path(home))
            done += BATCH
            longest = max(longest, time.monotonic() - began)
        subprocess.run([PROCTOR, "down"], env={**os.environ, "PROCTOR_HOME": f"{home}/home"}, check=False)
    left = [task.name for task in tasks[done:]]
    print(f"certified with seed {seed}: {len(tasks) - len(left)} of {len(tasks)} in {time.monotonic() - started:.0f} s")
    print("certify left out:", ", ".join(sorted(left)) or "nothing")
    return int(code != 0)


def _check(tasks: list[Path], home: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="tasks-", dir=home) as folder:
        for task in tasks:
            (Path(folder) / task.name).symlink_to(task.resolve())
        environment = {**os.environ, "PROCTOR_HOME": str(home / "home")}
        return subprocess.run([PROCTOR, "suite", "check", folder], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
