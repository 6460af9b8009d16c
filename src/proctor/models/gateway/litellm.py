"""Providers that litellm reaches: its worker is an upstream on OpenAI's chat wire."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager

import aiohttp

from proctor.models.errors import CallFailed
from proctor.models.gateway.upstreams import Broken, Outgoing, Unreachable
from proctor.models.litellm_worker.client import LitellmWorker, Question

__all__ = ["LitellmUpstream"]


class LitellmUpstream:
    """One worker for all such providers; started when the first is asked."""

    def __init__(self, worker: LitellmWorker | None = None) -> None:
        """``worker``: one with a Python of its own; ``None``: one with this process's."""
        self._worker = worker or LitellmWorker()

    async def send(self, request: Outgoing) -> _Incoming:
        """Through the worker. Raises ``Unreachable`` where it does not start, ``Broken`` where it dies meanwhile."""
        question = Question(
            model=f"{request.provider.name}/{request.model}",
            api_key=request.key,
            api_base=request.provider.base_url,
            body=json.loads(request.body),
            stream=request.stream,
            timeout=request.timeout_sec,
        )
        asking = self._worker.ask(question)
        try:
            return _Incoming(asking, await asking.__aenter__())
        except CallFailed as error:
            raise Unreachable(str(error)) from error
        except aiohttp.ClientError as error:
            raise Broken(type(error).__name__) from error

    async def close(self) -> None:
        """End the worker."""
        await self._worker.close()


class _Incoming:
    def __init__(
        self, asking: AbstractAsyncContextManager[aiohttp.ClientResponse], response: aiohttp.ClientResponse
    ) -> None:
        self._asking, self._response = asking, response
        self._is_open = True

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.content.iter_any():
                yield piece
        except aiohttp.ClientError as error:
            raise Broken(type(error).__name__) from error
        finally:
            await self.close()

    async def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._response.close()
            await self._asking.__aexit__(None, None, None)
