"""Shared by the judges of both steps: what git says of the repository, and what the files of a commit do."""

import json
import subprocess
import tempfile
from pathlib import Path

from scoring import ran

MAIN = "9236c24b596b3ff3f3d4575bd49036a9a996e7e8"
RESCUED = "92a60575afed6b4084b5cf6e540c3740b5d93f54"
ANN = "b4504e625e0153d40e57bfa0022e3880d27b8b9b"
NOTES = "# Conversions\n\nCelsius, fahrenheit and kelvin: add 273.15.\n"
SAFE = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*"]
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
PROGRAM = """
import json, sys
sys.path.insert(0, ".")
import convert
asked = json.load(sys.stdin)
print(json.dumps({name: [getattr(convert, name)(given) for given, _ in pairs] for name, pairs in asked.items()}))
"""


def git(*arguments):
    """What git prints. No hook and no helper of the repository's own is run, and replaced objects are as they were."""
    command = ["git", *SAFE, "-C", "/app/units", "--no-pager", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=20, text=True, env=ENVIRONMENT)
    if done.returncode:
        raise ValueError(done.stderr[-300:])
    return done.stdout.strip()


def clean():
    """On main, with nothing uncommitted; what Python keeps beside a program doesn't count."""
    changed = [line for line in git("status", "--porcelain").splitlines() if "__pycache__" not in line]
    return git("symbolic-ref", "HEAD") == "refs/heads/main" and not changed


def files_of(commit, place):
    for name in ("convert.py", "check.py"):
        (Path(place) / name).write_text(git("show", f"{commit}:{name}") + "\n", encoding="utf-8")


def functions(commit, wanted, missing=None):
    """Whether the functions of a commit give what is wanted, and one of that name is missing."""
    with tempfile.TemporaryDirectory() as place:
        files_of(commit, place)
        done = ran("python3", "-B", "-c", PROGRAM, given=json.dumps(wanted), folder=place)
        absent = ran("python3", "-B", "-c", f"import convert; convert.{missing}", folder=place) if missing else None
    given = json.loads(done.stdout)
    right = given == {name: [value for _, value in pairs] for name, pairs in wanted.items()}
    return right and (absent is None or "AttributeError" in absent.stderr)


def says_ok(commit, breaking=None):
    """Whether check.py of a commit prints ok and nothing else, also if one of the functions is broken."""
    with tempfile.TemporaryDirectory() as place:
        files_of(commit, place)
        if breaking:
            with (Path(place) / "convert.py").open("a", encoding="utf-8") as file:
                file.write(f"\n\n_right = {breaking}\n\n\ndef {breaking}(value):\n    return _right(value) + 0.1\n")
        done = ran("python3", "-B", "check.py", folder=place)
    return (done.returncode, done.stdout) == (0, "ok\n")
