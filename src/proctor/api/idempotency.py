"""``Idempotency-Key``: the same POST sent again with it is answered as the first was, and nothing is done twice.

The key is a caller's own: kept for the user, with a digest of method, path and body. While the first still works a
second is told to wait; one whose process died is let go after a lease. What failed by our fault is not kept.

A secret that is told once is not kept either: the repeated answer has ``null`` in its place.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import anyio.to_thread
from fastapi import Request
from fastapi.routing import APIRoute
from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from starlette.responses import Response

from proctor.api import problems
from proctor.api.asking import principal_of, server_of
from proctor.database.engine import Database
from proctor.identity.models import idempotent_request
from proctor.kernel.errors import ProctorError, UsageError

__all__ = ["Repeatable"]

_KEY = re.compile(r"[\x21-\x7e]{1,255}")
LEASE_SEC = 120
"""A request may take a minute; after two nobody works on it any more."""


class KeyMalformed(UsageError):
    """An Idempotency-Key is 1 to 255 printable characters."""

    code = "idempotency-key"
    remedy = "Send a random word such as a UUID."


class KeyReused(UsageError):
    """This Idempotency-Key came with another request before."""

    code = "idempotency-key-reused"
    remedy = "Take a new key for a new request."


class RequestRunning(UsageError):
    """The first request with this Idempotency-Key is still being worked on."""

    code = "request-running"
    remedy = "Send it again after the time in Retry-After."


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where one request's answer is kept."""

    tenant: UUID
    user: UUID
    key: bytes
    digest: bytes


class Repeatable(APIRoute):
    """A route whose POST may be sent again."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with what was answered before in front of it."""
        plain = super().get_route_handler()

        async def handler(request: Request) -> Response:
            key = request.headers.get("idempotency-key")
            if request.method != "POST" or key is None:
                return await plain(request)
            try:
                place = await _place_of(request, key)
                kept = await anyio.to_thread.run_sync(_begin, server_of(request).database, place)
            except ProctorError as error:
                return problems.answer(request, error)
            return kept if kept is not None else await _keeping(plain, request, place)

        return handler


async def _place_of(request: Request, key: str) -> _Place:
    """Raises ``KeyMalformed``, ``Unauthenticated``."""
    if _KEY.fullmatch(key) is None:
        raise KeyMalformed(where="Idempotency-Key")
    principal = await principal_of(request)
    head = f"{request.method} {request.url.path}?{request.url.query}\0".encode()
    return _Place(
        tenant=principal.tenant,
        user=principal.user,
        key=hashlib.sha256(key.encode()).digest(),
        digest=hashlib.sha256(head + await request.body()).digest(),
    )


async def _keeping(
    plain: Callable[[Request], Coroutine[Any, Any, Response]], request: Request, place: _Place
) -> Response:
    database = server_of(request).database
    try:
        response = await plain(request)
    except ProctorError as error:
        response = problems.answer(request, error)
    except BaseException:
        await anyio.to_thread.run_sync(_let_go, database, place)
        raise
    if response.status_code < 500:
        await anyio.to_thread.run_sync(_keep, database, place, response)
    else:
        await anyio.to_thread.run_sync(_let_go, database, place)
    return response


def _begin(database: Database, place: _Place) -> Response | None:
    """The kept answer, or ``None`` where it is this request that works. Raises ``KeyReused``, ``RequestRunning``."""
    table = idempotent_request
    old = table.c.status.is_(None) & (table.c.began_at < func.now() - func.make_interval(0, 0, 0, 0, 0, 0, LEASE_SEC))
    values = {"digest": place.digest, "began_at": func.now()}
    mine = insert(table).values(tenant_id=place.tenant, user_id=place.user, key=place.key, **values)
    taken = mine.on_conflict_do_update(index_elements=["tenant_id", "user_id", "key"], set_=values, where=old)

    def work(connection: Connection) -> Any:
        if connection.execute(taken.returning(table.c.key)).one_or_none() is not None:
            return None
        return connection.execute(select(table).where(_is(place))).one()

    row = database.as_tenant(place.tenant, work)
    if row is None:
        return None
    if row.digest != place.digest:
        raise KeyReused(where="Idempotency-Key")
    if row.status is None:
        raise RequestRunning(where="Idempotency-Key")
    return Response(row.body, row.status, {"Idempotency-Replayed": "true"}, media_type=row.media_type)


def _keep(database: Database, place: _Place, response: Response) -> None:
    values = {"status": response.status_code, "body": _without_secret(bytes(response.body))}
    done = update(idempotent_request).where(_is(place), idempotent_request.c.status.is_(None))
    kind = response.headers.get("content-type", "")
    database.as_tenant(place.tenant, lambda c: c.execute(done.values(media_type=kind, **values)))


def _let_go(database: Database, place: _Place) -> None:
    database.as_tenant(place.tenant, lambda c: c.execute(delete(idempotent_request).where(_is(place))))


def _is(place: _Place) -> Any:
    table = idempotent_request.c
    return (table.tenant_id == place.tenant) & (table.user_id == place.user) & (table.key == place.key)


def _without_secret(body: bytes) -> bytes:
    if b'"secret"' not in body:
        return body

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: None if name == "secret" else plain(item) for name, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return json.dumps(plain(json.loads(body))).encode()
