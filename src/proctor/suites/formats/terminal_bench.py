"""Terminal-Bench 1 task folders (``task.yaml``): read one into a task with its digests, whatever state it is in.

The whole folder is the task, since it is the build context of its image; the content digest is taken over its own
files by the same algorithm as everywhere. To be run, the files are laid out as every other task's are, and the other
two digests are taken over that layout:

- ``tests/`` and ``run-tests.sh`` become ``tests/``: the verifier's;
- ``solution.sh``, or the commands of ``solution.yaml``, become ``solution/solve.sh``: the oracle's;
- ``task.yaml``, ``README.md`` and ``.gitignore`` stay: nobody's in a sandbox;
- everything else becomes ``environment/``: what an agent may see.

Nothing that a folder holds makes this raise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from proctor.suites.digests import agent_digest, content_digest, verifier_digest
from proctor.suites.files import TaskFile, TaskTree, printable, read_tree
from proctor.suites.formats.checking import checked, folder_name, malformed_task, unknown_keys
from proctor.suites.formats.compose_dialects import TERMINAL_BENCH, with_services
from proctor.suites.formats.harbor_task import exists_below_environment, visible_instruction
from proctor.suites.formats.terminal_bench_config import ProctorKey, TaskYaml
from proctor.suites.formats.terminal_bench_image import (
    COMPOSE_FILE,
    DOCKERFILE,
    compose_needs,
    dockerfile_needs,
    workdir_of,
)
from proctor.suites.formats.terminal_bench_solution import SOLVE, reference_solution
from proctor.suites.formats.yaml_values import YamlRefused, parse_yaml
from proctor.suites.loaded import LoadedTask
from proctor.suites.tasks import AgentSettings, Environment, Task, TaskNote, Userland, VerdictSource, Verifier

__all__ = ["TASK_FILE", "load_terminal_bench_task"]

TASK_FILE: str = "task.yaml"
_TEST_SCRIPT: str = "run-tests.sh"
_OF_NOBODY: frozenset[str] = frozenset({TASK_FILE, "README.md", ".gitignore"})
_SOLUTIONS: frozenset[str] = frozenset({"solution.sh", "solution.yaml"})

JsonTable = Mapping[str, JsonValue]


def load_terminal_bench_task(folder: Path) -> LoadedTask:
    """One task folder. A malformed one has ``task=None`` and its problems, and digests all the same."""
    tree = read_tree(folder, whole=True)
    raw = _read_yaml(tree)
    config = None if raw is None else checked(tree, TASK_FILE, TaskYaml, dict(raw))
    if raw is None or config is None:
        return malformed_task(folder, tree, folder_name(folder))
    own = checked(tree, TASK_FILE, ProctorKey, {} if config.proctor is None else config.proctor, "proctor")
    solution, said = reference_solution(tree)
    files = _laid_out(tree, solution)
    task, reasons = _build(tree, config, own or ProctorKey(), files, folder_name(folder))
    if tree.problems:
        return malformed_task(folder, tree, folder_name(folder))
    settings = _settings(raw, config)
    return LoadedTask(
        folder=folder,
        name=task.name,
        content_digest=content_digest(tree.files),
        agent_digest=agent_digest(files, task.instruction, settings),
        verifier_digest=verifier_digest(files, settings),
        task=task,
        notes=(*unknown_keys(TASK_FILE, config), *said, *reasons),
        files=tuple(files),
        laid_out=True,
    )


def _read_yaml(tree: TaskTree) -> JsonTable | None:
    text = tree.text(TASK_FILE)
    if text is None:
        return None
    try:
        document = parse_yaml(text)
    except YamlRefused as error:
        tree.refuse(TASK_FILE, printable(error.reason), field=None if error.field is None else printable(error.field))
        return None
    if not isinstance(document, dict):
        tree.refuse(TASK_FILE, "is no table of keys and values")
        return None
    return document


def _laid_out(tree: TaskTree, solution: TaskFile | None) -> list[TaskFile]:
    """The files at the places where a runner looks for them."""
    placed = [replace(file, path=_place(file.path)) for file in tree.files if file.path not in _SOLUTIONS]
    if solution is not None:
        placed.append(solution)
    if f"tests/{_TEST_SCRIPT}" in {file.path for file in tree.files}:
        tree.refuse(f"tests/{_TEST_SCRIPT}", f"is in the way of {_TEST_SCRIPT}, which goes to the same place")
    return sorted(placed, key=lambda file: file.path)


def _place(path: str) -> str:
    if path == _TEST_SCRIPT:
        return f"tests/{path}"
    return path if path in _OF_NOBODY or path.startswith("tests/") else f"environment/{path}"


def _settings(raw: JsonTable, config: TaskYaml) -> dict[str, JsonValue]:
    """The parts of task.yaml that the digests cover, under the names that Harbor has for them."""
    return {
        "format": "terminal-bench-1",
        "agent": {"timeout_sec": config.max_agent_timeout_sec},
        "verifier": {"timeout_sec": config.max_test_timeout_sec, "parser_name": config.parser_name},
        "metadata": {"proctor": raw.get("proctor")},
    }


def _build(
    tree: TaskTree, config: TaskYaml, own: ProctorKey, files: list[TaskFile], name: str
) -> tuple[Task, tuple[TaskNote, ...]]:
    """The task; where the tree has problems afterwards it is to be thrown away."""
    paths = frozenset(file.path for file in files)
    instruction = visible_instruction(config.instruction)
    if not instruction.strip():
        tree.refuse(TASK_FILE, "is empty", field="instruction")
    environment, notes = _environment(tree, own, paths)
    for needed in (_TEST_SCRIPT,) if environment.compose else (_TEST_SCRIPT, DOCKERFILE):
        if _place(needed) not in paths and not tree.blames(needed):
            tree.refuse(needed, "is missing")
    task = Task(
        name=name,
        instruction=instruction,
        agent=AgentSettings(timeout_sec=config.max_agent_timeout_sec),
        environment=environment,
        verifier=Verifier(
            mode=own.verification,
            timeout_sec=config.max_test_timeout_sec,
            script=_TEST_SCRIPT,
            verdict=VerdictSource.PYTEST_SUMMARY,
        ),
        userland=_userland(tree, own, paths),
        has_solution=SOLVE in paths,
        changes_system=own.changes_system,
        metadata=config.described,
    )
    return task, notes


def _environment(tree: TaskTree, own: ProctorKey, paths: frozenset[str]) -> tuple[Environment, tuple[TaskNote, ...]]:
    """The image, why it is needed where it is, and what is to be said about that."""
    compose, reason = compose_needs(tree), ""
    notes: tuple[TaskNote, ...] = ()
    if compose:
        reason = f"{COMPOSE_FILE}: {', '.join(compose)}"
        notes = tuple(TaskNote(file=COMPOSE_FILE, field=field, text="needs Compose") for field in compose)
        if own.local is not None:
            tree.refuse(TASK_FILE, f"is there, but Compose is needed by {reason}", field="proctor.local")
    elif own.local is None:
        reason = f"{DOCKERFILE}: {dockerfile_needs(tree)}"
        text = f"needs its image ({dockerfile_needs(tree)}); `proctor: {{local: …}}` in {TASK_FILE} does without"
        notes = (TaskNote(file=DOCKERFILE, text=text),)
    environment = Environment(
        dockerfile=_place(DOCKERFILE) in paths,
        compose=bool(compose),
        image_reason=printable(reason),
        env={"TEST_DIR": "/tests"},
        workdir=workdir_of(tree),
    )
    return with_services(tree, environment, paths, TERMINAL_BENCH), notes


def _userland(tree: TaskTree, own: ProctorKey, paths: frozenset[str]) -> Userland | None:
    if own.local is None:
        return None
    for source in own.local.copy_:
        if not exists_below_environment(source, paths):
            reason = "is not in the build context (which has neither tests nor solution)"
            tree.refuse(TASK_FILE, reason, field=f"proctor.local.copy.{source}")
    return Userland(tools=tuple(own.local.tools), copy=own.local.copy_)
