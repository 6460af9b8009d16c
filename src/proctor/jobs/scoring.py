"""Scoring one chunk: texts in, rows of results out. Runs in a process of its own, and knows no database.

What it is told is plain values, so that it can be sent there; what it made lies in the object store before anybody
hears of it, and counts only when the manifest says so.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.evaluators.catalogue import AnyEvaluator, Means, built, judged
from proctor.evaluators.configuration import Definition
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.statuses import Status
from proctor.jobs.chunks import MOST, Chunk
from proctor.jobs.replies import Made
from proctor.jobs.samples_schema import sample_digest, sample_schema
from proctor.kernel.canonical import Json
from proctor.objects.parquet import Part, read_rows
from proctor.objects.store import ObjectMissing, ObjectStore
from proctor.results.batches import Batch, Place, stored
from proctor.results.schema import COLUMNS, result_schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Judge", "Order", "score"]

_STORES: int = 4
"""Object stores that are kept open: an installation has one."""
_BUILT: int = 64
"""Evaluators that are kept ready: a job has a few."""
_NO_OUTPUT: str = "There is no output for this example."


@dataclass(frozen=True, kw_only=True)
class Judge:
    """An evaluator as a job uses it."""

    name: str
    """As it is called: of a registered one name@version."""
    digest: str
    type: str
    implementation: int
    configuration: Mapping[str, Json]

    @property
    def definition(self) -> Definition:
        """All that decides its numbers."""
        return Definition(type=self.type, implementation=self.implementation, configuration=self.configuration)


@dataclass(frozen=True, kw_only=True)
class Order:
    """All that is needed to score one chunk."""

    place: Place
    tries: int
    """That were used up before this one."""
    chunk: Chunk
    store: str
    """Where the objects are."""
    rows: int
    """Of the dataset version."""
    version: UUID | None
    """``None``: the rows are a stream's."""
    examples: tuple[Part, ...]
    outputs: tuple[Part, ...]
    """Empty where a target makes them."""
    judges: tuple[Judge, ...]
    target: Mapping[str, Json] | None
    target_digest: str | None
    made: tuple[Made, ...] | None
    """What the target made, an output for each row; ``None``: it did not yet, or there is none."""
    creator: str
    """Whose budget pays for a target; empty: nobody's."""
    model: str | None
    """What made the outputs, where they do not say so themselves."""
    trace_id: str
    first: int = 0
    """Which row the parts begin with: of a stream's chunk they hold its own alone."""


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """What of a chunk is the same for every evaluator. ``present``: where there is an output; ``None``: everywhere."""

    order: Order
    examples: pa.Table
    outputs: pa.Table
    present: pa.Array | None


def score(order: Order) -> Batch:
    """The chunk's results, stored. Raises ``ObjectMissing``, ``ObjectStoreFull``."""
    import pyarrow as pa

    objects, chunk = _objects(order.store), order.chunk
    if not chunk.rows:
        raise ObjectMissing("Its rows were let go before they were judged.")
    start, stop, offset = chunk.start - order.first, chunk.stop - order.first, chunk.repeat * order.rows
    examples = read_rows(objects, order.examples, start, stop, _EXAMPLE_COLUMNS)
    if order.made is None:
        outputs = read_rows(objects, order.outputs, offset + start, offset + stop, _OUTPUT_COLUMNS)
    else:
        outputs = _made(order.made, examples.column("digest").to_pylist())
    rows = _Rows(order=order, examples=examples, outputs=outputs, present=_present(outputs))
    spent: dict[str, float] = {}
    tables = []
    for judge, evaluator in [(one, _built(one)) for one in order.judges]:
        begun = time.perf_counter()
        scores = _scores(rows, evaluator)
        spent[judge.digest] = time.perf_counter() - begun
        tables.append(_table(rows, judge, scores, spent[judge.digest] / chunk.rows))
    return replace(stored(objects, order.place, pa.concat_tables(tables)), spent=spent)


_EXAMPLE_COLUMNS = ("id", "digest", "input", "input_is_json", "expected", "expected_is_json")
_OUTPUT_COLUMNS = ("output", "output_is_json", "digest", "status", "error", "model")


