"""What a Terminal-Bench 1 task asks of its image: whether Compose is needed, and what its Dockerfile does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from pydantic import JsonValue

from proctor.suites.files import TaskTree
from proctor.suites.formats.yaml_values import YamlRefused, parse_yaml

__all__ = ["COMPOSE_FILE", "DOCKERFILE", "compose_needs", "dockerfile_needs", "workdir_of"]

COMPOSE_FILE: str = "docker-compose.yaml"
DOCKERFILE: str = "Dockerfile"
_CLIENT: str = "client"
"""The service that the agent is in."""
_STANDARD: Mapping[str, tuple[JsonValue, ...]] = {
    "build": (".", "./", {"context": "."}, {"dockerfile": "Dockerfile"}, {"context": ".", "dockerfile": "Dockerfile"}),
    "image": ("${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}",),
    "container_name": ("${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}",),
    "command": (["sh", "-c", "sleep infinity"], "sh -c 'sleep infinity'", 'sh -c "sleep infinity"', "sleep infinity"),
}
"""What every task's client says; a sandbox does it by itself."""
_STANDARD_ITEMS: Mapping[str, frozenset[str]] = {
    "environment": frozenset({"TEST_DIR=${T_BENCH_TEST_DIR}"}),
    "volumes": frozenset(
        {
            "${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}",
            "${T_BENCH_TASK_AGENT_LOGS_PATH}:${T_BENCH_CONTAINER_AGENT_LOGS_PATH}",
        }
    ),
}
_INSTRUCTION = re.compile(r"\s*(?P<word>[A-Za-z]+)\s+(?P<rest>.*)")
_HERE = re.compile(r"(?<!<)<<(?!<)-?[\"']?([A-Za-z_][A-Za-z0-9_]*)[\"']?")
_LENGTH: int = 60
"""Characters of each that are shown."""
_SHOWN: int = 3
"""Instructions of a Dockerfile that are named; the rest is counted."""


def compose_needs(tree: TaskTree) -> tuple[str, ...]:
    """The fields of docker-compose.yaml that ask for more than the one standard service; none: no Compose is needed."""
    if COMPOSE_FILE not in {file.path for file in tree.files}:
        return ()
    try:
        document = parse_yaml(tree.text(COMPOSE_FILE) or "")
    except YamlRefused as error:
        tree.refuse(COMPOSE_FILE, error.reason, field=error.field)
        return ()
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(services, dict) or _CLIENT not in services:
        if not tree.blames(COMPOSE_FILE):
            tree.refuse(COMPOSE_FILE, f"has no service {_CLIENT!r}", field="services")
        return ()
    top = (key for key in document if key not in ("services", "version"))
    others = (f"services.{name}" for name in services if name != _CLIENT)
    return (*top, *others, *_of_client(services[_CLIENT]))


def _of_client(client: JsonValue) -> Iterator[str]:
    if not isinstance(client, dict):
        yield f"services.{_CLIENT}"
        return
    for key, value in client.items():
        usual = _STANDARD_ITEMS.get(key)
        if value not in _STANDARD.get(key, ()) and (usual is None or not usual.issuperset(_items(value))):
            yield f"services.{_CLIENT}.{key}"


def _items(value: JsonValue) -> list[str]:
    """A list, or a table of names and values as the list that means the same."""
    if isinstance(value, dict):
        return [f"{name}={item}" for name, item in value.items()]
    return [str(item) for item in (value if isinstance(value, list) else [value])]


def dockerfile_needs(tree: TaskTree) -> str:
    """What the Dockerfile builds, for a person: its base, and the first of the commands it runs."""
    instructions = list(_instructions(tree))
    base = next((rest for word, rest in instructions if word == "FROM"), "nothing")
    run = [f"{word} {rest[:_LENGTH].rstrip()}" for word, rest in instructions if word in ("RUN", "ADD")]
    more = f" and {len(run) - _SHOWN} more" if len(run) > _SHOWN else ""
    return f"FROM {base}" + (f"; {'; '.join(run[:_SHOWN])}{more}" if run else "")


def workdir_of(tree: TaskTree) -> str | None:
    """Where the image's commands start, if its Dockerfile says so in plain words."""
    found: PurePosixPath | None = None
    for word, rest in _instructions(tree):
        if word == "FROM":
            found = None
        elif word == "WORKDIR":
            path = rest.strip("\"'")
            if "$" in path or ".." in PurePosixPath(path).parts or not (path.startswith("/") or found):
                return None
            found = PurePosixPath(path) if found is None else found / path
    return None if found is None else str(found)


def _instructions(tree: TaskTree) -> Iterator[tuple[str, str]]:
    """Each instruction's word and the rest of its line; what a here-document holds is none."""
    text = (tree.texts.get(DOCKERFILE) or b"").decode("utf-8", "replace")
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    ends: list[str] = []
    for line in re.sub(r"\\[ \t]*\n", " ", "\n".join(lines)).splitlines():
        if ends:
            ends = ends[line.strip() == ends[0] :]
            continue
        match = _INSTRUCTION.fullmatch(line)
        if match is not None:
            ends = _HERE.findall(match["rest"])
            yield match["word"].upper(), " ".join(match["rest"].split())
