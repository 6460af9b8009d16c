"""What the two formats of tasks have of their own in their Compose files, and where those stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proctor.suites.files import TaskTree
from proctor.suites.formats.compose import read_compose
from proctor.suites.formats.compose_values import Dialect
from proctor.suites.tasks import Environment, TaskNote, TaskProblem

__all__ = ["HARBOR", "TERMINAL_BENCH", "compose_notes", "with_services"]

_UNREAD: tuple[str, ...] = ("docker-compose.yml", "compose.yaml", "compose.yml")
"""Names that Compose itself reads and the field does not."""

HARBOR = Dialect(
    file="environment/docker-compose.yaml",
    main="main",
    own_image="MAIN_IMAGE_NAME",
    texts={"CONTEXT_DIR": ".", "TEST_DIR": "/tests"},
    given=frozenset(
        {
            "${HOST_VERIFIER_LOGS_PATH}:${ENV_VERIFIER_LOGS_PATH}",
            "${HOST_AGENT_LOGS_PATH}:${ENV_AGENT_LOGS_PATH}",
        }
    ),
)
TERMINAL_BENCH = Dialect(
    file="docker-compose.yaml",
    main="client",
    own_image="T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME",
    texts={
        "T_BENCH_TEST_DIR": "/tests",
        "T_BENCH_CONTAINER_LOGS_PATH": "/logs",
        "T_BENCH_CONTAINER_AGENT_LOGS_PATH": "/agent-logs",
    },
    given=frozenset(
        {
            "${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}",
            "${T_BENCH_TASK_AGENT_LOGS_PATH}:${T_BENCH_CONTAINER_AGENT_LOGS_PATH}",
        }
    ),
    name_prefix="${T_BENCH_TASK_DOCKER_",
)


def with_services(tree: TaskTree, environment: Environment, paths: frozenset[str], dialect: Dialect) -> Environment:
    """The environment with what its Compose file declares, or with what is wrong with that; ``paths`` as laid out."""
    if not environment.compose:
        return environment
    raw = tree.texts.get(dialect.file)
    if raw is None:
        problem = TaskProblem(file=dialect.file, reason="is larger than 1 MiB")
        return replace(environment, compose_problems=(problem,))
    try:
        found = read_compose(raw.decode(), paths, dialect)
    except UnicodeDecodeError as error:
        problem = TaskProblem(file=dialect.file, reason=f"is not UTF-8 at byte {error.start}")
        return replace(environment, compose_problems=(problem,))
    return replace(environment, services=found.composed, compose_problems=found.problems)


def compose_notes(environment: Environment, paths: frozenset[str]) -> Iterator[TaskNote]:
    """What an author may want to know: a Compose file that no container can be started from, or under another name."""
    for problem in environment.compose_problems:
        yield TaskNote(file=problem.file, field=problem.field, text=f"{problem.reason}, so no container is started")
    for name in _UNREAD:
        if f"environment/{name}" in paths and not environment.compose:
            yield TaskNote(file=f"environment/{name}", text=f"is not read; the field's name for it is {HARBOR.file}")
