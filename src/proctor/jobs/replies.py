"""Replies of targets, kept as they arrive: what was paid for is asked for once, whoever dies.

A call is under way until its reply is committed. Replies that come together are written together, so that a thousand
calls a second are some twenty transactions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.evaluators.statuses import Status

__all__ = ["Made", "Reply", "ReplyLog", "kept_replies"]

GATHER_SEC: float = 0.05
"""How long a reply waits for others: far below the second after which it has to be durable."""

_run = partial(run_query, "proctor.jobs")


@dataclass(frozen=True, kw_only=True)
class Made:
    """What a target made of an example. ``output`` ``None``: nothing, and ``status`` says why."""

    output: str | None
    status: Status | None
    error: str | None
    model: str
    seconds: float
    cost_nano: int | None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One to be kept. ``example``: the digest of the example."""

    target: str
    example: bytes
    repeat: int
    made: Made
    call: UUID | None
    """``None``: a command made it."""
    job: UUID


def kept_replies(
    connection: Connection, tenant: UUID, target: str, repeat: int, examples: Sequence[bytes]
) -> Mapping[bytes, Made]:
    """What a target answered already, by the example's digest."""
    wanted = {"target": target, "repeat": repeat, "examples": list(examples)}
    return {
        bytes(row.example): Made(
            output=row.output,
            status=None if row.status is None else Status(row.status),
            error=row.error,
            model=row.model,
            seconds=row.seconds,
            cost_nano=row.cost_nano,
        )
        for row in _run(connection, "replies_of", tenant=tenant, **wanted)
    }


class ReplyLog:
    """Keeps replies of one tenant, from one event loop."""

    def __init__(self, database: Database, tenant: UUID) -> None:
        self._database, self._tenant = database, tenant
        self._waiting: list[tuple[Reply, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def keep(self, reply: Reply) -> None:
        """Return once it is committed."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((reply, written))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        await written

    async def _write(self) -> None:
        while self._waiting:
            await asyncio.sleep(GATHER_SEC)
            batch, self._waiting = self._waiting, []
            work = partial(_insert, tenant=self._tenant, replies=[reply for reply, _ in batch])
            try:
                await asyncio.to_thread(self._database.as_tenant, self._tenant, work)
            except Exception as error:  # noqa: BLE001  whoever waits is told, and asks again one day
                _tell(batch, error)
            else:
                _tell(batch, None)
        self._writer = None


def _tell(batch: Sequence[tuple[Reply, asyncio.Future[None]]], error: Exception | None) -> None:
    for _, written in batch:
        if written.done():
            continue
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)


def _insert(connection: Connection, *, tenant: UUID, replies: Sequence[Reply]) -> None:
    rows = [
        {
            "target": reply.target,
            "example": reply.example.hex(),
            "repeat": reply.repeat,
            "output": reply.made.output,
            "status": reply.made.status,
            "error": reply.made.error,
            "model": reply.made.model,
            "seconds": reply.made.seconds,
            "cost_nano": reply.made.cost_nano,
            "call_id": None if reply.call is None else str(reply.call),
            "job_id": str(reply.job),
        }
        for reply in replies
    ]
    _run(connection, "keep_replies", tenant=tenant, rows=json.dumps(rows))
