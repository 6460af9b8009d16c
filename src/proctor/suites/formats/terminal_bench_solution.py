"""A Terminal-Bench 1 reference solution as one script: solution.sh as it is, solution.yaml's commands in order.

Terminal-Bench types the commands into a terminal. A script runs the same commands as long as they are commands: keys
for a program that waits for them (an editor, a pager, Ctrl-C) can't be put into one; then there is no solution here.
"""

from __future__ import annotations

import hashlib
import re

from pydantic import TypeAdapter, ValidationError

from proctor.suites.files import TaskFile, TaskTree
from proctor.suites.formats.terminal_bench_config import SolutionCommand
from proctor.suites.formats.yaml_values import YamlRefused, parse_yaml
from proctor.suites.tasks import TaskNote

__all__ = ["SOLVE", "reference_solution"]

SOLVE: str = "solution/solve.sh"
"""Where the oracle looks for it."""
_SCRIPT: str = "solution.sh"
_COMMANDS: str = "solution.yaml"
_COMMAND_LIST: TypeAdapter[list[SolutionCommand]] = TypeAdapter(list[SolutionCommand])
_KEY = re.compile(r"([CMS]-)+\S|\^.|Enter|Escape|Tab|BTab|Space|BSpace|Up|Down|Left|Right|Home|End|[NP]Page|F[0-9]+")
"""A name that a terminal multiplexer takes for one key."""


def reference_solution(tree: TaskTree) -> tuple[TaskFile | None, tuple[TaskNote, ...]]:
    """The script, if there is one, and what is to be said about it; a malformed file is a problem of the tree."""
    files = {file.path: file for file in tree.files}
    if _SCRIPT in files:
        ignored = (TaskNote(file=_COMMANDS, text=f"is ignored beside {_SCRIPT}"),) if _COMMANDS in files else ()
        script = files[_SCRIPT]
        return TaskFile(SOLVE, script.sha256, script.size, script.source), ignored
    if _COMMANDS not in files:
        return None, ()
    commands = _commands(tree)
    if commands is None:
        return None, ()
    keys = next((number for number, one in enumerate(commands) if _is_keys(one)), None)
    if keys is not None:
        text = "types keys, which no script can, so the oracle has no solution of this task"
        return None, (TaskNote(file=_COMMANDS, field=f"[{keys}]", text=text),)
    content = _script_of(commands).encode()
    return TaskFile(SOLVE, hashlib.sha256(content).hexdigest(), len(content), files[_COMMANDS].source, content), ()


def _commands(tree: TaskTree) -> list[SolutionCommand] | None:
    text = tree.text(_COMMANDS)
    if text is None:
        return None
    try:
        return _COMMAND_LIST.validate_python(parse_yaml(text))
    except YamlRefused as error:
        tree.refuse(_COMMANDS, error.reason, field=error.field)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_context=False, include_input=False):
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])
            tree.refuse(_COMMANDS, detail["msg"].removeprefix("Input "), field=place.removeprefix(".") or None)
    return None


def _is_keys(command: SolutionCommand) -> bool:
    return not command.append_enter or _KEY.fullmatch(command.command.strip()) is not None


def _script_of(commands: list[SolutionCommand]) -> str:
    """One line after the other, as a shell would read what is typed; a command that isn't waited for gets its time."""
    lines = ["#!/bin/bash"]
    for command in commands:
        lines.append(command.command)
        if not command.block and command.min_timeout_sec > 0:
            lines.append(f"sleep {command.min_timeout_sec:g}")
    return "\n".join(lines) + "\n"
