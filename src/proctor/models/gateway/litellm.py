"""Providers that litellm reaches: its worker is an upstream on OpenAI's chat wire."""

from __future__ import annotations

import json

import aiohttp

from proctor.models.errors import CallFailed
from proctor.models.gateway.upstreams import Broken, HttpIncoming, Outgoing, Unreachable
from proctor.models.litellm_worker.client import LitellmWorker, Question

__all__ = ["LitellmUpstream"]


class LitellmUpstream:
    """One worker for all such providers; started when the first is asked."""

    def __init__(self, worker: LitellmWorker | None = None) -> None:
        """``worker``: one with a Python of its own; ``None``: one with this process's."""
        self._worker = worker or LitellmWorker()

    async def send(self, request: Outgoing) -> HttpIncoming:
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
            response = await asking.__aenter__()
        except CallFailed as error:
            raise Unreachable(str(error)) from error
        except aiohttp.ClientError as error:
            raise Broken(type(error).__name__) from error
        return HttpIncoming(response, aiohttp.ClientError, lambda: asking.__aexit__(None, None, None))

    async def close(self) -> None:
        """End the worker."""
        await self._worker.close()
