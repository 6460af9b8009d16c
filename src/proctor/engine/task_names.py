"""Which tasks a shell pattern means."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatch
from typing import Any, TypeVar

from proctor.engine.errors import NoTaskFits

__all__ = ["fitting", "matches", "task_digests"]

_Named = TypeVar("_Named", bound=Any)


def matches(name: str, glob: str) -> bool:
    """Whether a task's name, or its last part, fits a shell pattern."""
    return fnmatch(name, glob) or fnmatch(name.rsplit("/", 1)[-1], glob)


def task_digests(tasks: Sequence[Any], glob: str) -> list[str]:
    """Content digests of the tasks whose name fits a pattern. Raises ``NoTaskFits``."""
    return [task.content_digest for task in fitting(tasks, glob)]


def fitting(tasks: Sequence[_Named], glob: str) -> list[_Named]:
    """The tasks whose name fits a pattern. Raises ``NoTaskFits`` where there is none: a mistyped name is no wish."""
    found = [task for task in tasks if matches(task.name, glob)]
    if not found:
        near = difflib.get_close_matches(glob, [task.name.rsplit("/", 1)[-1] for task in tasks], n=1)
        raise NoTaskFits(f"No task's name fits {glob!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
    return found
