"""Images: found here, pulled once, and named by what they really are."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

from proctor.sandboxes.docker.engine import Engine, EngineError
from proctor.sandboxes.docker.fetching import Fetching
from proctor.sandboxes.docker.labels import OURS
from proctor.sandboxes.docker.refusals import refused, status_in, with_mirrors_word
from proctor.sandboxes.docker.tars import pack
from proctor.sandboxes.errors import ExecChannelError, ImagePullFailed
from proctor.sandboxes.registries import base_of_failed_build, registry_at_fault, registry_of, repository_of

if TYPE_CHECKING:
    from aiohttp import ClientResponse

__all__ = ["BROKEN", "DOCKERFILE", "REPOSITORY", "BuildSource", "build", "by_digest", "ensure", "find", "is_here"]

DOCKERFILE = "Dockerfile"
_BUILD_BYTES = 8 * 1000**3
"""The memory of a build's commands, which are a stranger's: twice what a sandbox has that names none."""
_QUIET_SEC = 600.0

REPOSITORY = "proctor-environment"
"""Images that we build are tagged with it and the digest of what they were built from."""
BROKEN = "proctor-broken"
"""What a build had come to when it broke is tagged with it: no label is on it yet, and nobody would find it again."""
_STEP = re.compile(r"\s*---> ([0-9a-f]{12,64})\s*")

_RETRYING = re.compile(r"Retrying in (\d+) second")
_FIRST_RETRY_SEC = 5
"""An engine waits so long after a layer was cut off, and then ever longer, for minutes. Trying again is ours, with its
class on record and the cell's place given to another."""


@dataclass(frozen=True, kw_only=True)
class BuildSource:
    """A folder, all of which is sent to the engine, and the file in it that says how."""

    folder: Path
    dockerfile: str = DOCKERFILE


async def find(engine: Engine, image: str) -> Mapping[str, Any]:
    """What the engine knows of an image that is here. Raises ``ImagePullFailed``."""
    try:
        found: Mapping[str, Any] = await engine.ask("GET", f"images/{quote(image, safe='/:@')}/json")
    except EngineError as error:
        status = error.status if error.status == 404 else None
        raise ImagePullFailed(f"{image} is not here: {error.words}", http_status=status, where=image) from error
    return found


async def is_here(engine: Engine, image: str) -> bool:
    """Whether an image is here."""
    try:
        await find(engine, image)
    except ImagePullFailed:
        return False
    return True


async def ensure(engine: Engine, image: str, fetching: Fetching) -> str:
    """Pull an image unless it is here; its name by digest. Raises ``ImagePullFailed``."""
    async with fetching.alone(image):
        try:
            found = await find(engine, image)
        except ImagePullFailed as absent:
            if image.startswith("sha256:"):
                raise
            await fetching.turn(image)
            headers = await fetching.pull_headers(image)
            try:
                await _pull(engine, image, absent, headers)
            except ImagePullFailed as failed:
                raise await with_mirrors_word(engine, image, failed, headers) from failed
            found = await find(engine, image)
    return by_digest(image, found.get("RepoDigests") or []) or str(found["Id"])


def by_digest(image: str, known: Sequence[str]) -> str | None:
    """Of the names by digest that an engine has for an image, one in the repository that was asked for."""
    if image in known:
        return image
    wanted = repository_of(image)
    return next((name for name in known if repository_of(name) == wanted), known[0] if known else None)


async def build(
    engine: Engine, source: BuildSource, timeout_sec: float, labels: Mapping[str, str], fetching: Fetching
) -> str:
    """Build a folder's Dockerfile unless that was done before; the image's id. Raises ``ImagePullFailed``."""
    folder = source.folder
    if not (folder / source.dockerfile).is_file():
        raise ImagePullFailed(f"there is no {source.dockerfile}", where=str(folder))
    with pack(folder, ".", (0, 0), times=False) as context:
        digest = await asyncio.to_thread(_digest, context, source.dockerfile)
        tag = f"{REPOSITORY}:{digest[:32]}"
        async with fetching.alone(tag):
            try:
                known = str((await find(engine, tag))["Id"])
                await _name(engine, known, tag)  # so that the engine knows when it was asked for last
                return known
            except ImagePullFailed:
                headers = await fetching.build_headers()
                async with _in_time(timeout_sec, source):
                    await _build(engine, context, tag, labels, source, headers)
            return str((await find(engine, tag))["Id"])


