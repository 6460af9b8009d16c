"""A parsed configuration file against its shape: what is wrong with it, by field, and what is not known.

Every format's files are told about in the same words, whatever checked them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from proctor.suites.digests import malformed_digest
from proctor.suites.files import TaskTree, printable
from proctor.suites.formats.harbor_config import LocalTable
from proctor.suites.loaded import LoadedTask
from proctor.suites.tasks import TaskNote, TaskProblem

__all__ = ["checked", "folder_name", "malformed_task", "unknown_keys"]

_UNION_ARM = re.compile(r"function-|constrained-|nullable|(str|int|float|dict\[.*)$")
_Shape = TypeVar("_Shape", bound=BaseModel)


def checked(tree: TaskTree, file: str, shape: type[_Shape], table: JsonValue, prefix: str = "") -> _Shape | None:
    """The table in its shape, or ``None`` with a problem of ``file`` for each field that is wrong."""
    try:
        return shape.model_validate(table)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        tree.problems.extend(_problem(detail, file, shape, prefix) for detail in details)
        return None


def malformed_task(folder: Path, tree: TaskTree, name: str) -> LoadedTask:
    """All three digests are of the folder and its problems, so that it can share a cell with no other task."""
    identity = malformed_digest(tree.files, tree.problems)
    return LoadedTask(
        folder=folder,
        name=name,
        content_digest=identity,
        agent_digest=identity,
        verifier_digest=identity,
        task=None,
        problems=tuple(tree.problems),
        files=tuple(tree.files),
    )


def _problem(detail: ErrorDetails, file: str, shape: type[BaseModel], prefix: str) -> TaskProblem:
    place = _place(detail["loc"], prefix)
    if detail["type"] == "missing":
        return TaskProblem(file=file, field=place, reason="is missing")
    if detail["type"] == "extra_forbidden":
        table = shape if len(detail["loc"]) == 1 else LocalTable
        return TaskProblem(file=file, field=place, reason=f"is unknown{_nearest(place or '', table)}")
    reason = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return TaskProblem(file=file, field=place, reason=reason)


def _place(location: tuple[int | str, ...], prefix: str) -> str | None:
    """``environment.mcp_servers[0].url``, without pydantic's names for the arms of a union."""
    text = prefix
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not _UNION_ARM.match(part):
            text += f".{part}"
    return printable(text.removeprefix(".")) or None


def unknown_keys(file: str, table: BaseModel, prefix: str = "") -> Iterator[TaskNote]:
    """A note for each key that the format ignores: most are typing mistakes."""
    for key in table.model_extra or ():
        place = f"{prefix}{key}"
        text = f"is unknown and ignored{_nearest(key, type(table))}"
        yield TaskNote(file=file, field=printable(place), text=text)
    for name in table.model_fields_set - {"metadata"}:
        yield from _unknown_below(file, getattr(table, name, None), f"{prefix}{name}")


def _unknown_below(file: str, value: object, place: str) -> Iterator[TaskNote]:
    if isinstance(value, BaseModel):
        yield from unknown_keys(file, value, f"{place}.")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_below(file, item, f"{place}[{index}]")


def _nearest(key: str, table: object) -> str:
    fields: Mapping[str, object] = getattr(table, "model_fields", {})
    names = [getattr(field, "alias", None) or name for name, field in fields.items()]
    near = difflib.get_close_matches(key.rpartition(".")[2], names, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def folder_name(folder: Path) -> str:
    """What a task is called that has no name of its own."""
    return printable(folder.resolve().name) or "task"
