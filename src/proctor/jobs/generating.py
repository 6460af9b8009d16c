"""Outputs that a job has made: each example of a chunk is asked of its target once, all of them side by side.

What the target answered before is not asked again. What is the model's own (an answer, a refusal) is kept at once; a
provider's fault is not: the chunk comes back later for what is missing, and says why only when it has come three times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from proctor.database.engine import Database
from proctor.evaluators.code.programs import command_program
from proctor.evaluators.statuses import Status
from proctor.jobs.commands import IN_SANDBOX, outputs_of
from proctor.jobs.errors import TargetInvalid
from proctor.jobs.orders import Order
from proctor.jobs.outside import Outside, Unasked
from proctor.jobs.replies import Made, Reply, ReplyLog, kept_replies
from proctor.jobs.targets import CommandTarget, Target
from proctor.kernel.errors import ProctorError
from proctor.models.calls import Purpose
from proctor.models.conversation import Finish
from proctor.models.errors import BudgetExhausted, CallFailed, PriceUnknown, ReplyInvalid, RequestInvalid
from proctor.models.gateway.sessions import Session
from proctor.models.wires.interfaces import Fault
from proctor.objects.parquet import read_rows
from proctor.objects.store import ObjectStore

__all__ = ["Generator"]

_Row = dict[str, Any]
"""What of an example its target is asked with."""

AT_ONCE: int = 64
"""Calls of one worker under way: providers' own limits are kept by the gateway, below or above all workers."""
_PASSING: frozenset[Fault] = frozenset({Fault.RATE_LIMIT, Fault.UNAVAILABLE})
"""What may be another thing later; a model that there is not stays so."""
_FAULTS: Mapping[Fault, Status] = {
    Fault.AUTH: Status.PROVIDER_AUTH,
    Fault.QUOTA: Status.PROVIDER_AUTH,
    Fault.RATE_LIMIT: Status.RATE_LIMITED,
    Fault.REFUSED: Status.REFUSED,
    Fault.CONTEXT: Status.INVALID_EXAMPLE,
}


class Generator:
    """Makes the outputs of chunks, in one event loop."""

    def __init__(self, database: Database, objects: ObjectStore, outside: Outside, *, tries: int) -> None:
        """``tries``: of a chunk in all."""
        self._database, self._objects, self._outside, self._tries = database, objects, outside, tries
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._logs: dict[UUID, ReplyLog] = {}

    async def made(self, order: Order) -> Order:
        """The order with an output for each row. Raises ``Unasked``."""
        assert order.target is not None
        target = Target.model_validate(order.target)
        rows = await asyncio.to_thread(self._rows, order)
        known = await asyncio.to_thread(self._known, order, target, [row["digest"] for row in rows])
        missing = [row for row in rows if row["digest"] not in known]
        if missing:
            asked = await self._asked(order, target, missing)
            known = {**known, **{row["digest"]: made for row, (made, _) in zip(missing, asked, strict=True)}}
            self._refuse_passing(order, [made for made, passing in asked if passing])
        return replace(order, made=tuple(known[row["digest"]] for row in rows))

    async def _asked(self, order: Order, target: Target, rows: Sequence[_Row]) -> list[tuple[Made, bool]]:
        """What came of each, and whether it may pass."""
        log = self._log(order.place.tenant)
        if target.command is not None:
            batches = [rows[first : first + IN_SANDBOX] for first in range(0, len(rows), IN_SANDBOX)]
            found = await asyncio.gather(*(self._run(order, target.command, batch, log) for batch in batches))
            return [one for batch in found for one in batch]
        session = self._outside.session(order, target.models)
        return list(await asyncio.gather(*(self._ask(order, target, row, session, log) for row in rows)))

    async def _run(
        self, order: Order, command: CommandTarget, rows: Sequence[_Row], log: ReplyLog
    ) -> list[tuple[Made, bool]]:
        async with self._outside.turns:
            rooms = self._outside.rooms(order.place.tenant)
            made = await outputs_of(command_program(command), rooms, rows)
        kept = (
            log.keep(_reply(order, row, one, call=None))
            for row, one in zip(rows, made, strict=True)
            if one.output is not None
        )
        await asyncio.gather(*kept)
        return [(one, one.status is Status.SANDBOX_ERROR) for one in made]

    def _refuse_passing(self, order: Order, passing: Sequence[Made]) -> None:
        if passing and order.tries + 1 < self._tries:
            raise Unasked(f"{len(passing):,} of {order.chunk.rows:,} examples: {passing[0].error}")

    def _rows(self, order: Order) -> list[_Row]:
        columns = ["id", "input", "input_is_json", "metadata", "digest"]
        return list(read_rows(self._objects, order.examples, order.chunk.start, order.chunk.stop, columns).to_pylist())

    def _known(self, order: Order, target: Target, digests: Sequence[bytes]) -> dict[bytes, Made]:
        tenant = order.place.tenant
        work = partial(
            kept_replies, tenant=tenant, target=target.digest, repeat=order.chunk.repeat, examples=list(digests)
        )
        return dict(self._database.as_tenant(tenant, work))

    def _log(self, tenant: UUID) -> ReplyLog:
        return self._logs.setdefault(tenant, ReplyLog(self._database, tenant))

    async def _ask(self, order: Order, target: Target, row: _Row, session: Session, log: ReplyLog) -> tuple[Made, bool]:
        """Ask for one example, and say whether what came of it may pass; when this returns, what is to be kept is."""
        async with self._turns:
            try:
                reply, call = await self._outside.gateway.complete(session, target.request(row), Purpose.TARGET)
            except (ProctorError, TimeoutError) as error:
                return _failed(error)
            refused = reply.finish is Finish.REFUSED
            made = Made(
                output=None if refused else reply.text,
                status=Status.REFUSED if refused else None,
                error="The model refused." if refused else None,
                model=call.answered,
                seconds=call.seconds,
                cost_nano=call.cost_nano,
            )
            await log.keep(_reply(order, row, made, call=call.id))
            return made, False


def _reply(order: Order, row: _Row, made: Made, *, call: UUID | None) -> Reply:
    assert order.target_digest is not None
    return Reply(
        target=order.target_digest,
        example=row["digest"],
        repeat=order.chunk.repeat,
        made=made,
        call=call,
        job=order.place.job,
    )


def _failed(error: ProctorError | TimeoutError) -> tuple[Made, bool]:
    passing = isinstance(error, TimeoutError) or (isinstance(error, CallFailed) and error.fault in _PASSING)
    made = Made(output=None, status=_status(error), error=str(error)[:500], model="", seconds=0.0, cost_nano=None)
    return made, passing


def _status(error: ProctorError | TimeoutError) -> Status:
    if isinstance(error, CallFailed):
        return _FAULTS.get(error.fault, Status.PROVIDER_ERROR)
    if isinstance(error, BudgetExhausted | PriceUnknown):
        return Status.BUDGET
    if isinstance(error, TargetInvalid | RequestInvalid):
        return Status.INVALID_EXAMPLE
    if isinstance(error, TimeoutError):
        return Status.TIMEOUT
    return Status.PARSE_ERROR if isinstance(error, ReplyInvalid) else Status.PROVIDER_ERROR
