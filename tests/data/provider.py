"""A model provider that tests of jobs ask: a real HTTP server on this machine."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiohttp import web

__all__ = ["Answer", "Provider", "down", "said"]

Answer = Callable[[str, int], tuple[int, dict[str, Any]]]


def said(words: str, *, finish: str = "stop") -> tuple[int, dict[str, Any]]:
    choice = {"index": 0, "message": {"role": "assistant", "content": words}, "finish_reason": finish}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return 200, {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


def down(status: int) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"message": "not now", "type": "server_error", "code": None}}


class Provider:
    """A provider on OpenAI's wires of chats and embeddings; it counts what it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.requests = 0
        self.answer: Answer = lambda question, _time: said(question)
        self.delay = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result()

    async def _serve(self) -> int:
        server = web.Server(self._handle, access_log=None)
        self._server = await self._loop.create_server(server, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = json.loads(await request.read())
        if "messages" not in body:
            return await self._embed(body)
        question = body["messages"][-1]["content"]
        self.asked[question] += 1
        await asyncio.sleep(self.delay)
        status, body = self.answer(question, self.asked[question])
        return web.json_response(body, status=status)

    async def _embed(self, body: dict[str, Any]) -> web.StreamResponse:
        """Vectors of texts: what begins with the same letter is alike."""
        texts = body["input"]
        self.asked.update(texts)
        self.requests += 1
        await asyncio.sleep(self.delay)
        status, failed = self.answer("embedding", self.requests)
        if status != 200:
            return web.json_response(failed, status=status)
        data = [
            {"index": place, "embedding": [1.0, 0.0] if text[:1] == "q" else [0.6, 0.8]}
            for place, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return web.json_response({"data": data, "model": body["model"], "usage": usage})

    def close(self) -> None:
        async def stop() -> None:
            self._server.close()

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
