"""``proctor init``: a commented run-set file for the tasks found in a folder."""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from proctor.kernel.errors import UsageError
from proctor.kernel.paths import check_target, writing
from proctor.kernel.words import counted
from proctor.suites.errors import LinkBroken
from proctor.suites.files import printable
from proctor.suites.loading import load_suite

__all__ = ["Started", "write_run_set_file"]

_FILE = """\
# A run set: which agents sit which tasks, how often. `{command}` says what it would take.
name = {name}
suite = {suite}        # a folder, a label or a suite id; {tasks} here
trials = 1{pad}# of each profile on each task; more trials make narrower intervals
reuse = "30d"            # verdicts up to this age are taken for nothing; "off" runs everything again

# Profiles: one agent setting each. These two need no model and show that the tasks work:
# oracle runs each task's own solution and must pass, noop does nothing and must not.
[[profiles]]
name = "oracle"
agent = "oracle"

[[profiles]]
name = "noop"
agent = "noop"

# [[profiles]]
# name = "mine"
# series = "mine"                      # history follows the series
# agent = "command"
# command = "my-agent --task -"        # run in the sandbox; the instruction comes on standard input
# env = {{ TOKEN = "${{MY_TOKEN}}" }}      # resolves only names listed under [secrets]

[policy]                 # part of the configuration hash: "task" is what each task says
agent_timeout = "task"
network = "task"
verification = "task"

[budget]                 # never part of it
wall = "1h"
# cost = "25 USD"

[execution]
sandbox = "local"
concurrency = 2

# [[limits]]
# provider = "acme"      # of a profile's model "acme/..."; or: profile = "NAME"
# concurrency = 2        # attempts at once
# per_minute = 30        # starts, spread evenly

# [secrets]
# names = ["MY_TOKEN"]   # the only names that a ${{VAR}} may resolve

# [gate]
# strict = 0.60          # exit code 1 below it
# profiles = ["mine"]
"""


class FileExists(UsageError):
    """The run-set file is already there; nothing was written."""

    code = "file-exists"
    remedy = "Name another with --file, or edit it."


class NoTasks(UsageError):
    """There are no tasks in this folder or in the folders below it."""

    code = "no-tasks"
    remedy = "Name a folder of Harbor tasks, or make one with `proctor task new`."


@dataclass(frozen=True, kw_only=True)
class Started:
    """What was found and written."""

    file: Path
    suite: Path
    tasks: int
    malformed: int


def write_run_set_file(folder: Path, file: Path) -> Started:
    """Write a run-set file for the first folder of tasks at or below ``folder``. Raises ``FileExists``, ``NoTasks``."""
    if os.path.lexists(file):
        raise FileExists(where=str(file))
    check_target(file)
    suite, tasks, malformed = _find(folder)
    name = re.sub(r"[^A-Za-z0-9._-]", "-", suite.resolve().name).strip("._-")[:100] or "run"
    text = _FILE.format(
        command=printable(shlex.join(["proctor", "run", str(file), "--dry-run"])),
        name=_toml(name),
        suite=_toml(_relative(suite, file.resolve().parent)),
        tasks=counted(tasks, "task"),
        pad=" " * 15,
    )
    with writing(file), file.open("x", encoding="utf-8") as target:
        target.write(text)
    return Started(file=file, suite=suite, tasks=tasks, malformed=malformed)


def _find(folder: Path) -> tuple[Path, int, int]:
    if not folder.is_dir():
        raise NoTasks("It is no folder." if folder.exists() else "There is no such folder.", where=str(folder))
    below = sorted(path for path in folder.glob("*/") if not path.name.startswith("."))
    deeper = sorted(path for path in folder.glob("*/*/") if not path.name.startswith("."))
    for candidate in (folder, *below, *deeper):
        try:
            loaded = load_suite(candidate)
        except LinkBroken:
            raise
        except UsageError:
            continue
        if loaded.tasks:
            return candidate, len(loaded.tasks), len(loaded.malformed)
    raise NoTasks(where=str(folder))


def _toml(text: str) -> str:
    """A TOML string. Raises ``NoTasks`` for a path that is no text, as a TOML file is text."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NoTasks("The folder's path is not UTF-8, so no file can name it.", where=printable(text)) from error
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _relative(suite: Path, base: Path) -> str:
    resolved = suite.resolve()
    return f"./{resolved.relative_to(base)}" if resolved.is_relative_to(base) else str(resolved)
