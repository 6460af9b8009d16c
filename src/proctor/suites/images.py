"""Which images a task's sandboxes start from, as its files name them: what a registry will be asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from proctor.suites.loaded import LoadedTask
from proctor.suites.services import Build, Service
from proctor.suites.tasks import Environment

__all__ = ["base_images", "images_of"]

_DOCKERFILES: frozenset[str] = frozenset({"environment/Dockerfile", "tests/Dockerfile"})
_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?\s*$", re.IGNORECASE | re.MULTILINE)
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
    """What a Dockerfile's stages start from, but for other stages, nothing at all, and names that an argument makes."""
    found, stages = [], {"scratch"}
    for image, stage in _FROM.findall(dockerfile):
        if image.lower() not in stages and "$" not in image:
            found.append(image)
        stages.add(stage.lower())
    return found


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
