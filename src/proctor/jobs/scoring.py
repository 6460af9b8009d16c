"""Scoring one chunk: texts in, rows of results out. Runs in a process of its own, and knows no database.

What it is told is plain values, so that it can be sent there; what it made lies in the object store before anybody
hears of it, and counts only when the manifest says so.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proctor.evaluators.catalogue import AnyEvaluator, Means, built, judged
from proctor.evaluators.interfaces import Scores
from proctor.evaluators.samples import scores_of
from proctor.jobs.orders import Judge, Order, in_turn
from proctor.jobs.routing import Drawn, draw
from proctor.jobs.rows import Rows, rows_of, samples, spread
from proctor.jobs.tables import Said, result_table
from proctor.objects.store import ObjectStore
from proctor.results.batches import Batch, Spent, stored

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Choice", "choose", "score"]

_STORES: int = 4
"""Object stores that are kept open: an installation has one."""
_BUILT: int = 64
"""Evaluators that are kept ready: a job has a few."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which rows of a chunk routing chose, counted from its first, by the evaluator's digest."""

    rows: Mapping[str, tuple[int, ...]]


def score(order: Order) -> Batch:
    """The chunk's results, stored. Raises ``ObjectMissing``, ``ObjectStoreFull``."""
    import pyarrow as pa

    objects = _objects(order.store)
    rows = rows_of(order, objects)
    said: dict[str, Said] = {}
    for judge in in_turn(order.judges):
        said[judge.name] = _said(rows, judge, said)
    tables = [result_table(rows, said[judge.name]) for judge in order.judges]
    spent = {one.judge.digest: Spent(evaluations=one.evaluations, seconds=one.seconds) for one in said.values()}
    return replace(stored(objects, order.place, pa.concat_tables(tables)), spent=spent)


def choose(order: Order) -> Choice:
    """Which rows the evaluators of a chunk judge that are routed and wait for others. Raises ``ObjectMissing``."""
    rows = rows_of(order, _objects(order.store))
    routed = [judge for judge in order.waiting if judge.route is not None]
    first = {judge.route.after for judge in routed if judge.route is not None}
    said = {judge.name: _said(rows, judge, {}) for judge in order.judges if judge.name in first}
    chosen = {judge.digest: rows.judged(_drawn(rows, judge, said).chosen) for judge in routed}
    return Choice(rows={digest: _places(where) for digest, where in chosen.items()})


def _places(where: pa.Array | None) -> tuple[int, ...]:
    import pyarrow.compute as pc

    assert where is not None  # somebody was chosen, or nobody
    return tuple(pc.indices_nonzero(where).to_pylist())


def _said(rows: Rows, judge: Judge, before: Mapping[str, Said]) -> Said:
    """What an evaluator makes of them, of which some were judged ``before``."""
    drawn = None if judge.route is None else _drawn(rows, judge, before)
    where = rows.judged(None if drawn is None else drawn.chosen)
    told = rows.order.judged.get(judge.digest)
    begun = time.perf_counter()
    scores = _scores(rows, judge, where) if told is None else scores_of(told.rows)
    seconds = time.perf_counter() - begun
    return Said(
        judge=judge,
        scores=scores if where is None else spread(rows, where, scores),
        where=where,
        probability=None if drawn is None else drawn.probability,
        seconds=seconds if told is None else told.seconds,
        cost_nano=0 if told is None else told.cost_nano,
    )


def _drawn(rows: Rows, judge: Judge, before: Mapping[str, Said]) -> Drawn:
    assert judge.route is not None
    first, digests = before[judge.route.after].scores, rows.outputs.column("digest").to_pylist()
    return draw(judge.route, first, judge.digest, digests, rows.order.chunk.repeat)


def _scores(rows: Rows, judge: Judge, where: pa.Array | None) -> Scores:
    return asyncio.run(judged(_built(judge), samples(rows, where)))


# --- what a process keeps between chunks ------------------------------------------------------------------------------

_stores: OrderedDict[str, ObjectStore] = OrderedDict()
_evaluators: OrderedDict[str, AnyEvaluator] = OrderedDict()


def _objects(store: str) -> ObjectStore:
    found = _stores.get(store)
    if found is None:
        found = _stores[store] = ObjectStore(store)
        while len(_stores) > _STORES:
            _stores.popitem(last=False)
    return found


def _built(judge: Judge) -> AnyEvaluator:
    found = _evaluators.get(judge.digest)
    if found is None:
        found = _evaluators[judge.digest] = built(judge.definition, Means())
        while len(_evaluators) > _BUILT:
            _evaluators.popitem(last=False)
    return found