def _made(made: Sequence[Made], examples: Sequence[bytes]) -> pa.Table:
    """What a target made, as outputs that are kept look."""
    import pyarrow as pa

    schema = sample_schema()
    columns = {
        "output": [one.output for one in made],
        "output_is_json": [False] * len(made),
        "digest": [
            None if one.output is None else sample_digest(example, one.output, is_json=False)
            for one, example in zip(made, examples, strict=True)
        ],
        "status": [one.status for one in made],
        "error": [one.error for one in made],
        "model": [one.model or None for one in made],
        "seconds": [one.seconds for one in made],
        "cost_nano": [one.cost_nano for one in made],
    }
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def _present(outputs: pa.Table) -> pa.Array | None:
    column = outputs.column("output")
    return None if column.null_count == 0 else column.is_valid().combine_chunks()


def _scores(rows: _Rows, evaluator: AnyEvaluator) -> Scores:
    if rows.present is None:
        return _judged(evaluator, _samples(rows.examples, rows.outputs))
    there = _samples(rows.examples.filter(rows.present), rows.outputs.filter(rows.present))
    return _spread(rows, _judged(evaluator, there))


def _judged(evaluator: AnyEvaluator, samples: Samples) -> Scores:
    return asyncio.run(judged(evaluator, samples))


def _samples(examples: pa.Table, outputs: pa.Table) -> Samples:
    known = {name: _whole(examples.column(name)) for name in _EXAMPLE_COLUMNS[2:]}
    if known["input"].null_count:  # a stream's row need not tell it: whoever reads inputs sees an empty one
        known["input"] = known["input"].fill_null("")
    return Samples(
        output=_whole(outputs.column("output")), output_is_json=_whole(outputs.column("output_is_json")), **known
    )


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _spread(rows: _Rows, there: Scores) -> Scores:
    """Scores of the rows that have an output, at their places among all; the others say why they have none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    present = rows.present
    assert present is not None
    count = len(present)
    where = pc.replace_with_mask(pa.nulls(count, pa.int64()), present, pa.array(range(len(there)), pa.int64()))
    told = _whole(rows.outputs.column("status")).cast(pa.string()).fill_null(Status.INVALID_EXAMPLE.value)
    words = _whole(rows.outputs.column("error")).fill_null(_NO_OUTPUT)
    status = there.status.cast(pa.string()).take(where)
    error = pa.nulls(count, pa.string()) if there.error is None else there.error.take(where)
    return Scores(
        score=there.score.take(where),
        label=None if there.label is None else there.label.take(where),
        status=_coded(pc.if_else(present, status, told)),
        error=pc.if_else(present, error, words),
    )


def _coded(words: pa.Array) -> pa.DictionaryArray:
    """Statuses as codes over all of them, as every evaluator gives them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array([one.value for one in Status])
    return pa.DictionaryArray.from_arrays(pc.index_in(words, known).cast(pa.int8()), known)


def _table(rows: _Rows, judge: Judge, scores: Scores, seconds: float) -> pa.Table:
    import pyarrow as pa

    order, count = rows.order, len(scores.score)
    word, model = _word(count), rows.outputs.column("model").combine_chunks()
    columns = {
        "job": word(str(order.place.job)),
        "dataset_version": word(None if order.version is None else str(order.version)),
        "row": _counted_from(order.chunk.start, count),
        "example": rows.examples.column("id"),
        "sample": rows.outputs.column("digest"),
        "target": word(order.target_digest),
        "model": word(order.model) if model.null_count == count else model,
        "evaluator": word(judge.name),
        "evaluator_version": word(judge.digest),
        "repeat": _same(count, order.chunk.repeat, pa.int32()),
        "score": scores.score,
        "label": word(None) if scores.label is None else scores.label.dictionary_encode(),
        "status": scores.status,
        "error": pa.nulls(count, pa.string()) if scores.error is None else scores.error,
        "seconds": _same(count, seconds, pa.float32()),
        "cost_nano": _same(count, 0, pa.int64()),
        "probability": _same(count, 1.0, pa.float32()),
        "trace_id": word(order.trace_id),
        "time": _same(count, datetime.now(UTC), pa.timestamp("us", tz="UTC")),
    }
    schema = result_schema()
    return pa.table([_cast(columns[name], schema.field(name).type) for name in COLUMNS], schema=schema)


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
