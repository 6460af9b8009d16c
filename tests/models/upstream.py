"""A provider that misbehaves on purpose: a real HTTP server on OpenAI's chat wire, with a list of what it does next."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

Behaviour = Callable[[web.BaseRequest, dict[str, object]], Awaitable[web.StreamResponse]]


@dataclass
class Bill:
    """What the provider would bill: tokens that it generated, whether or not anybody read them."""

    requests: int = 0
    prompt: int = 0
    completion: int = 0
    keys: list[str] = field(default_factory=list)
    bodies: list[dict[str, object]] = field(default_factory=list)


BILL = web.RequestKey("bill", Bill)


def usage(prompt: int, completion: int) -> dict[str, object]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def document(model: object, *, prompt: int = 10, completion: int = 5) -> dict[str, object]:
    message = {"role": "assistant", "content": "hello"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": model}
    return {**head, "choices": [choice], "usage": usage(prompt, completion)}


def answers(model: str | None = None, *, prompt: int = 10, completion: int = 5, delay: float = 0) -> Behaviour:
    """A whole answer or a stream, as it was asked for."""

    async def behave(request: web.BaseRequest, body: dict[str, object]) -> web.StreamResponse:
        await asyncio.sleep(delay)
        bill = request[BILL]
        bill.prompt += prompt
        bill.completion += completion
        name = model or body["model"]
        if not body.get("stream"):
            return web.json_response(document(name, prompt=prompt, completion=completion))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for chunk in chunks(name, prompt, completion):
            await response.write(chunk)
        return response

    return behave


def chunks(model: object, prompt: int, completion: int) -> list[bytes]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model}
    deltas = [{"role": "assistant", "content": "hel"}, {"content": "lo"}]
    events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    events.append({**head, "choices": [], "usage": usage(prompt, completion)})
    return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events] + [b"data: [DONE]\n\n"]


def refuses(
    status: int, code: str = "", *, headers: dict[str, str] | None = None, body: bytes | None = None
) -> Behaviour:
    async def behave(request: web.BaseRequest, _body: dict[str, object]) -> web.StreamResponse:
        if body is not None:
            return web.Response(status=status, body=body, headers=headers)
        error = {"error": {"message": f"refused with {status}", "type": "x", "param": None, "code": code or None}}
        return web.json_response(error, status=status, headers=headers)

    return behave


def drops(*, after: int = 0, prompt: int = 10, completion: int = 2) -> Behaviour:
    """Breaks the connection: before any answer, or after so many pieces of a stream."""

    async def behave(request: web.BaseRequest, body: dict[str, object]) -> web.StreamResponse:
        bill = request[BILL]
        bill.prompt += prompt
        bill.completion += completion
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if after:
            await response.prepare(request)
            for chunk in chunks(body["model"], prompt, completion)[:after]:
                await response.write(chunk)
        assert request.transport is not None
        request.transport.abort()
        return response

    return behave


def hangs() -> Behaviour:
    async def behave(request: web.BaseRequest, _body: dict[str, object]) -> web.StreamResponse:
        await asyncio.sleep(3600)
        raise AssertionError

    return behave


class Provider:
    """The server. ``then`` is what it does next, in order; after the last it goes on with that."""

    def __init__(self, then: Sequence[Behaviour], *, key: str = "") -> None:
        self.then, self.key, self.bill = list(then), key, Bill()
        self.url = ""
        self.gone = 0
        """Requests whose caller went away before their end."""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = json.loads(await request.content.read())
        self.bill.requests += 1
        self.bill.bodies.append(body)
        self.bill.keys.append(request.headers.get("Authorization", "").removeprefix("Bearer "))
        request[BILL] = self.bill
        if self.key and self.bill.keys[-1] != self.key:
            return await refuses(401, "invalid_api_key")(request, body)
        behave = self.then.pop(0) if len(self.then) > 1 else self.then[0]
        try:
            return await behave(request, body)
        except (asyncio.CancelledError, ConnectionError):
            self.gone += 1
            raise


@asynccontextmanager
async def provider(*then: Behaviour, key: str = "") -> AsyncIterator[Provider]:
    made = Provider(then, key=key)
    server = web.Server(made.handle, access_log=None, handler_cancellation=True)
    listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        listening.close()
        await server.shutdown(0.1)
