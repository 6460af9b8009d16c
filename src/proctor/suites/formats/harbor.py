"""Harbor task folders: read one into a task with its digests, whatever state it is in.

Nothing that a folder holds makes this raise. Each thing that is wrong becomes a ``TaskProblem`` naming the
file and the field; keys that Harbor would ignore become notes with the nearest key it knows.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import JsonValue

from proctor.suites.digests import agent_digest, content_digest, verifier_digest
from proctor.suites.files import TaskTree, printable, read_tree
from proctor.suites.formats.checking import checked, folder_name, malformed_task, unknown_keys
from proctor.suites.formats.compose_dialects import compose_notes
from proctor.suites.formats.harbor_config import ProctorTable, TaskToml
from proctor.suites.formats.harbor_task import build_task
from proctor.suites.formats.json_values import NotJson, as_json
from proctor.suites.loaded import LoadedTask

__all__ = ["CONFIG_FILE", "INSTRUCTION_FILE", "load_task"]

CONFIG_FILE: str = "task.toml"
INSTRUCTION_FILE: str = "instruction.md"
JsonTable = dict[str, JsonValue]


def load_task(folder: Path) -> LoadedTask:
    """One task folder. A malformed one has ``task=None`` and its problems, and digests all the same."""
    tree = read_tree(folder)
    raw = _read_toml(tree)
    config = None if raw is None else checked(tree, CONFIG_FILE, TaskToml, raw)
    if raw is None or config is None:
        return _malformed(folder, tree, raw)
    own = checked(tree, CONFIG_FILE, ProctorTable, config.metadata.get("proctor", {}), "metadata.proctor")
    task = build_task(tree, config, own or ProctorTable(), folder_name(folder))
    if tree.problems:
        return _malformed(folder, tree, raw)
    return LoadedTask(
        folder=folder,
        name=task.name,
        content_digest=content_digest(tree.files),
        agent_digest=agent_digest(tree.files, task.instruction, raw),
        verifier_digest=verifier_digest(tree.files, raw),
        task=task,
        notes=(
            *unknown_keys(CONFIG_FILE, config),
            *compose_notes(task.environment, frozenset(file.path for file in tree.files)),
        ),
        files=tuple(tree.files),
    )


def _malformed(folder: Path, tree: TaskTree, raw: JsonTable | None) -> LoadedTask:
    table = (raw or {}).get("task")
    name = table.get("name") if isinstance(table, dict) else None
    given = printable(name) if isinstance(name, str) and name else folder_name(folder)
    return malformed_task(folder, tree, given)


def _read_toml(tree: TaskTree) -> JsonTable | None:
    text = tree.text(CONFIG_FILE)
    if text is None:
        return None
    try:
        table = tomllib.loads(text)
        return {key: as_json(value, key, 1) for key, value in table.items()}
    except tomllib.TOMLDecodeError as error:
        tree.refuse(CONFIG_FILE, f"is not valid TOML: {error}")
    except RecursionError:
        tree.refuse(CONFIG_FILE, "is nested too deeply")
    except NotJson as error:
        tree.refuse(CONFIG_FILE, error.reason, field=printable(error.field))
    return None
