"""Images: found here, pulled once, and named by what they really are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from proctor.sandboxes.docker.engine import Engine, EngineError
from proctor.sandboxes.errors import ExecChannelError, ImagePullFailed

__all__ = ["ensure", "find"]


async def find(engine: Engine, image: str) -> Mapping[str, Any]:
    """What the engine knows of an image that is here. Raises ``ImagePullFailed``."""
    try:
        found: Mapping[str, Any] = await engine.ask("GET", f"images/{quote(image, safe='/:@')}/json")
    except EngineError as error:
        raise ImagePullFailed(f"{image} is not here: {error.words}", http_status=error.status, where=image) from error
    return found


async def ensure(engine: Engine, image: str) -> str:
    """Pull an image unless it is here; the digest of its content. Raises ``ImagePullFailed``."""
    try:
        found = await find(engine, image)
    except ImagePullFailed as absent:
        if image.startswith("sha256:"):
            raise
        await _pull(engine, image, absent)
        found = await find(engine, image)
    digests = found.get("RepoDigests") or []
    return str(digests[0]).partition("@")[2] if digests else str(found["Id"])


async def _pull(engine: Engine, image: str, absent: ImagePullFailed) -> None:
    name = image if "@" in image or ":" in image.rpartition("/")[2] else f"{image}:latest"
    try:
        async with engine.send("POST", "images/create", fromImage=name) as answer:
            async for line in answer.content:
                told = json.loads(line)
                if "error" in told:
                    raise ImagePullFailed(str(told["error"]), http_status=_status(str(told["error"])), where=image)
    except EngineError as error:
        status = error.status if error.status in (401, 403, 404, 429) else _status(error.words)
        raise ImagePullFailed(error.words, http_status=status, where=image) from absent
    except (ExecChannelError, ValueError) as error:
        raise ImagePullFailed(f"the pull broke off: {error}", where=image) from error


def _status(words: str) -> int | None:
    """What a registry answered, where the engine passes it on in words only."""
    for status, mark in ((429, "toomanyrequests"), (429, "429"), (401, "unauthorized"), (403, "denied")):
        if mark in words.lower():
            return status
    return None