@asynccontextmanager
async def _in_time(timeout_sec: float, source: BuildSource) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout_sec):
            yield
    except TimeoutError as error:
        raise ImagePullFailed(f"the build took more than {timeout_sec:.0f} s", where=str(source.folder)) from error


def _digest(context: IO[bytes], dockerfile: str) -> str:
    digest = hashlib.sha256(b"" if dockerfile == DOCKERFILE else f"{dockerfile}\0".encode())
    while piece := context.read(1 << 20):
        digest.update(piece)
    context.seek(0)
    return digest.hexdigest()


async def _build(
    engine: Engine,
    context: IO[bytes],
    tag: str,
    labels: Mapping[str, str],
    source: BuildSource,
    headers: Mapping[str, str],
) -> None:
    words: deque[str] = deque(maxlen=20)
    half = ""
    folder, own = source.folder, json.dumps(dict(labels))
    held = {"memory": _BUILD_BYTES, "memswap": _BUILD_BYTES}
    options = {"t": tag, "labels": own, "dockerfile": source.dockerfile, "rm": True, "forcerm": True, **held}
    try:
        async with engine.send("POST", "build", data=context, headers=headers, within=None, **options) as answer:
            async for line in answer.content:
                told = json.loads(line)
                words.append(str(told.get("stream", "")).strip())
                step = _STEP.fullmatch(str(told.get("stream", "")))
                half = step[1] if step else half
                if "error" in told:
                    await _keep_half(engine, half, f"{BROKEN}:{labels[OURS]}-{tag.rpartition(':')[2]}")
                    raise await _broken_build(engine, str(told["error"]), list(words), folder)
    except (EngineError, ExecChannelError, ValueError) as error:
        raise ImagePullFailed(f"the build broke off: {error}", where=str(folder)) from error


async def _keep_half(engine: Engine, image: str, tag: str) -> None:
    """Give what a broken build had come to a name, unless it has one: then it is what the build began from."""
    with suppress(EngineError, ImagePullFailed):
        if image and not (await find(engine, image)).get("RepoTags"):
            await _name(engine, image, tag)


async def _name(engine: Engine, image: str, tag: str) -> None:
    repository, _, own = tag.rpartition(":")
    try:
        await engine.ask("POST", f"images/{image}/tag", None, repo=repository, tag=own)
    except EngineError as error:
        raise ImagePullFailed(f"{image} is not here: {error.words}", where=tag) from error


async def _pull(engine: Engine, image: str, absent: ImagePullFailed, headers: Mapping[str, str]) -> None:
    name = image if "@" in image or ":" in image.rpartition("/")[2] else f"{image}:latest"
    try:
        async with engine.send("POST", "images/create", headers=headers, fromImage=name) as answer:
            async for line in _lines(answer, image):
                told = json.loads(line)
                if "error" in told:
                    raise refused(image, str(told["error"]), status_in(str(told["error"])))
                waits = _RETRYING.match(str(told.get("status", "")))
                if waits is not None and int(waits[1]) > _FIRST_RETRY_SEC:
                    words = "the registry broke off in the middle of a layer, twice"
                    raise ImagePullFailed(words, registry=registry_of(image), where=image)
    except EngineError as error:
        status = error.status if error.status in (401, 403, 404, 429) else status_in(error.words)
        raise refused(image, error.words, status) from absent
    except (ExecChannelError, ValueError) as error:
        raise ImagePullFailed(f"the pull broke off: {error}", where=image) from error


async def _lines(answer: ClientResponse, image: str) -> AsyncIterator[bytes]:
    """What an engine tells of a pull; one whose registry says nothing any more is given up."""
    while True:
        try:
            line = await asyncio.wait_for(answer.content.readline(), _QUIET_SEC)
        except TimeoutError as error:
            words = f"nothing came from the registry for {_QUIET_SEC:.0f} s"
            raise ImagePullFailed(words, registry=registry_of(image), where=image) from error
        if not line:
            return
        yield line


async def _broken_build(engine: Engine, error: str, lines: list[str], folder: Path) -> ImagePullFailed:
    last = " | ".join(word for word in lines if word)[-1000:]
    base, status = base_of_failed_build(lines, error), status_in(error)
    registry = registry_of(base) if base and registry_at_fault(error, status) else None
    failed = ImagePullFailed(f"{error}: {last}", http_status=status, registry=registry, where=str(folder))
    return await with_mirrors_word(engine, base, failed, {}) if base else failed
