"""The way to the worker: started when it is first asked, started again where it has died, ended with its owner."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import aiohttp

from proctor.kernel.canonical import Json
from proctor.models.errors import CallFailed, ModelsExtraMissing
from proctor.models.wires.fields import encoded, parsed, string
from proctor.models.wires.interfaces import Fault
from proctor.settings import clean_environment

__all__ = ["LitellmWorker", "Question"]

_START_SEC: float = 60.0
"""Until it has to be there: importing litellm takes 5 to 10 s on a machine that has other work."""
_END_SEC: float = 5.0
_NOTICE_SEC: float = 1.0
"""Between a connection that broke and the end of the process that broke it."""
_AT_ONCE: int = 64
"""Requests that are worked on at a time: each costs the worker some 5 ms of processor, and the rest is waiting."""
_SOCKET = "socket"
_ERRORS = "errors"
_ENVIRONMENT: Mapping[str, str] = {
    "LITELLM_MODE": "PRODUCTION",  # else it reads a file `.env`
    "LITELLM_LOG": "ERROR",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
}
"""It asks no network for its own tables."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One call. ``body`` is one of OpenAI's chat wire; the model is named as litellm does, ``provider/model``."""

    model: str
    api_key: str
    body: Mapping[str, Json]
    stream: bool
    timeout: float
    """Seconds until there has to be an answer; of a stream until its next part."""
    api_base: str = ""


@dataclass(frozen=True, kw_only=True)
class _Running:
    process: asyncio.subprocess.Process
    session: aiohttp.ClientSession
    folder: Path


class LitellmWorker:
    """One worker; used from one event loop."""

    def __init__(
        self, *, python: str = sys.executable, environment: Mapping[str, str] | None = None, at_once: int = _AT_ONCE
    ) -> None:
        """``python``: one that has litellm. ``environment``: what the worker has beside the least (a proxy, a CA)."""
        self._python, self._at_once = python, at_once
        self._environment = {**clean_environment(), **_ENVIRONMENT, **(environment or {})}
        self._running: _Running | None = None
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Of its process; ``None``: it was not needed yet."""
        return None if self._running is None else self._running.process.pid

    @asynccontextmanager
    async def ask(self, question: Question) -> AsyncIterator[aiohttp.ClientResponse]:
        """Its answer as a provider of OpenAI's chat wire gives it: a status, a body or a stream of events.

        Raises ``ModelsExtraMissing``, ``CallFailed`` where it does not start, and ``aiohttp.ClientError`` where it dies
        meanwhile.
        """
        running = await self._ready()
        try:
            async with running.session.post("http://worker/", data=encoded(asdict(question))) as response:
                yield response
        except aiohttp.ClientError:
            with suppress(TimeoutError):  # where it died, who asks next has to find that it did
                await asyncio.wait_for(running.process.wait(), _NOTICE_SEC)
            raise

    async def close(self) -> None:
        """End it; what it still works on breaks off."""
        running, self._running = self._running, None
        if running is not None:
            await _ended(running)

    async def _ready(self) -> _Running:
        async with self._starting:
            if self._running is not None and self._running.process.returncode is None:
                return self._running
            await self.close()
            self._running = await self._started()
            return self._running

    async def _started(self) -> _Running:
        folder = Path(tempfile.mkdtemp(prefix="proctor-litellm-"))
        token = secrets.token_urlsafe()
        with (folder / _ERRORS).open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *(self._python, "-P", "-m", "proctor.models.litellm_worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=self._environment,
                cwd=folder,
            )
        path = str(folder / _SOCKET)
        session = aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(path, limit=0),
            headers={"Authorization": f"Bearer {token}"},
            timeout=aiohttp.ClientTimeout(total=None),
        )
        running = _Running(process=process, session=session, folder=folder)
        try:
            said = await _greeted(process, {"socket": path, "token": token, "at_once": self._at_once})
            _check(said, folder)
        except BaseException:  # also where whoever asked is cancelled: no process is left behind
            await _ended(running)
            raise
        return running


async def _greeted(process: asyncio.subprocess.Process, start: Mapping[str, Json]) -> Json:
    """Its first words; ``None`` where it said none in time. Its standard input, with the token, is ours alone."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(TimeoutError, ConnectionError):
        process.stdin.write(json.dumps(start).encode() + b"\n")
        await process.stdin.drain()
        return parsed(await asyncio.wait_for(process.stdout.readline(), _START_SEC))
    return None


def _check(said: Json, folder: Path) -> None:
    state = string(said, "state")
    if state == "missing":
        raise ModelsExtraMissing(
            "litellm is not installed.",
            remedy="Install Proctor with the extra for it: pip install -e '.[litellm]' in its folder.",
        )
    if state != "ready":
        words = (folder / _ERRORS).read_bytes()[-2_000:].decode("utf-8", "replace")
        raise CallFailed(f"The litellm worker did not start. {words}", fault=Fault.UNAVAILABLE, http_status=None)


async def _ended(running: _Running) -> None:
    """It ends by itself when its standard input does."""
    await running.session.close()
    process = running.process
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _END_SEC)
    except TimeoutError:
        process.kill()
        await process.wait()
    shutil.rmtree(running.folder, ignore_errors=True)
