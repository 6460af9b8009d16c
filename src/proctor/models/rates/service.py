"""The rate book: leave to ask providers, shared by all processes, and what their replies teach."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from proctor.database.engine import Database
from proctor.database.errors import DatabaseUnavailable
from proctor.models.ports import Admission, RateLimit
from proctor.models.rates.buckets import KeyName, draw, rest
from proctor.models.rates.headers import LONGEST_REST_SEC, left_of, retry_after, telling
from proctor.models.rates.lanes import Lane
from proctor.models.waiting import came

__all__ = ["RateBook"]

_log = structlog.get_logger(__name__)

SHORTEST_PAUSE_SEC: float = 0.005
"""Before a bucket is looked at again: clocks are not that exact."""


@dataclass(frozen=True, kw_only=True)
class _Admitted(Admission):
    """Whose it is, so that what becomes of it is counted there."""

    lane: Lane
    metered: bool


class RateBook:
    """``Rates`` over PostgreSQL. One to a process, used from one loop.

    ``done`` or ``throttled`` ends each admission, once. Where no limit is known and nothing rests, the database is not
    asked.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lanes: dict[KeyName, Lane] = {}
        self._moved = asyncio.Event()
        self._telling: set[asyncio.Task[None]] = set()

    async def admit(
        self, tenant_key: str, provider: str, keys: Sequence[str], limit: RateLimit, tokens: int, *, wait_sec: float
    ) -> Admission:
        """As the port has it."""
        lanes = [self._lane(KeyName(owner=tenant_key, provider=provider, key=key)) for key in keys]
        loop = asyncio.get_running_loop()
        deadline = (now := loop.time()) + wait_sec
        metered = limit.requests is not None or limit.tokens is not None
        while True:
            self._moved.clear()
            for lane in lanes:
                lane.most = limit.at_once
                if lane.may_start(now) and lane.has(tokens, limit, now):
                    lane.take(tokens, metered=metered)
                    return _Admitted(key=lane.key.key, tokens=tokens, lane=lane, metered=metered)
            drawn, now = await self._draw_one(lanes, limit, tokens), loop.time()
            if drawn:
                continue
            if now >= deadline:
                raise TimeoutError(f"no key of {provider} has room for a request within {wait_sec:g} s")
            pause = min(deadline, *(_ready(lane, now) for lane in lanes)) - now
            await came(self._moved, max(pause, SHORTEST_PAUSE_SEC))
            now = loop.time()

    def done(self, admission: Admission, *, tokens: int | None) -> None:
        """As the port has it."""
        admitted = _ours(admission)
        admitted.lane.ended(admission.tokens - tokens if admitted.metered and tokens is not None else 0)
        self._moved.set()

    def throttled(self, admission: Admission, *, retry_after: float | None) -> None:
        """As the port has it."""
        lane = _ours(admission).lane
        asked = retry_after if retry_after is not None and 0 < retry_after < math.inf else None
        pause = lane.refused(asked and min(asked, LONGEST_REST_SEC), asyncio.get_running_loop().time())
        _log.info("rates.throttled", provider=lane.key.provider, key=lane.key.key, rests_sec=round(pause, 3))
        self._tell(lane, pause)
        self._moved.set()

    def learn(self, admission: Admission, headers: object) -> None:
        """As the port has it."""
        if not (told := telling(headers)):
            return
        lane, left = _ours(admission).lane, left_of(told)
        if left.requests is not None:
            lane.requests = min(lane.requests, left.requests)
        if left.tokens is not None:
            lane.tokens = min(lane.tokens, float(left.tokens))
        pause = max(left.rest_sec or 0.0, retry_after(told) or 0.0)
        if pause:
            lane.rest(pause, asyncio.get_running_loop().time())
            self._tell(lane, pause)

    async def close(self) -> None:
        """Finish telling the others what rests."""
        await asyncio.gather(*self._telling)

    def _lane(self, key: KeyName) -> Lane:
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(key=key)
        return lane

    async def _draw_one(self, lanes: Sequence[Lane], limit: RateLimit, tokens: int) -> bool:
        """Draw for the first key that may have something; whether there is something in hand that was not before."""
        loop = asyncio.get_running_loop()
        for lane in lanes:
            if not lane.may_start(loop.time()) or lane.next_draw > loop.time():
                continue
            async with lane.drawing:
                if lane.has(tokens, limit, loop.time()):  # somebody else drew meanwhile
                    return True
                if lane.next_draw > loop.time():
                    continue
                wanted = max(0.0, tokens - lane.tokens)
                work = partial(draw, key=lane.key, limit=limit, tokens=wanted)
                lane.put(grant := await asyncio.to_thread(self._database.as_scheduler, work), loop.time())
            if grant.requests:
                return True
        return False

    def _tell(self, lane: Lane, seconds: float) -> None:
        task = asyncio.create_task(self._rest(lane.key, seconds))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _rest(self, key: KeyName, seconds: float) -> None:
        work = partial(rest, key=key, seconds=seconds)
        try:
            await asyncio.to_thread(self._database.as_scheduler, work)
        except DatabaseUnavailable as error:  # the others find out by themselves
            _log.info("rates.not_told", provider=key.provider, key=key.key, reason=str(error))


def _ours(admission: Admission) -> _Admitted:
    if not isinstance(admission, _Admitted):
        raise TypeError("an admission of another book")
    return admission


def _ready(lane: Lane, now: float) -> float:
    """When it may be worth to look again; who waits for others to end is woken by them."""
    if lane.is_full:
        return math.inf
    return max(lane.rests_until, lane.next_draw, now)
