"""A till: one tenant's budgets in one process. Reservations are made here from slices in hand; a slice is drawn when
they are used up, and what calls cost is written in batches.

All of memory is touched by the event loop alone. The database is worked on by one thread at a time, under a lock, with
amounts that were decided before: so a transaction may be repeated when it is not known whether it was committed.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import structlog
from sqlalchemy.exc import DataError
from sqlalchemy.exc import IntegrityError as RefusedByDatabase

from proctor.database.engine import Database
from proctor.database.errors import DatabaseUnavailable
from proctor.kernel.errors import IntegrityError
from proctor.kernel.ids import derived_id, new_id
from proctor.kernel.money import exact_usd
from proctor.models.calls import Call, Payer
from proctor.models.errors import BudgetExhausted, PriceUnknown
from proctor.models.ports import Budgets, Reservation
from proctor.models.spending.accounts import Ask, CallContradicted, Drawn, Holder, NoRoom, draw, settle
from proctor.models.spending.journal import Journal
from proctor.models.spending.pools import Open, Pool, Slice, Unwritten, Waiter
from proctor.models.spending.rows import Settlement, call_row
from proctor.models.waiting import came

__all__ = ["Desk", "Till", "Timing"]

_log = structlog.get_logger(__name__)

AHEAD: int = 15
"""So many calls like the one that asks are drawn for at once, where there is room: a draw is a few milliseconds."""
BATCH: int = 1000
"""Calls in one transaction: a few tens of milliseconds, during which the accounts are locked for the last one only."""
POLL_SEC: tuple[float, float] = (0.05, 0.5)
"""How soon it is looked again whether others have given back, at first and later."""
RETRY_SEC: float = 1.0
"""After a transaction that failed."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How long things are kept, in seconds."""

    batch: float = 0.1
    """What calls cost is written so late at the most."""
    idle: float = 2.0
    """A slice that nobody has used for so long is given back."""
    age: float = 5.0
    """An older slice is drawn anew: a changed limit, or another month, holds so late at the most."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What the tills of a process share."""

    database: Database
    budgets: Budgets
    journal: Journal
    holder: Holder
    timing: Timing
    numbers: Callable[[], int]
    """The next reservation's."""


