"""Evaluators that wait for others, asked about the rows of a chunk: user's code in sandboxes, models.

What a model said is kept as it arrives, a batch at a time, and is not asked again for the same output, by any job. What
may pass (a rate limit, a sandbox that does not start) is not kept: the chunk comes back later for what is missing, and
says why only when it has come three times.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.evaluators.catalogue import AnyEvaluator, asks_model, built, judged
from proctor.evaluators.samples import Score, rows_of
from proctor.evaluators.statuses import Status
from proctor.jobs import rows as chunks
from proctor.jobs.orders import Judge, Judged, Order
from proctor.jobs.outside import Outside, Unasked
from proctor.jobs.scorers import Scorers
from proctor.kernel.money import total
from proctor.objects.store import ObjectStore

__all__ = ["Panel"]

IN_SANDBOX: int = 1000
"""Rows that a sandbox is given at once: making one takes 50 ms, and 64 MB hold all their answers."""
TO_MODEL: int = 64
"""Rows of which a model's answers are kept together: what a worker's death asks again."""
CALLS: int = 16
"""Batches for models at once: providers' own limits are kept by the gateway."""
_PASSING: frozenset[Status] = frozenset({Status.RATE_LIMITED, Status.PROVIDER_ERROR, Status.SANDBOX_ERROR})
_LASTING: frozenset[Status] = frozenset({Status.SCORED, Status.REFUSED, Status.PARSE_ERROR, Status.TRUNCATED})
"""Of a model's answers, those that were answers: they are kept."""

_run = partial(run_query, "proctor.jobs")


@dataclass(frozen=True, kw_only=True)
class _Said:
    """What an evaluator said of some rows."""

    scores: Mapping[int, Score]
    seconds: float = 0.0
    cost_nano: int | None = 0


class Panel:
    """All of a worker's evaluators that wait for others, in one event loop."""

    def __init__(
        self, database: Database, objects: ObjectStore, scorers: Scorers, outside: Outside, *, tries: int
    ) -> None:
        """``scorers``: they choose the rows of routed evaluators; ``tries``: of a chunk in all."""
        self._database, self._objects, self._scorers = database, objects, scorers
        self._outside, self._tries = outside, tries
        self._calls = asyncio.Semaphore(CALLS)

    async def judged(self, order: Order) -> Order:
        """The order with what those of its evaluators said that wait for others. Raises ``Unasked``."""
        for routed in (False, True):  # what routes an evaluator may itself have to be waited for
            judges = [judge for judge in order.waiting if (judge.route is not None) is routed]
            if judges:
                said = await self._judged(order, judges, routed=routed)
                order = replace(order, judged={**order.judged, **said})
        return order

    async def _judged(self, order: Order, judges: Sequence[Judge], *, routed: bool) -> dict[str, Judged]:
        chosen = (await asyncio.wrap_future(self._scorers.choose(order))).rows if routed else {}
        rows = await asyncio.to_thread(chunks.rows_of, order, self._objects)
        there = rows.places()
        asked = (self._of_judge(rows, judge, chosen.get(judge.digest, there)) for judge in judges)
        found = await asyncio.gather(*asked, return_exceptions=True)
        if errors := [one for one in found if isinstance(one, BaseException)]:
            raise errors[0]
        return {judge.digest: one for judge, one in zip(judges, found, strict=True) if isinstance(one, Judged)}

    async def _of_judge(self, rows: chunks.Rows, judge: Judge, places: Sequence[int]) -> Judged:
        if asks_model(judge.definition):
            work: _Work = _OfModel(self._database, rows, judge)
            size, turns = TO_MODEL, self._calls
        else:
            work, size, turns = _OfCode(), IN_SANDBOX, self._outside.turns
        known = await work.known(places)
        missing = [place for place in places if place not in known.scores]
        evaluator = built(judge.definition, self._outside.means(rows.order)) if missing else None
        asked = (self._batch(rows, evaluator, batch, work, turns) for batch in _cut(missing, size) if evaluator)
        found = _together([known, *await asyncio.gather(*asked)])
        self._refuse_passing(rows.order, judge, list(found.scores.values()))
        scores = tuple(found.scores[place] for place in places)
        return Judged(rows=scores, seconds=found.seconds, cost_nano=found.cost_nano)

    async def _batch(
        self, rows: chunks.Rows, evaluator: AnyEvaluator, places: Sequence[int], work: _Work, turns: asyncio.Semaphore
    ) -> _Said:
        async with turns:
            begun = time.perf_counter()
            scores = await judged(evaluator, chunks.samples_at(rows, places))
            said = _Said(
                scores=dict(zip(places, rows_of(scores), strict=True)),
                seconds=time.perf_counter() - begun,
                cost_nano=scores.cost_nano,
            )
            await work.keep(said)
            return said

    def _refuse_passing(self, order: Order, judge: Judge, scores: Sequence[Score]) -> None:
        passing = [score for score in scores if score.status in _PASSING]
        if passing and order.tries + 1 < self._tries:
            raise Unasked(f"{judge.name} could not judge {len(passing):,} outputs: {passing[0].error}")


