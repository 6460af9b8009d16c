"""Which images a task's sandboxes start from, as its files name them: what a registry will be asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from proctor.suites.loaded import LoadedTask
from proctor.suites.services import Build, Service
from proctor.suites.tasks import Environment

__all__ = ["base_images", "images_of", "is_whole"]

_DOCKERFILES: frozenset[str] = frozenset({"environment/Dockerfile", "tests/Dockerfile"})
_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?\s*$", re.IGNORECASE | re.MULTILINE)
_ARG = re.compile(r"^\s*ARG\s+(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
_DEFAULT = re.compile(r"(\w+)=(\"[^\"]*\"|'[^']*'|\S*)")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?-([^{}]*))?\})")
_MAX_BYTES: int = 256 * 1024
"""Of a Dockerfile: in a longer one nobody looks."""


def images_of(task: LoadedTask) -> list[str]:
    """The images of a task's environment and verifier, by the names that its files give them."""
    if task.task is None:
        return []
    environments = [task.task.environment, task.task.verifier.environment]
    services = _services(task.task.environment)
    named = [one.docker_image for one in environments if one is not None and one.docker_image is not None]
    named += [service.image for service in services if service.image is not None]
    built = {_dockerfile(service.build) for service in services if service.build is not None}
    if any(one is not None and one.dockerfile for one in environments):
        built |= _DOCKERFILES
    places = [file.source for file in task.files if file.path in built and file.size <= _MAX_BYTES]
    named += [image for place in places for image in base_images(_text(Path(place)))]
    return list(dict.fromkeys(named))


def _services(environment: Environment) -> Sequence[Service]:
    return () if environment.services is None else (environment.services.main, *environment.services.beside)


def _dockerfile(build: Build) -> str:
    return str(PurePosixPath("environment") / build.context / build.dockerfile)


def base_images(dockerfile: str) -> list[str]:
    """What a Dockerfile's stages start from, but for other stages and nothing at all.

    Arguments have their defaults: a build is given no others. A name that needs one without keeps its ``$``.
    """
    found, stages = [], {"scratch"}
    first = _FROM.search(dockerfile)
    arguments = _arguments(dockerfile[: first.start()] if first else "")
    for written, stage in _FROM.findall(dockerfile):
        image = _filled(written, arguments)
        if image.lower() not in stages:
            found.append(image)
        stages.add(stage.lower())
    return found


def is_whole(image: str) -> bool:
    """Whether an image's name is known to its end. Of another only the registry may be; else it is Docker Hub's."""
    return "$" not in image


def _arguments(head: str) -> dict[str, str]:
    """The defaults of what is declared before the first stage; one may be made of others."""
    arguments: dict[str, str] = {}
    for declared in _ARG.findall(head):
        for name, value in _DEFAULT.findall(declared):
            arguments[name] = _filled(value.strip("\"'"), arguments)
    return arguments


def _filled(text: str, arguments: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        return arguments.get(found[1] or found[2]) or found[3] or found[0]

    return _VARIABLE.sub(value, text)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
