"""Runs a judge's checks and prints the rewards as its last line. The same file in each task that has it."""

import json
import subprocess
from pathlib import Path

CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


def ran(*command, given="", seconds=10, folder="/app"):
    """What a program of the agent's did. It runs in a process of its own and gets nothing of the judge's."""
    return subprocess.run(
        command, input=given, capture_output=True, timeout=seconds, encoding="utf-8", cwd=folder, env=CLEAN
    )


def python(script, *arguments, **how):
    """The same for a program in Python. Without the program nothing was done: Python's own exit code is no answer."""
    if not Path(script).is_file():
        raise FileNotFoundError(script)
    return ran("python3", "-B", script, *arguments, **how)


def score(checks):
    """Run every check, a function that says whether it holds. The reward is the share of those that do."""
    held = []
    for title, check in checks.items():
        try:
            good = check() is True
        except Exception as error:  # noqa: BLE001 -- whatever the agent's program did, the other checks count
            print(f"{type(error).__name__}: {str(error)[:300]}")
            good = False
        held.append(good)
        print(f"{'right' if good else 'WRONG'}: {title}")
    print(json.dumps({"reward": round(sum(held) / len(held), 4), "solved": int(all(held))}))
