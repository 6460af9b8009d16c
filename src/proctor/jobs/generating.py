"""Outputs that a job has made: each example of a chunk is asked of its target once, all of them side by side.

What the target answered before is not asked again. What is the model's own (an answer, a refusal) is kept at once; a
provider's fault is not: the chunk comes back later for what is missing, and says why only when it has come three times.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from proctor.database.engine import Database
from proctor.evaluators.statuses import Status
from proctor.jobs.errors import TargetInvalid
from proctor.jobs.replies import Made, Reply, ReplyLog, kept_replies
from proctor.jobs.scoring import Order
from proctor.jobs.targets import Target
from proctor.kernel.errors import ProctorError
from proctor.models.calls import Payer, Purpose
from proctor.models.conversation import Finish
from proctor.models.errors import BudgetExhausted, CallFailed, PriceUnknown, ReplyInvalid, RequestInvalid
from proctor.models.gateway.sessions import Declared, Session
from proctor.models.wires.interfaces import Fault
from proctor.objects.parquet import read_rows
from proctor.objects.store import ObjectStore

if TYPE_CHECKING:
    from proctor.models.gateway.gateway import Gateway

__all__ = ["Asking", "Generator", "Unasked"]

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


class Unasked(Exception):
    """Some examples could not be asked now; what was answered is kept."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How models are asked for tenants. ``keys``: values of a provider's keys that a tenant has, by name."""

    gateway: Gateway
    keys: Callable[[UUID, str], Mapping[str, str]]


class Generator:
    """Makes the outputs of chunks, in an event loop and a thread of its own."""

    def __init__(
        self, database: Database, objects: ObjectStore, opened: Callable[[], Asking] | None, *, tries: int
    ) -> None:
        """``opened``: called when there is a first example to be asked; ``None``: no model is asked here. ``tries``: of
        a chunk in all."""
        self._database, self._objects, self._opened, self._tries = database, objects, opened, tries
        self._asking: Asking | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._turns: asyncio.Semaphore | None = None
        self._logs: dict[UUID, ReplyLog] = {}

    def submit(self, order: Order, then: Callable[[Order, BaseException | None], None]) -> None:
        """Make its outputs; ``then`` is told the order with them, or why there are none."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="generator", daemon=True)
            self._thread.start()
        future = asyncio.run_coroutine_threadsafe(self._made(order), self._loop)

        def done(found: Future[Order]) -> None:
            error = found.exception()
            then(order if error is not None else found.result(), error)

        future.add_done_callback(done)

    def close(self) -> None:
        """End; nothing is under way any more."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None
        if self._asking is not None:
            self._asking.gateway.close()

    # --- a chunk ------------------------------------------------------------------------------------------------------

    async def _made(self, order: Order) -> Order:
        """The order with an output for each row. Raises ``Unasked``."""
        assert order.target is not None
        target = Target.model_validate(order.target)
        rows = await asyncio.to_thread(self._rows, order)
        known = await asyncio.to_thread(self._known, order, target, [row["digest"] for row in rows])
        missing = [row for row in rows if row["digest"] not in known]
        if missing:
            session, log = self._session(order, target), self._log(order.place.tenant)
            asked = await asyncio.gather(*(self._ask(order, target, row, session, log) for row in missing))
            known = {**known, **{row["digest"]: made for row, (made, _) in zip(missing, asked, strict=True)}}
            self._refuse_passing(order, [made for made, passing in asked if passing])
        return replace(order, made=tuple(known[row["digest"]] for row in rows))

    def _refuse_passing(self, order: Order, passing: Sequence[Made]) -> None:
        if passing and order.tries + 1 < self._tries:
            raise Unasked(f"{len(passing):,} of {order.chunk.rows:,} examples: {passing[0].error}")

    def _rows(self, order: Order) -> list[dict[str, Any]]:
        columns = ["id", "input", "metadata", "digest"]
        return list(read_rows(self._objects, order.examples, order.chunk.start, order.chunk.stop, columns).to_pylist())

    def _known(self, order: Order, target: Target, digests: Sequence[bytes]) -> dict[bytes, Made]:
        tenant = order.place.tenant
        work = partial(
            kept_replies, tenant=tenant, target=target.digest, repeat=order.chunk.repeat, examples=list(digests)
        )
        return dict(self._database.as_tenant(tenant, work))

    def _session(self, order: Order, target: Target) -> Session:
        if self._opened is None:
            raise Unasked("No model is asked by this worker.")
        asking = self._asking = self._asking or self._opened()
        tenant, models = order.place.tenant, (target.model, *target.fallbacks)
        keys: dict[str, str] = {}
        for model in models:
            keys |= asking.keys(tenant, model)
        payer = Payer(tenant=tenant, user=order.creator, job=order.place.job)
        return Session(payer, Declared(model=target.model, fallbacks=tuple(target.fallbacks)), keys)

    def _log(self, tenant: UUID) -> ReplyLog:
        return self._logs.setdefault(tenant, ReplyLog(self._database, tenant))

    async def _ask(
        self, order: Order, target: Target, row: dict[str, Any], session: Session, log: ReplyLog
    ) -> tuple[Made, bool]:
        """Ask for one example, and say whether what came of it may pass; when this returns, what is to be kept is."""
        self._turns = self._turns or asyncio.Semaphore(AT_ONCE)
        asking = self._asking
        assert asking is not None
        async with self._turns:
            try:
                reply, call = await asking.gateway.complete(session, target.request(row), Purpose.TARGET)
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
            place = {"target": target.digest, "example": row["digest"], "repeat": order.chunk.repeat}
            await log.keep(Reply(**place, made=made, call=call.id, job=order.place.job))
            return made, False


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
