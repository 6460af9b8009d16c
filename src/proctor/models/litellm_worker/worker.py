"""The worker: takes questions on a Unix socket, and answers them as OpenAI's chat completions would.

It imports nothing of ours, so that litellm may live in an environment of its own. What an agent wrote goes to litellm
by an allow-list: litellm takes addresses, keys and callbacks by the same way as temperatures.
"""

from __future__ import annotations

import asyncio
import hmac
import importlib
import json
import os
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

__all__ = ["main"]

_BODY_BYTES: int = 64 << 20
"""Of a question: pictures in base64 come in requests of tens of MiB."""
_PASSED: frozenset[str] = frozenset(
    {
        *("messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format"),
        *("temperature", "top_p", "n", "stop", "seed", "presence_penalty", "frequency_penalty", "logit_bias"),
        *("max_tokens", "max_completion_tokens", "logprobs", "top_logprobs", "reasoning_effort", "verbosity", "user"),
        *("stream_options", "service_tier", "safety_identifier", "prompt_cache_key"),
    }
)
_IGNORED: frozenset[str] = frozenset({"model", "stream", "store", "metadata"})
"""The first two are the question's own; the others are for what OpenAI keeps."""
_PARTS: frozenset[str] = frozenset({"text", "image_url", "input_audio", "refusal", "thinking", "redacted_thinking"})
_CODES: Mapping[str, str] = {
    "AuthenticationError": "invalid_api_key",
    "PermissionDeniedError": "permission_error",
    "NotFoundError": "model_not_found",
    "ContextWindowExceededError": "context_length_exceeded",
    "ContentPolicyViolationError": "content_policy_violation",
    "UnsupportedParamsError": "unsupported_parameter",
    "RateLimitError": "rate_limit_exceeded",
}
"""litellm's classes of errors as OpenAI's codes; where a provider gives a code itself, that is told."""


class _Refused(Exception):
    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field, self.words = field, words


def main() -> int:
    """Serve until standard input ends. Its first line says where and for whom; ours, that we are ready."""
    start = json.loads(sys.stdin.readline())
    out, sys.stdout = sys.stdout, sys.stderr  # litellm prints advice
    threading.Thread(target=_end_with_parent, args=[Path(start["socket"]).parent], daemon=True).start()
    try:
        litellm: Any = importlib.import_module("litellm")
    except ModuleNotFoundError:
        print(json.dumps({"state": "missing"}), file=out, flush=True)
        return 1
    litellm.suppress_debug_info = True
    asyncio.run(_serve(_Worker(litellm, start["token"], start["at_once"]), start["socket"], out))
    return 0


def _end_with_parent(folder: Path) -> None:
    """Ends the process at once, whatever its loop is doing, when whoever started it ends or wants it to."""
    while sys.stdin.readline():
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


async def _serve(worker: _Worker, socket: str, out: Any) -> None:
    app = web.Application(client_max_size=_BODY_BYTES)
    app.router.add_post("/", worker.answer)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    await web.UnixSite(runner, socket).start()
    print(json.dumps({"state": "ready"}), file=out, flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # a worker lives long, and the file would grow
    await asyncio.Event().wait()


class _Worker:
    """Answers questions."""

    def __init__(self, litellm: Any, token: str, at_once: int) -> None:
        self._litellm, self._token = litellm, token
        self._room = asyncio.Semaphore(at_once)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One question."""
        said = request.headers.get("Authorization", "")
        if not hmac.compare_digest(said.encode(), f"Bearer {self._token}".encode()):
            return _refusal(401, "Not the owner of this worker.", "invalid_api_key")
        question = await request.json()
        async with self._room:
            try:
                return await self._answered(request, question)
            except _Refused as refused:
                return _refusal(400, f"{refused.field}: {refused.words}", "unsupported_parameter")

    async def _answered(self, request: web.Request, question: dict[str, Any]) -> web.StreamResponse:
        try:
            reply = await self._litellm.acompletion(**_arguments(question))
            if not question["stream"]:
                return web.json_response(reply.model_dump(mode="json"))
            first = await anext(reply, None)
        except (_Refused, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - litellm raises classes of its own, of httpx and of each provider
            status, body = _error(error, question["api_key"])
            return web.json_response(body, status=status, headers=_again(error))
        return await _streamed(request, first, reply, question["api_key"])


def _arguments(question: dict[str, Any]) -> dict[str, Any]:
    """What litellm is called with. Raises ``_Refused`` for fields that it might take for its own."""
    body = question["body"]
    for name in body:
        if name not in _PASSED | _IGNORED:
            raise _Refused(name, "this provider is reached by litellm, which does not take it")
    _check_messages(body.get("messages"))
    passed = {name: value for name, value in body.items() if name in _PASSED}
    own = {name: question[name] for name in ("model", "api_key", "stream", "timeout")}
    base = {"api_base": question["api_base"]} if question["api_base"] else {}
    return {**passed, **own, **base, "num_retries": 0, "max_retries": 0}


def _check_messages(messages: Any) -> None:
    """litellm itself fetches pictures and files that are given by their addresses: from this machine's network."""
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise _Refused("messages", "it has to be a list of objects")
    for index, message in enumerate(messages):
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict) or part.get("type") not in _PARTS:
                raise _Refused(f"messages.{index}.content", "a part of a kind that litellm is not given")
            image = part.get("image_url", "data:")
            url = image.get("url") if isinstance(image, dict) else image
            if not isinstance(url, str) or not url.startswith("data:"):
                raise _Refused(f"messages.{index}.content", "a picture has to be given by its bytes")


async def _streamed(request: web.Request, first: Any, rest: AsyncIterator[Any], key: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    try:
        if first is not None:
            await response.write(_event(first.model_dump(mode="json")))
        async for chunk in rest:
            await response.write(_event(chunk.model_dump(mode="json")))
        await response.write(b"data: [DONE]\n\n")
    except ConnectionError:
        raise
    except Exception as error:  # noqa: BLE001 - as above; the stream has begun, so that it is told within
        await response.write(_event(_error(error, key)[1]))
    await response.write_eof()
    return response


def _event(body: Any) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def _error(error: Exception, key: str) -> tuple[int, dict[str, Any]]:
    """Status and body; a provider that could not be reached at all is one that is unavailable."""
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) and 400 <= status <= 599 else 502
    given = getattr(error, "body", None)
    code = given.get("code") if isinstance(given, dict) else None
    told = code if isinstance(code, str) and code else _CODES.get(type(error).__name__)
    message = str(getattr(error, "message", error)).replace(key, "***") if key else str(error)
    return status, {"error": {"message": message, "type": type(error).__name__, "param": None, "code": told}}


def _again(error: Exception) -> dict[str, str]:
    """When to try again, where the provider said it."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    said = headers.get("retry-after")
    return {"retry-after": said} if isinstance(said, str) else {}


def _refusal(status: int, message: str, code: str) -> web.Response:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
    return web.json_response(body, status=status)
