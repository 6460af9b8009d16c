"""``Idempotency-Key``: the same POST sent again with it is answered as the first was, and nothing is done twice.

The key is a caller's own: kept for the user, with a digest of method, path and body. While the first still works a
second is told to wait; one whose process died is let go after a lease. What failed by our fault is not kept. A route
that makes something keeps its answer in the same transaction: ``Asked.once``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Coroutine
from typing import Any

import anyio.to_thread
from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from proctor.api import problems
from proctor.api.asking import principal_of, server_of
from proctor.api.repeats import Place, Repeat, begin
from proctor.kernel.errors import ProctorError, UsageError

__all__ = ["KEY", "KeyMalformed", "Repeatable"]

KEY: str = r"[\x21-\x7e]{1,255}"
"""What a key is."""


class KeyMalformed(UsageError):
    """An Idempotency-Key is 1 to 255 printable characters."""

    code = "idempotency-key"
    remedy = "Send a random word such as a UUID."


class Repeatable(APIRoute):
    """A route whose POST may be sent again."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with what was answered before in front of it."""
        plain, status = super().get_route_handler(), self.status_code or 200

        async def handler(request: Request) -> Response:
            key = request.headers.get("idempotency-key")
            if request.method != "POST" or key is None:
                return await plain(request)
            try:
                place = await _place_of(request, key)
                begun = await anyio.to_thread.run_sync(begin, server_of(request).database, place, status)
            except ProctorError as error:
                return problems.answer(request, error)
            return begun if isinstance(begun, Response) else await _keeping(plain, request, begun)

        return handler


async def _place_of(request: Request, key: str) -> Place:
    """Raises ``KeyMalformed``, ``Unauthenticated``."""
    if re.fullmatch(KEY, key) is None:
        raise KeyMalformed(where="Idempotency-Key")
    principal = await principal_of(request)
    head = f"{request.method} {request.url.path}?{request.url.query}\0".encode()
    return Place(
        tenant=principal.tenant,
        user=principal.user,
        key=hashlib.sha256(key.encode()).digest(),
        digest=hashlib.sha256(head + await request.body()).digest(),
    )


async def _keeping(
    plain: Callable[[Request], Coroutine[Any, Any, Response]], request: Request, repeat: Repeat
) -> Response:
    request.state.repeat = repeat
    try:
        response = await plain(request)
    except ProctorError as error:
        response = problems.answer(request, error)
    except BaseException:
        await anyio.to_thread.run_sync(repeat.let_go)
        raise
    if response.status_code < 500:
        await anyio.to_thread.run_sync(repeat.keep, response)
    else:
        await anyio.to_thread.run_sync(repeat.let_go)
    return response
