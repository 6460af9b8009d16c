"""The three digests of a task, and the identity of a suite.

*Content* is the Harbor ecosystem's algorithm over all files, so that names agree with theirs. *Agent-visible*
covers what can change what an agent does; *verifier* what can change the verdict on the same work. A typo in
a README changes the first and none of the others; when only the verifier digest changed, attempts can be
graded again. File modes and folders without files are no part of a task.

A malformed task has a content digest of its own that also covers what is wrong with it: two folders that
differ only in something the algorithm can't see (a link to a folder) never share a row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from proctor.kernel.canonical import Json, digest
from proctor.suites.files import TaskFile
from proctor.suites.tasks import TaskProblem

__all__ = ["agent_digest", "content_digest", "malformed_digest", "suite_digest", "verifier_digest"]

_VERDICT_KEYS: tuple[str, ...] = ("verification", "pass_threshold", "primary_reward")
"""Keys of [metadata.proctor] that change the verdict on the same work."""
_AGENT_KEYS: tuple[str, ...] = ("local", "changes_system")
"""Keys of [metadata.proctor] that change the sandbox an agent gets."""
_UNSEEN_TABLES: frozenset[str] = frozenset(
    {
        "verifier",
        "solution",
        "metadata",
        "task",
        "schema_version",
        "version",
        "source",
        "multi_step_reward_strategy",
    }
)
"""Top-level keys no agent can see. [task] is authorship but for its name, which is added back."""


def content_digest(files: Iterable[TaskFile]) -> str:
    """sha256 over the sorted lines ``path NUL sha256(file) LF``, as Harbor's packager does it."""
    outer = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.path):
        outer.update(f"{file.path}\0{file.sha256}\n".encode())
    return outer.hexdigest()


def malformed_digest(files: Iterable[TaskFile], problems: Sequence[TaskProblem]) -> str:
    """The content digest of a malformed task: its files, and each thing that is wrong with it."""
    told = sorted([problem.file, problem.field, problem.reason] for problem in problems)
    return digest({"files": content_digest(files), "problems": told})


def agent_digest(files: Iterable[TaskFile], instruction: str, config: Mapping[str, Json]) -> str:
    """The digest of what an agent can see: instruction, environment, steps and the visible part of task.toml."""
    visible = {file.path: file.sha256 for file in files if _agent_sees(file.path)}
    return digest({"instruction": instruction, "files": visible, "config": _visible_config(config)})


def verifier_digest(files: Iterable[TaskFile], config: Mapping[str, Json]) -> str:
    """The digest of what decides the verdict: tests, the verifier's settings and environment, the threshold."""
    tests = {file.path: file.sha256 for file in files if _verifier_only(file.path)}
    steps = [_table(step).get("verifier") for step in _list(config.get("steps"))]
    parts: dict[str, Json] = {
        "files": tests,
        "verifier": config.get("verifier"),
        "steps": steps,
        "strategy": config.get("multi_step_reward_strategy"),
        "proctor": _own_keys(config, _VERDICT_KEYS),
    }
    return digest(parts)


def suite_digest(content_digests: Iterable[str]) -> str:
    """A suite's id: sha256 over its sorted content digests joined by commas, as Harbor does for datasets."""
    return hashlib.sha256(",".join(sorted(content_digests)).encode()).hexdigest()


def _agent_sees(path: str) -> bool:
    parts = path.split("/")
    if parts[0] == "steps" and len(parts) > 2:
        return parts[2] in ("instruction.md", "trajectory.json", "workdir")
    return parts[0] in ("environment", "trajectory.json")


def _verifier_only(path: str) -> bool:
    parts = path.split("/")
    return parts[0] == "tests" or (parts[0] == "steps" and len(parts) > 3 and parts[2] == "tests")


def _visible_config(config: Mapping[str, Json]) -> dict[str, Json]:
    visible: dict[str, Json] = {key: value for key, value in config.items() if key not in _UNSEEN_TABLES}
    if "steps" in visible:
        visible["steps"] = [_without(_table(step), "verifier") for step in _list(visible["steps"])]
    visible["name"] = _table(config.get("task")).get("name")
    visible["proctor"] = _own_keys(config, _AGENT_KEYS)
    return visible


def _own_keys(config: Mapping[str, Json], names: Sequence[str]) -> dict[str, Json]:
    own = _table(_table(config.get("metadata")).get("proctor"))
    return {name: own[name] for name in names if name in own}


def _without(table: Mapping[str, Json], name: str) -> dict[str, Json]:
    return {key: value for key, value in table.items() if key != name}


def _table(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
