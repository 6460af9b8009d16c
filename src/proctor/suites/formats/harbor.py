"""Harbor task folders: read one into a task with its digests, whatever state it is in.

Nothing that a folder holds makes this raise. Each thing that is wrong becomes a ``TaskProblem`` naming the
file and the field; keys that Harbor would ignore become notes with the nearest key it knows.
"""

from __future__ import annotations

import datetime
import difflib
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from proctor.suites.digests import agent_digest, content_digest, malformed_digest, verifier_digest
from proctor.suites.files import TaskTree, printable, read_tree
from proctor.suites.formats.harbor_config import LocalTable, ProctorTable, TaskToml
from proctor.suites.formats.harbor_task import build_task
from proctor.suites.loaded import LoadedTask
from proctor.suites.tasks import TaskNote, TaskProblem

__all__ = ["CONFIG_FILE", "INSTRUCTION_FILE", "load_task"]

CONFIG_FILE: str = "task.toml"
INSTRUCTION_FILE: str = "instruction.md"
MAX_DEPTH: int = 32
"""Tables within tables in a task.toml; dotted keys could otherwise nest without end."""
MAX_INTEGER: int = 2**53 - 1
"""The largest integer that JSON, and so a digest, carries exactly."""
_UNION_ARM = re.compile(r"function-|constrained-|nullable|(str|int|float|dict\[.*)$")

JsonTable = dict[str, JsonValue]
_Shape = TypeVar("_Shape", TaskToml, ProctorTable)


def load_task(folder: Path) -> LoadedTask:
    """One task folder. A malformed one has ``task=None`` and its problems, and digests all the same."""
    tree = read_tree(folder)
    raw = _read_toml(tree)
    config = None if raw is None else _checked(tree, TaskToml, raw, "")
    if raw is None or config is None:
        return _malformed(folder, tree, raw)
    own = _checked(tree, ProctorTable, config.metadata.get("proctor", {}), "metadata.proctor")
    task = build_task(tree, config, own or ProctorTable(), _folder_name(folder))
    if tree.problems:
        return _malformed(folder, tree, raw)
    return LoadedTask(
        folder=folder,
        name=task.name,
        content_digest=content_digest(tree.files),
        agent_digest=agent_digest(tree.files, task.instruction, raw),
        verifier_digest=verifier_digest(tree.files, raw),
        task=task,
        notes=tuple(_unknown_keys(config, "")),
        files=tuple(tree.files),
    )


def _malformed(folder: Path, tree: TaskTree, raw: JsonTable | None) -> LoadedTask:
    """All three digests are of the folder and its problems, so that it can share a cell with no other task."""
    identity = malformed_digest(tree.files, tree.problems)
    table = (raw or {}).get("task")
    name = table.get("name") if isinstance(table, dict) else None
    return LoadedTask(
        folder=folder,
        name=printable(name) if isinstance(name, str) and name else _folder_name(folder),
        content_digest=identity,
        agent_digest=identity,
        verifier_digest=identity,
        task=None,
        problems=tuple(tree.problems),
        files=tuple(tree.files),
    )


def _read_toml(tree: TaskTree) -> JsonTable | None:
    text = tree.text(CONFIG_FILE)
    if text is None:
        return None
    try:
        table = tomllib.loads(text)
        return {key: _as_json(value, key, 1) for key, value in table.items()}
    except tomllib.TOMLDecodeError as error:
        tree.refuse(CONFIG_FILE, f"is not valid TOML: {error}")
    except RecursionError:
        tree.refuse(CONFIG_FILE, "is nested too deeply")
    except _NotJson as error:
        tree.refuse(CONFIG_FILE, error.reason, field=printable(error.field))
    return None


class _NotJson(Exception):
    """A TOML value that a digest or a database row can't carry."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field, self.reason = field, reason


def _as_json(value: object, field: str, depth: int) -> JsonValue:
    if depth > MAX_DEPTH:
        raise _NotJson(field[:100], f"is nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {key: _as_json(item, f"{field}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item, f"{field}[{index}]", depth + 1) for index, item in enumerate(value)]
    if isinstance(value, str):
        return _checked_text(value, field)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return _checked_number(value, field)


def _checked_text(value: str, field: str) -> str:
    if "\x00" in value:
        raise _NotJson(field, "holds a NUL character")
    return value


def _checked_number(value: object, field: str) -> JsonValue:
    if isinstance(value, float) and not math.isfinite(value):
        raise _NotJson(field, f"{value} is not a finite number")
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise _NotJson(field, "is an integer beyond 2**53")
    if not isinstance(value, bool | int | float):
        raise _NotJson(field, "has a type that JSON lacks")
    return value


def _checked(tree: TaskTree, shape: type[_Shape], table: JsonValue, prefix: str) -> _Shape | None:
    try:
        return shape.model_validate(table)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        tree.problems.extend(_problem(detail, prefix) for detail in details)
        return None


def _problem(detail: ErrorDetails, prefix: str) -> TaskProblem:
    place = _place(detail["loc"], prefix)
    if detail["type"] == "missing":
        return TaskProblem(file=CONFIG_FILE, field=place, reason="is missing")
    if detail["type"] == "extra_forbidden":
        table = ProctorTable if len(detail["loc"]) == 1 else LocalTable
        return TaskProblem(file=CONFIG_FILE, field=place, reason=f"is unknown{_nearest(place or '', table)}")
    reason = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return TaskProblem(file=CONFIG_FILE, field=place, reason=reason)


def _place(location: tuple[int | str, ...], prefix: str) -> str | None:
    """``environment.mcp_servers[0].url``, without pydantic's names for the arms of a union."""
    text = prefix
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not _UNION_ARM.match(part):
            text += f".{part}"
    return printable(text.removeprefix(".")) or None


def _unknown_keys(table: BaseModel, prefix: str) -> Iterator[TaskNote]:
    """A note for each key that Harbor ignores: most are typing mistakes."""
    for key in table.model_extra or ():
        place = f"{prefix}{key}"
        text = f"is unknown and ignored{_nearest(key, type(table))}"
        yield TaskNote(file=CONFIG_FILE, field=printable(place), text=text)
    for name in table.model_fields_set - {"metadata"}:
        yield from _unknown_below(getattr(table, name, None), f"{prefix}{name}")


def _unknown_below(value: object, place: str) -> Iterator[TaskNote]:
    if isinstance(value, BaseModel):
        yield from _unknown_keys(value, f"{place}.")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_below(item, f"{place}[{index}]")


def _nearest(key: str, table: object) -> str:
    fields: Mapping[str, object] = getattr(table, "model_fields", {})
    names = [getattr(field, "alias", None) or name for name, field in fields.items()]
    near = difflib.get_close_matches(key.rpartition(".")[2], names, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _folder_name(folder: Path) -> str:
    return printable(folder.resolve().name) or "task"