class _OfCode:
    """What code says costs no money and is not kept apart from the results."""

    async def known(self, places: Sequence[int]) -> _Said:
        """Nothing."""
        return _Said(scores={})

    async def keep(self, said: _Said) -> None:
        """Not at all."""


class _OfModel:
    """What a model says is paid for: it is kept before anything else is done with it."""

    def __init__(self, database: Database, rows: chunks.Rows, judge: Judge) -> None:
        self._database, self._order, self._judge = database, rows.order, judge
        self._digests: list[bytes] = rows.outputs.column("digest").to_pylist()

    async def known(self, places: Sequence[int]) -> _Said:
        """What it said of these outputs before."""
        tenant, wanted = self._order.place.tenant, {self._digests[place]: place for place in places}
        query = partial(
            _kept,
            tenant=tenant,
            evaluator=self._judge.digest,
            repeat=self._order.chunk.repeat,
            samples=list(wanted),
        )
        found = await asyncio.to_thread(self._database.as_tenant, tenant, query)
        return _Said(scores={place: found[digest] for place in places if (digest := self._digests[place]) in found})

    async def keep(self, said: _Said) -> None:
        """Return once it is committed."""
        share = None if said.cost_nano is None else said.cost_nano // max(len(said.scores), 1)
        rows = [
            {
                "evaluator": self._judge.digest,
                "sample": self._digests[place].hex(),
                "repeat": self._order.chunk.repeat,
                **asdict(score),
                "cost_nano": share,
                "job_id": str(self._order.place.job),
            }
            for place, score in said.scores.items()
            if score.status in _LASTING
        ]
        if rows:
            tenant = self._order.place.tenant
            await asyncio.to_thread(self._database.as_tenant, tenant, partial(_keep, tenant=tenant, rows=rows))


_Work = _OfCode | _OfModel


def _kept(
    connection: Connection, *, tenant: UUID, evaluator: str, repeat: int, samples: Sequence[bytes]
) -> dict[bytes, Score]:
    wanted = {"tenant": tenant, "evaluator": evaluator, "repeat": repeat, "samples": list(samples)}
    return {
        bytes(row.sample): Score(score=row.score, status=Status(row.status), label=row.label, error=row.error)
        for row in _run(connection, "judgements_of", **wanted)
    }


def _keep(connection: Connection, *, tenant: UUID, rows: Sequence[Mapping[str, object]]) -> None:
    _run(connection, "keep_judgements", tenant=tenant, rows=json.dumps(rows))


def _cut(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for first in range(0, len(places), size):
        yield places[first : first + size]


def _together(said: Sequence[_Said]) -> _Said:
    return _Said(
        scores={place: score for one in said for place, score in one.scores.items()},
        seconds=sum(one.seconds for one in said),
        cost_nano=total(one.cost_nano for one in said),
    )
