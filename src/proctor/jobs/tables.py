"""The result rows of one evaluator over one chunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from proctor.evaluators.interfaces import Scores
from proctor.jobs.chunks import MOST
from proctor.jobs.orders import Judge
from proctor.jobs.rows import Rows
from proctor.results.schema import COLUMNS, result_schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Said", "result_table"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Said:
    """What an evaluator made of a chunk's rows. ``where``: those that it judged, ``None``: all; ``probability``: of
    each row, to be chosen, ``None``: 1; ``seconds``: for all of them; ``cost_nano``: of all, ``None``: not known."""

    judge: Judge
    scores: Scores
    where: pa.Array | None
    probability: pa.Array | None
    seconds: float
    cost_nano: int | None

    @property
    def evaluations(self) -> int:
        """How many rows it judged."""
        return len(self.scores) if self.where is None else self.where.true_count


def result_table(rows: Rows, said: Said) -> pa.Table:
    """A result for each row."""
    import pyarrow as pa

    order, scores, count = rows.order, said.scores, len(rows)
    word, model = _word(count), rows.outputs.column("model").combine_chunks()
    columns = {
        "job": word(str(order.place.job)),
        "dataset_version": word(None if order.version is None else str(order.version)),
        "row": _counted_from(order.chunk.start, count),
        "example": rows.examples.column("id"),
        "sample": rows.outputs.column("digest"),
        "target": word(order.target_digest),
        "model": word(order.model) if model.null_count == count else model,
        "evaluator": word(said.judge.name),
        "evaluator_version": word(said.judge.digest),
        "repeat": _same(count, order.chunk.repeat, pa.int32()),
        "score": scores.score,
        "label": word(None) if scores.label is None else scores.label.dictionary_encode(),
        "status": scores.status,
        "error": pa.nulls(count, pa.string()) if scores.error is None else scores.error,
        "seconds": _shared(said, said.seconds, pa.float32()),
        "cost_nano": _cost(said),
        "probability": _same(count, 1.0, pa.float32()) if said.probability is None else said.probability,
        "trace_id": word(order.trace_id),
        "time": _same(count, datetime.now(UTC), pa.timestamp("us", tz="UTC")),
    }
    schema = result_schema()
    return pa.table([_cast(columns[name], schema.field(name).type) for name in COLUMNS], schema=schema)


def _shared(said: Said, amount: float, kind: pa.DataType) -> pa.Array:
    """An amount in equal shares for the rows that were judged, and nothing for the others."""
    import pyarrow.compute as pc

    share = _same(len(said.scores), amount / max(said.evaluations, 1), kind)
    return share if said.where is None else pc.if_else(said.where, share, _same(len(said.scores), 0, kind))


def _cost(said: Said) -> pa.Array:
    """Shares that make the whole cost again: the first rows that were judged take what does not divide."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count = len(said.scores)
    if not said.cost_nano:
        unknown = said.cost_nano is None
        return pa.nulls(count, pa.int64()) if unknown else _same(count, 0, pa.int64())
    share, left = divmod(said.cost_nano, max(said.evaluations, 1))
    judged = pa.repeat(True, count) if said.where is None else said.where
    turn = pc.cumulative_sum(judged.cast(pa.int64()))
    cost = pc.if_else(pc.less_equal(turn, left), share + 1, share)
    return pc.if_else(judged, cost, 0)


def _counted_from(first: int, count: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.add(_numbers().slice(0, count), pa.scalar(first, pa.int64()))


@cache
def _numbers() -> pa.Array:
    """0, 1, 2 and so on for the largest chunk: made once, since Python's numbers are slow to come by."""
    import pyarrow as pa

    return pa.array(range(MOST), pa.int64())


def _cast(column: pa.Array | pa.ChunkedArray, wanted: pa.DataType) -> pa.Array | pa.ChunkedArray:
    return column if column.type == wanted else column.cast(wanted)


def _same(count: int, value: object, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(pa.scalar(value, kind), count)


def _word(count: int) -> Callable[[str | None], pa.DictionaryArray]:
    """Makes columns that hold one word, or none."""
    import pyarrow as pa

    first = pa.repeat(pa.scalar(0, pa.int32()), count)

    def column(value: str | None) -> pa.DictionaryArray:
        if value is None:
            return pa.nulls(count, pa.dictionary(pa.int32(), pa.string()))
        return pa.DictionaryArray.from_arrays(first, pa.array([value]))

    return column
