"""Registries: which an image comes from, and which failures are a registry's own.

A task names its image, so what a task can bring about must not be laid on a registry that others use: an image that is
not there or not ours to see, one for another machine, a build's own commands. What is laid on it is what no name of an
image and no file of a task can make a registry say.
"""

from __future__ import annotations

import re

__all__ = ["HUB", "base_of_failed_build", "registry_at_fault", "registry_of", "repository_of"]

HUB: str = "docker.io"
"""Docker Hub's, by the name that engines give it."""
_ALSO_HUB = "index.docker.io"
"""An old name of it, which engines take for the same."""

_OF_THE_IMAGE: frozenset[int] = frozenset({400, 401, 403, 404})
"""Answers about one image, not about the registry."""
_SIGNS = re.compile(
    r"toomanyrequests: |unexpected http status: (429|5\d\d)|connection (refused|reset)|i/o timeout|handshake timeout"
    r"|\(client\.timeout|no such host|no route to host|network is unreachable|server misbehaving|: eof$|unexpected eof"
)
"""How engines tell of a registry that fails or is out of reach; each has a character that no image's name has."""
_STEP = re.compile(r"step \d+/\d+ ?: (.*)", re.IGNORECASE)
_FROM = re.compile(r"from (?:--\S+ )*(\S+)", re.IGNORECASE)


def registry_of(image: str) -> str:
    """The registry in an image's name; without one it is Docker Hub's."""
    first, slash, _ = image.partition("/")
    named = slash and ("." in first or ":" in first or first == "localhost") and first != _ALSO_HUB
    return first if named else HUB


def repository_of(image: str) -> str:
    """The registry and the path in an image's name, without tag and digest, as one engine or another may write it."""
    folder, slash, last = image.partition("@")[0].rpartition("/")
    path, registry = f"{folder}{slash}{last.partition(':')[0]}", registry_of(image)
    if registry != HUB:
        return path
    return f"{HUB}/{path.removeprefix(f'{_ALSO_HUB}/').removeprefix(f'{HUB}/').removeprefix('library/')}"


def registry_at_fault(words: str, http_status: int | None) -> bool:
    """Whether an engine's words on a pull are of the registry failing, and not of the image that was asked for."""
    return http_status not in _OF_THE_IMAGE and _SIGNS.search(words.lower().rstrip()) is not None


def base_of_failed_build(lines: list[str], error: str) -> str | None:
    """The image that a build was pulling when it failed; ``None`` where one of its own commands did.

    ``lines``: what the engine printed last. A command may print what it likes, but then the error is of a command.
    """
    steps = [found[1] for line in lines if (found := _STEP.match(line))]
    base = _FROM.match(steps[-1]) if steps else None
    return base[1] if base and not error.startswith("The command ") else None
