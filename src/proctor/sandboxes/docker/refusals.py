"""What it means that an image did not come: the status in an engine's words, whose fault it is, and what mirrors say.

Whatever a mirror does, the registry that an image names is the one to blame: it is what cells wait for, and a mirror
is only an engine's way to it.
"""

from __future__ import annotations

from collections.abc import Mapping

from proctor.sandboxes.docker.engine import Engine, EngineError
from proctor.sandboxes.errors import ExecChannelError, ImagePullFailed
from proctor.sandboxes.registries import HUB, registry_at_fault, registry_of

__all__ = ["refused", "status_in", "with_mirrors_word"]

_MARKS = {
    "toomanyrequests": 429,
    "429": 429,
    "unauthorized": 401,
    "no basic auth credentials": 401,
    "authentication required": 401,
    "denied": 403,
    "manifest unknown": 404,
}


def status_in(words: str) -> int | None:
    """What a registry answered, where the engine passes it on in words only."""
    return next((status for mark, status in _MARKS.items() if mark in words.lower()), None)


def refused(image: str, words: str, status: int | None) -> ImagePullFailed:
    """A pull that an engine gave up with these words."""
    registry = registry_of(image) if registry_at_fault(words, status) else None
    return ImagePullFailed(words, http_status=status, registry=registry, where=image)


async def with_mirrors_word(
    engine: Engine, image: str, failed: ImagePullFailed, headers: Mapping[str, str]
) -> ImagePullFailed:
    """The same failure, or what a mirror said of the image, where an engine tells only of the registry behind it.

    Docker asks its mirrors first and then Docker Hub, and tells the last answer: behind a firewall that is always that
    the Hub can't be reached, though the mirror may be up and have no such image.
    """
    if failed.registry != HUB or not (mirrors := await _mirrors(engine)):
        return failed
    words = f"{failed.message} (after its mirrors {', '.join(mirrors)})"
    said, status = await _asked(engine, image, headers)
    if status is None:
        return ImagePullFailed(words, http_status=failed.http_status, registry=HUB, where=failed.where)
    registry = HUB if registry_at_fault(said, status) else None
    return ImagePullFailed(f"{said}; {words}", http_status=status, registry=registry, where=failed.where)


async def _mirrors(engine: Engine) -> list[str]:
    try:
        info = await engine.ask("GET", "info")
    except (EngineError, ExecChannelError):
        return []
    return [str(one) for one in (info.get("RegistryConfig") or {}).get("Mirrors") or []]


async def _asked(engine: Engine, image: str, headers: Mapping[str, str]) -> tuple[str, int | None]:
    """What is said of an image's manifest by the first that answers at all, and as which status."""
    try:
        async with engine.send("GET", f"distribution/{image}/json", headers=headers):
            return "", None
    except EngineError as error:
        return error.words, 404 if error.status == 404 else status_in(error.words)
    except ExecChannelError:
        return "", None
