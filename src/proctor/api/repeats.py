"""Where answers to requests with an ``Idempotency-Key`` are kept, so that one that is sent again is not done again.

A request takes its row first, and keeps its answer in the transaction of what it changes: whatever dies and whenever,
both are there or neither is. The row is held by when it was taken; who finds it taken anew since changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from starlette.responses import Response

from proctor.database.engine import Database
from proctor.identity.models import idempotent_request
from proctor.kernel.errors import UsageError

__all__ = ["KeyReused", "Place", "Repeat", "RequestRunning", "begin"]

LEASE_SEC = 120
"""A request may take a minute; after two nobody works on it any more."""

T = TypeVar("T")
_t = idempotent_request.c


class KeyReused(UsageError):
    """This Idempotency-Key came with another request before."""

    code = "idempotency-key-reused"
    remedy = "Take a new key for a new request."


class RequestRunning(UsageError):
    """The first request with this Idempotency-Key is still being worked on."""

    code = "request-running"
    remedy = "Send it again after the time in Retry-After."


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one request's answer is kept."""

    tenant: UUID
    user: UUID
    key: bytes
    digest: bytes

    def row(self) -> Any:
        """The condition that finds it."""
        return (_t.tenant_id == self.tenant) & (_t.user_id == self.user) & (_t.key == self.key)


@dataclass(kw_only=True)
class Repeat:
    """A request at work, whose row is taken."""

    database: Database
    place: Place
    began_at: datetime
    status: int
    """What its answer has where the route says nothing else."""
    kept: bool = False
    _made: list[Any] = field(default_factory=list)

    def once(self, work: Callable[[Connection], T]) -> T:
        """Do the request's change in one transaction with its answer. Raises ``RequestRunning`` once it is another's.

        Where the connection broke at the commit it may have been done: then what was made is what is answered.
        """

        def with_answer(connection: Connection) -> T:
            row = connection.execute(select(_t.status).where(self._held()).with_for_update()).one_or_none()
            if row is None:
                raise RequestRunning(where="Idempotency-Key")
            if row.status is None:
                self._made[:] = [work(connection)]
                self._write(connection, _answer(self._made[0], self.status))
            made: T = self._made[0]
            return made

        made = self.database.as_tenant(self.place.tenant, with_answer)
        self.kept = True
        return made

    def keep(self, response: Response) -> None:
        """Keep the answer of a request that changed nothing, or nothing that is not harmless to do again."""
        if not self.kept:
            self.database.as_tenant(self.place.tenant, lambda c: self._write(c, response))

    def let_go(self) -> None:
        """It failed by our fault: let it be done again, unless it was done."""
        mine = delete(idempotent_request).where(self._held(), _t.status.is_(None))
        self.database.as_tenant(self.place.tenant, lambda c: c.execute(mine) and None)

    def _write(self, connection: Connection, response: Response) -> None:
        values = {"status": response.status_code, "body": _without_secret(bytes(response.body))}
        done = update(idempotent_request).where(self._held(), _t.status.is_(None))
        connection.execute(done.values(media_type=response.headers.get("content-type", ""), **values))

    def _held(self) -> Any:
        return self.place.row() & (_t.began_at == self.began_at)


def begin(database: Database, place: Place, status: int) -> Repeat | Response:
    """The kept answer, or the request that works now. Raises ``KeyReused``, ``RequestRunning``."""
    old = _t.status.is_(None) & (_t.began_at < func.now() - func.make_interval(0, 0, 0, 0, 0, 0, LEASE_SEC))
    values = {"digest": place.digest, "began_at": func.now()}
    mine = insert(idempotent_request).values(tenant_id=place.tenant, user_id=place.user, key=place.key, **values)
    taken = mine.on_conflict_do_update(index_elements=["tenant_id", "user_id", "key"], set_=values, where=old)
    tries: list[datetime] = []

    def work(connection: Connection) -> Row[Any]:
        found = connection.execute(taken.returning(_t.began_at)).scalar_one_or_none()
        if found is not None:
            tries.append(found)
        return connection.execute(select(idempotent_request).where(place.row())).one()

    row = database.as_tenant(place.tenant, work)
    if row.digest != place.digest:
        raise KeyReused(where="Idempotency-Key")
    if row.status is not None:
        return Response(row.body, row.status, {"Idempotency-Replayed": "true"}, media_type=row.media_type)
    if row.began_at not in tries:  # an earlier try's commit may have come through though its connection broke
        raise RequestRunning(where="Idempotency-Key")
    return Repeat(database=database, place=place, began_at=row.began_at, status=status)


def _answer(made: Any, status: int) -> Response:
    """What the route answers with what was made."""
    if isinstance(made, Response):
        return made
    adapter = _adapter(type(made))  # type: ignore[arg-type]  # a metaclass could make it unhashable; none of ours does
    return Response(adapter.dump_json(made, by_alias=True), status, media_type="application/json")


@lru_cache(maxsize=100)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _without_secret(body: bytes) -> bytes:
    """A secret that is told once is not kept: the repeated answer has ``null`` in its place."""
    if b'"secret"' not in body:
        return body

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: None if name == "secret" else plain(item) for name, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return json.dumps(plain(json.loads(body))).encode()
