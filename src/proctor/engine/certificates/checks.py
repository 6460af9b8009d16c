"""What a baseline is made of: the oracle again and again, no and wrong solution, and every forgery that ships."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from proctor.engine.assignments import LoadedTask
from proctor.kernel.canonical import Json, digest
from proctor.suites.tasks import VerificationMode

__all__ = [
    "IN_SNAPSHOT",
    "ORACLE_RUNS",
    "TURNS",
    "WRONG",
    "Check",
    "Forgery",
    "checks_digest",
    "checks_of",
    "forgeries",
    "in_turn",
    "wants_another_turn",
]

ORACLE_RUNS: int = 5
"""A verifier that says no to the solution one time in two is found 31 times in 32; fewer runs are no baseline."""

TURNS: int = 12
"""Sandboxes that one forgery may take: a history holds any number of commits, and a check must end. Most take one."""

WRONG: str = "wrong"
"""The name of the author's wrong solution among what was tried, or was not."""

_ANOTHER: str = "proctor: another turn\n"
"""What a forgery prints that has more to try, where what it has done already would be in the way."""

_FILE = re.compile(r"[0-9]{2}-(?P<name>[a-z-]+)\.sh")


@dataclass(frozen=True, kw_only=True)
class Forgery:
    """A way to be graded well without an answer: a script that is run in the agent's place."""

    name: str
    about: str
    """The first line of its head."""
    script: str


@dataclass(frozen=True, kw_only=True)
class Check:
    """One attempt to be made: the agent in whose place it is made, and whether it must pass or must never."""

    solution: str
    must_pass: bool
    agent: str
    options: Mapping[str, Json] = field(default_factory=dict)
    verification: str = "task"
    """The task's own mode, or an override that only tells whether the task could use it."""
    forgery: bool = False


@cache
def forgeries() -> tuple[Forgery, ...]:
    """Every forgery, in the order of its number, each with what all of them share before it."""
    folder = files("proctor.engine.certificates").joinpath("forgeries")
    shared = folder.joinpath("prelude.sh").read_text(encoding="utf-8")
    found = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        named = _FILE.fullmatch(entry.name)
        if named is not None:
            script = entry.read_text(encoding="utf-8")
            about = script.splitlines()[0].removeprefix("# ")
            found.append(Forgery(name=named["name"], about=about, script=f"{shared}\n{script}"))
    return tuple(found)


def checks_digest() -> str:
    """Names what a certificate rests on: with another forgery there is something left to be tried."""
    return digest({one.name: one.script for one in forgeries()})


def checks_of(task: LoadedTask, oracle_runs: int) -> Sequence[Check]:
    """Everything to be tried with a task, the oracle first. Nothing where there is no reference solution."""
    assert task.task is not None
    assert task.folder is not None
    if not task.task.has_solution:
        return ()
    checks = [Check(solution="oracle", must_pass=True, agent="oracle") for _ in range(oracle_runs)]
    checks.append(Check(solution="noop", must_pass=False, agent="noop"))
    if any(path.is_file() for path in _wrong_solutions(task.folder, [step.name for step in task.task.steps])):
        checks.append(Check(solution=WRONG, must_pass=False, agent="oracle", options={"script": "wrong.sh"}))
    checks.extend(_forged(one, task.task.verifier.mode) for one in forgeries())
    if task.task.verifier.mode is VerificationMode.LIVE:
        checks.append(_in_snapshot())
    return checks


def _forged(one: Forgery, mode: VerificationMode) -> Check:
    command = f"MODE={mode.value}\n{one.script}"
    return Check(solution=one.name, must_pass=False, agent="command", options={"command": command}, forgery=True)


def in_turn(check: Check, turn: int) -> Check:
    """The same forgery, told which of its turns it is."""
    return replace(check, options={"command": f"TURN={turn}\n{check.options['command']}"})


def wants_another_turn(log: str) -> bool:
    """Whether a forgery said in its log that it has more to try."""
    return _ANOTHER in log


def _wrong_solutions(folder: Path, steps: Sequence[str]) -> list[Path]:
    """Where a wrong solution may stand: one wrong step makes a wrong solution."""
    return [folder / "solution/wrong.sh", *(folder / "steps" / name / "solution/wrong.sh" for name in steps)]


def _in_snapshot() -> Check:
    return Check(solution=IN_SNAPSHOT, must_pass=True, agent="oracle", verification="snapshot")


IN_SNAPSHOT: str = "oracle in snapshot"
"""Tells the author something; a live task is certified or not whatever comes of it."""
