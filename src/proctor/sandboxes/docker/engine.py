"""The way to a container engine: requests over its API, and what its refusals mean.

The API is Docker's Engine API (docs.docker.com/reference/api/engine, 1.41 and newer, which Podman serves too).
``aiodocker`` finds the engine (``DOCKER_HOST``, contexts, sockets, TLS) and agrees on a version; it is imported late,
since most commands need no engine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Any

from proctor.sandboxes.errors import ExecChannelError, SandboxError, SandboxStartError

if TYPE_CHECKING:
    import aiohttp
    from aiodocker import Docker

__all__ = ["SLOW_SEC", "Engine", "EngineError", "EngineMissing", "EngineSilent", "connect", "connected"]

_EXTRA = "Install Proctor with it: pip install -e '.[docker]' in its folder."
_PIECE = 1 << 18
_ANSWER_SEC: float = 60.0
"""As long an engine may take for a short answer."""
SLOW_SEC: float = 300.0
"""And for one that it has to walk through, make or remove files for."""
_REMEDY = "Start Docker or Podman, let this user reach its socket, or name another with DOCKER_HOST."


class EngineError(SandboxError):
    """What the engine answered instead: an HTTP status and its words. Where nobody knows better, infrastructure."""

    code = "sandbox-engine"
    remedy = "Look at the engine's own log."

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{words} ({status})")
        self.status, self.words = status, words


class EngineSilent(ExecChannelError):
    """The engine took a question and gave no answer to it in time."""


class EngineMissing(SandboxStartError):
    """No container engine answers."""

    code = "sandbox-engine-missing"
    exit_code = 2
    remedy = _REMEDY


class Engine:
    """One connection to an engine, for one event loop."""

    def __init__(self, docker: Docker, *, is_podman: bool = False) -> None:
        """``is_podman``: where the two differ, which is in words more than in what they do."""
        self._docker, self.is_podman = docker, is_podman

    @property
    def docker(self) -> Docker:
        """The library's client, for what needs its streams."""
        return self._docker

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine, so that it can mount this machine's folders."""
        return str(self._docker.docker_host).startswith("unix")

    async def close(self) -> None:
        """Let go of the connection."""
        await self._docker.close()

    @asynccontextmanager
    async def send(
        self,
        method: str,
        to: str,
        *,
        data: str | IO[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        within: float | None = None,
        **params: object,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A request; ``data`` is JSON or a tar. Raises ``EngineError`` and ``ExecChannelError``.

        ``within``: seconds until all of it has to be there, else ``EngineSilent``; ``None``: whoever asks sees to it.
        """
        import aiohttp

        url = f"{self._docker.docker_host}/{self._docker.api_version}/{to}"
        query = {name: _text(value) for name, value in params.items() if value is not None}
        body = data if data is None or isinstance(data, str) else _pieces(data)
        kind = {"Content-Type": "application/json" if isinstance(data, str) else "application/x-tar"}
        said = {**(kind if data is not None else {}), **(headers or {})}
        timeout = aiohttp.ClientTimeout(total=within, sock_connect=10)
        try:
            async with self._docker.session.request(
                method, url, params=query, data=body, headers=said, timeout=timeout
            ) as response:
                if response.status >= 400:
                    raise EngineError(response.status, _words(await response.read()))
                yield response
        except TimeoutError as error:
            if within is None:
                raise
            raise EngineSilent(f"the container engine does not answer: {method} {to}, {within:.0f} s") from error
        except aiohttp.ClientError as error:
            raise ExecChannelError(f"the container engine broke off: {error}") from error

    async def ask(
        self,
        method: str,
        to: str,
        body: Mapping[str, Any] | None = None,
        *,
        within: float | None = _ANSWER_SEC,
        **params: object,
    ) -> Any:
        """A request and its JSON answer, ``None`` where there is none. Raises as ``send`` does."""
        data = None if body is None else json.dumps(body)
        async with self.send(method, to, data=data, headers=None, within=within, **params) as response:
            answer = await response.read()
        return json.loads(answer) if answer.strip() else None

    async def answers(self, within: float) -> bool:
        """Whether it answers at all."""
        try:
            async with self.send("HEAD", "_ping", within=within):
                return True
        except SandboxError:
            return False


async def connect() -> Engine:
    """A connection, its version agreed on. Raises ``EngineMissing``."""
    try:
        import aiodocker
    except ModuleNotFoundError as error:
        raise EngineMissing("The docker extra is not installed.", remedy=_EXTRA) from error
    try:
        docker = aiodocker.Docker()
    except (ValueError, AssertionError) as error:  # the library asserts that it found one
        raise EngineMissing(str(error) or "No container engine was found.") from error
    try:
        async with asyncio.timeout(_ANSWER_SEC):
            is_podman = await _agreed(docker)
    except (aiodocker.DockerError, OSError) as error:
        await docker.close()
        raise EngineMissing(str(error)) from error
    return Engine(docker, is_podman=is_podman)


async def _agreed(docker: Docker) -> bool:
    """Agree on a version by the engine's cheapest answer (its `version` runs programs); whether it is Podman."""
    async with docker.session.get(f"{docker.docker_host}/_ping") as answer:
        if "Api-Version" in answer.headers:
            docker.api_version = f"v{answer.headers['Api-Version']}"
            return "Libpod-Api-Version" in answer.headers
    return any("Podman" in one["Name"] for one in (await docker.version()).get("Components") or [])


@asynccontextmanager
async def connected() -> AsyncIterator[Engine]:
    """A connection for as long as one question takes. Raises ``EngineMissing``."""
    engine = await connect()
    try:
        yield engine
    finally:
        await engine.close()


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    """A file's content, read here and not in a thread: an engine may answer, and the file be closed, before its end."""
    while piece := file.read(_PIECE):
        yield piece


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _words(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["message"]).strip()
    except (ValueError, KeyError, TypeError):
        return answer.decode(errors="replace").strip()[:500]