class Till:
    """One tenant's budgets in one process, used from one loop."""

    def __init__(self, tenant: UUID, desk: Desk) -> None:
        self._tenant = tenant
        self._desk = desk
        self._pools: dict[tuple[UUID | None, UUID | None, str, str], Pool] = {}
        self._open: dict[int, Open] = {}
        self._unwritten: list[Unwritten] = []
        self._gone = 0
        """How many are not in that list any more."""
        self._slices: dict[UUID, Slice] = {}
        self._one_at_a_time = asyncio.Lock()
        self._moved = asyncio.Event()
        self._work = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._most = BATCH
        self._closing = False

    # --- reserving --------------------------------------------------------------------------------------------------

    async def reserve(self, payer: Payer, worst: int | None, *, wait_sec: float, model: str) -> Reservation:
        """As ``Spending.reserve``."""
        pool = self._pools.get(key := (payer.run_set, payer.job, payer.profile, payer.user))
        if pool is None:
            pool = self._pools[key] = Pool()
        loop = asyncio.get_running_loop()
        now = loop.time()
        if not pool.waiting and pool.has(worst, now - self._desk.timing.age):
            return self._grant(pool, payer, worst, model, now)
        waiter = Waiter(payer=payer, worst=worst, model=model, deadline=now + wait_sec, granted=loop.create_future())
        pool.waiting.append(waiter)
        if pool.serving is None:
            pool.serving = asyncio.create_task(self._serve(pool))
        try:
            return await waiter.granted
        except asyncio.CancelledError:
            self._forget(pool, waiter)
            raise

    def _grant(self, pool: Pool, payer: Payer, worst: int | None, model: str, now: float) -> Reservation:
        """Room in the slice in hand. On disk before anybody may spend it."""
        current = pool.slice
        assert current is not None
        if worst is None and current.hard:
            raise PriceUnknown(f"{model or 'The model'} has no known price, or its worst case can't be bounded.")
        number = self._desk.numbers()
        begun_at = datetime.now(UTC)
        self._desk.journal.begin(number, _begun(self._tenant, payer, worst, model, current, begun_at))
        current.take(worst or 0, now)
        reservation = Reservation(id=number, payer=payer, nano=worst)
        self._open[number] = Open(reservation=reservation, slice=current, model=model, begun_at=begun_at)
        self._keep()
        return reservation

    def _forget(self, pool: Pool, waiter: Waiter) -> None:
        """Who waited went away; what was granted in that moment was never used."""
        if waiter in pool.waiting:
            pool.waiting.remove(waiter)
        if waiter.granted.done() and not waiter.granted.cancelled() and waiter.granted.exception() is None:
            gone = self._open.pop(waiter.granted.result().id)
            self._desk.journal.undo(gone.reservation.id)
            gone.slice.loose += gone.slice.put(gone.reservation.nano or 0, 0)
            self._wake()

    async def _serve(self, pool: Pool) -> None:
        """Draw until nobody waits any more."""
        pause, age = POLL_SEC[0], self._desk.timing.age
        try:
            while self._hand_out(pool, age):
                found = await self._draw(pool)
                age = self._desk.timing.age
                if not isinstance(found, NoRoom):
                    pause, age = POLL_SEC[0], math.inf  # just drawn, however busy this process is
                elif self._refuse(pool, found):
                    self._moved.clear()
                    await came(self._moved, pause)
                    pause = min(pause * 2, POLL_SEC[1])
        except Exception as error:  # noqa: BLE001  whoever waits is told, whatever it is
            while pool.waiting:
                _fail(pool.waiting.popleft(), error)
        finally:
            pool.serving = None

    def _hand_out(self, pool: Pool, age: float) -> bool:
        """Grant what there is room for in a slice that is no older, in order; whether somebody still waits."""
        now = asyncio.get_running_loop().time()
        while pool.waiting and pool.has(pool.waiting[0].worst, now - age):
            waiter = pool.waiting.popleft()
            if waiter.granted.done():
                continue
            try:
                waiter.granted.set_result(self._grant(pool, waiter.payer, waiter.worst, waiter.model, now))
            except (PriceUnknown, OSError) as error:
                _fail(waiter, error)
        return bool(pool.waiting)

    def _refuse(self, pool: Pool, found: NoRoom) -> bool:
        """There is no room: at once where there will be none, else for those who can't wait; whether some can."""
        now = asyncio.get_running_loop().time()
        error = _exhausted(found, pool.waiting[0].worst) if pool.waiting else None
        if found.for_good and error is not None:
            _fail(pool.waiting.popleft(), error)
            return False
        for waiter in [one for one in pool.waiting if one.deadline <= now]:
            pool.waiting.remove(waiter)
            _fail(waiter, _exhausted(found, waiter.worst))
        return bool(pool.waiting)

    async def _draw(self, pool: Pool) -> Drawn | NoRoom | None:
        """Give back what is too little or too old, and draw anew; ``None``: nobody waits any more."""
        async with self._one_at_a_time:
            before = pool.slice
            pool.retire()
            if not pool.waiting:
                return None
            least = pool.waiting[0].worst or 0
            wanted = sum(one.worst or 0 for one in pool.waiting) + max(AHEAD * least, before.taken if before else 0)
            pool.asked = pool.asked or new_id()
            self._desk.journal.asked(self._tenant, pool.asked)
            loose = {one: one.loose for one in self._slices.values() if one.loose}
            given_back = {one.id: one.amount - nano for one, nano in loose.items()}
            ask = Ask(slice=pool.asked, payer=pool.waiting[0].payer, least=least, wanted=wanted, given_back=given_back)
            work = partial(draw, tenant=self._tenant, holder=self._desk.holder, budgets=self._desk.budgets, ask=ask)
            found = await asyncio.to_thread(self._desk.database.as_tenant, self._tenant, work)
            for one, nano in loose.items():
                one.amount -= nano
                one.loose -= nano
            if isinstance(found, Drawn):
                pool.slice = self._in_hand(pool.asked, found)
            else:
                self._desk.journal.finished(pool.asked)
            pool.asked = None
            return found

    def _in_hand(self, id: UUID, drawn: Drawn) -> Slice:
        now = asyncio.get_running_loop().time()
        made = Slice(
            id=id,
            accounts=drawn.accounts,
            amount=drawn.amount,
            free=drawn.amount,
            hard=drawn.hard,
            drawn_at=now,
            used_at=now,
        )
        self._desk.journal.drawn(self._tenant, id, drawn.accounts)
        self._slices[id] = made
        self._keep()
        return made

    # --- settling ---------------------------------------------------------------------------------------------------

    def settle(self, reservation: Reservation, call: Call) -> None:
        """As ``Spending.settle``."""
        known = self._open.pop(reservation.id, None)
        if known is None:
            raise IntegrityError(f"Reservation {reservation.id} was settled before, or never made.")
        row = call_row(derived_id("reservation", self._desk.holder.id, reservation.id), call, reserved=reservation.nano)
        try:
            self._desk.journal.end(reservation.id, row)
        except OSError as error:  # it is in memory, and soon in the database
            _log.error("spending.journal_full", reason=str(error))
        leaving = known.slice.put(reservation.nano or 0, row["charged_nano"] or 0)
        self._unwritten.append(
            Unwritten(
                reservation=reservation.id,
                slice=known.slice,
                leaving=leaving,
                settlement=Settlement(row=row, accounts=known.slice.accounts),
            )
        )
        self._wake()

    def _wake(self) -> None:
        """There is something to write."""
        self._work.set()
        self._keep()

    def _keep(self) -> None:
        if self._keeper is None and not self._closing:
            self._keeper = asyncio.create_task(self._keep_books())

    async def _keep_books(self) -> None:
        """Write what there is, give back what is idle, as long as there is anything in hand."""
        timing = self._desk.timing
        try:
            while not self._closing and (self._slices or self._unwritten):
                if await came(self._work, timing.idle / 2):
                    await asyncio.sleep(timing.batch)
                self._work.clear()
                self._retire_idle()
                if not await self._write():
                    self._work.set()
                    await asyncio.sleep(RETRY_SEC)
        finally:
            self._keeper = None

    def _retire_idle(self) -> None:
        since = asyncio.get_running_loop().time() - self._desk.timing.idle
        for key, pool in list(self._pools.items()):
            if pool.slice is not None and pool.slice.used_at <= since and not pool.waiting:
                pool.retire()
            if pool.slice is None and pool.serving is None and pool.asked is None:
                del self._pools[key]

    async def _write(self) -> bool:
        """One transaction or several, until all is written that there was; whether all of it was.

        What comes meanwhile is of the next time: else a busy process would write a few calls in each transaction.
        """
        due, first = self._gone + len(self._unwritten), True
        while self._gone < due or (first and any(one.loose or _empty(one) for one in self._slices.values())):
            first = False
            try:
                await self._write_batch()
            except (DataError, RefusedByDatabase, CallContradicted) as error:
                if not self._narrow(error):
                    return False
            except Exception as error:  # noqa: BLE001  money is written whatever went wrong the first time
                _log.warning("spending.not_written_yet", calls=len(self._unwritten), reason=str(error))
                return False
            else:
                self._most = min(BATCH, self._most * 2)
                self._moved.set()
        return True

    def _narrow(self, error: Exception) -> bool:
        """Find the call that can't be written: it stays in the journal and its slice stays held, the others go on.
        Returns whether it is worth going on."""
        if len(self._unwritten) > 1 and self._most > 1:
            self._most = min(self._most, len(self._unwritten)) // 2
            return True
        if self._unwritten:
            bad = self._unwritten.pop(0)
            self._gone += 1
            _log.error("spending.call_not_written", call=bad.settlement.row["id"], reason=str(error))
            return True
        _log.error("spending.not_written", reason=str(error))
        return False

    async def _write_batch(self) -> None:
        async with self._one_at_a_time:
            batch = self._unwritten[: self._most]
            leaving: Counter[Slice] = Counter({one: one.loose for one in self._slices.values() if one.loose})
            loose = dict(leaving)
            for one in batch:
                leaving[one.slice] += one.leaving
            amounts = {one.id: one.amount - nano for one, nano in leaving.items() if nano}
            busy = {one.slice for one in self._unwritten[len(batch) :]}
            finished = [
                one for one in self._slices.values() if _empty(one, leaving=leaving.get(one, 0)) and one not in busy
            ]
            work = partial(
                settle,
                tenant=self._tenant,
                settlements=[one.settlement for one in batch],
                slices=amounts,
                finished=[one.id for one in finished],
            )
            await asyncio.to_thread(self._desk.database.as_tenant, self._tenant, work)
            for slice, nano in leaving.items():
                slice.amount -= nano
                slice.loose -= loose.get(slice, 0)
            del self._unwritten[: len(batch)]
            self._gone += len(batch)
            for slice in finished:
                del self._slices[slice.id]
                self._desk.journal.finished(slice.id)
            self._desk.journal.settled([one.reservation for one in batch])

    async def close(self) -> None:
        """Write what there is and give back what is free; what runs stays held, and in the journal."""
        self._closing = True
        self._work.set()
        if self._keeper is not None:
            await self._keeper
        for pool in list(self._pools.values()):
            while pool.waiting:
                pool.waiting.popleft().granted.cancel()
            if pool.serving is not None:
                await pool.serving
            pool.retire()
            if pool.asked is not None:  # nobody knows whether it was drawn
                await asyncio.to_thread(self._give_up, pool.asked)
        await self._write()

    def _give_up(self, slice: UUID) -> None:
        work = partial(settle, tenant=self._tenant, settlements=(), slices={slice: 0}, finished=[slice])
        try:
            self._desk.database.as_tenant(self._tenant, work)
        except DatabaseUnavailable as error:
            _log.warning("spending.database_away", calls=0, reason=str(error))
        else:
            self._desk.journal.finished(slice)


def _empty(one: Slice, *, leaving: int = 0) -> bool:
    """Whether nothing of it is in hand any more, once that has left."""
    return not one.current and not one.running and one.amount == leaving


def _begun(
    tenant: UUID, payer: Payer, worst: int | None, model: str, current: Slice, begun_at: datetime
) -> dict[str, object]:
    return {
        "tenant": tenant,
        "slice": current.id,
        "nano": worst,
        "run_set": payer.run_set,
        "attempt": payer.attempt,
        "profile": payer.profile,
        "user": payer.user,
        "model": model,
        "at": begun_at,
    }


def _exhausted(found: NoRoom, worst: int | None) -> BudgetExhausted:
    whose = found.scope.kind.value.replace("_", " ")
    limit, wanted = exact_usd(found.scope.limit_nano), exact_usd(worst)
    message = f"The {whose}'s budget of {limit} has no room for this call, which may cost {wanted}."
    return BudgetExhausted(message, scope=found.scope.kind.value)


def _fail(waiter: Waiter, error: Exception) -> None:
    if not waiter.granted.done():
        waiter.granted.set_exception(error)
