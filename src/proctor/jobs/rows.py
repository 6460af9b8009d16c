"""The rows of a chunk: its examples and the outputs that are judged, and scores of some rows put among all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.statuses import Status
from proctor.jobs.orders import Order
from proctor.jobs.replies import Made
from proctor.jobs.samples_schema import sample_digest, sample_schema
from proctor.objects.parquet import read_rows
from proctor.objects.store import ObjectMissing, ObjectStore

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Rows", "rows_of", "samples", "samples_at", "spread", "whole"]

_EXAMPLE_COLUMNS = ("id", "digest", "input", "input_is_json", "expected", "expected_is_json")
_OUTPUT_COLUMNS = ("output", "output_is_json", "digest", "status", "error", "model")
_NO_OUTPUT: str = "There is no output for this example."
_NOT_CHOSEN: str = "Routing did not choose it."


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """What of a chunk is the same for every evaluator. ``present``: where there is an output; ``None``: everywhere."""

    order: Order
    examples: pa.Table
    outputs: pa.Table
    present: pa.Array | None

    def __len__(self) -> int:
        return int(self.examples.num_rows)

    def places(self) -> list[int]:
        """Where there is an output, counted from the chunk's first row."""
        import pyarrow.compute as pc

        present = self.present
        return list(range(len(self))) if present is None else list(pc.indices_nonzero(present).to_pylist())

    def judged(self, chosen: pa.Array | None) -> pa.Array | None:
        """Which rows an evaluator judges that was told to judge those ``chosen``; ``None``, in and out: all."""
        import pyarrow.compute as pc

        if chosen is None or self.present is None:
            return self.present if chosen is None else chosen
        return pc.and_(self.present, chosen)


def rows_of(order: Order, objects: ObjectStore) -> Rows:
    """Read them. Raises ``ObjectMissing``, ``ObjectDamaged``."""
    chunk = order.chunk
    if not chunk.rows:
        raise ObjectMissing("Its rows were let go before they were judged.")
    start, stop, offset = chunk.start - order.first, chunk.stop - order.first, chunk.repeat * order.rows
    examples = read_rows(objects, order.examples, start, stop, _EXAMPLE_COLUMNS)
    if order.made is None:
        outputs = read_rows(objects, order.outputs, offset + start, offset + stop, _OUTPUT_COLUMNS)
    else:
        outputs = _made(order.made, examples.column("digest").to_pylist())
    column = outputs.column("output")
    present = None if column.null_count == 0 else column.is_valid().combine_chunks()
    return Rows(order=order, examples=examples, outputs=outputs, present=present)


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


def samples(rows: Rows, where: pa.Array | None) -> Samples:
    """Those rows as evaluators take them; ``None``: all."""
    examples, outputs = rows.examples, rows.outputs
    if where is not None:
        examples, outputs = examples.filter(where), outputs.filter(where)
    known = {name: whole(examples.column(name)) for name in _EXAMPLE_COLUMNS[2:]}
    if known["input"].null_count:  # a stream's row need not tell it: whoever reads inputs sees an empty one
        known["input"] = known["input"].fill_null("")
    return Samples(
        output=whole(outputs.column("output")), output_is_json=whole(outputs.column("output_is_json")), **known
    )


def samples_at(rows: Rows, places: Sequence[int]) -> Samples:
    """Those rows, counted from the chunk's first, as evaluators take them."""
    import pyarrow as pa

    wanted = pa.array(places, pa.int64())
    return samples(replace(rows, examples=rows.examples.take(wanted), outputs=rows.outputs.take(wanted)), None)


def spread(rows: Rows, where: pa.Array, there: Scores) -> Scores:
    """Scores of the rows ``where`` at their places among all; the others say why they have none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count = len(where)
    place = pc.replace_with_mask(pa.nulls(count, pa.int64()), where, pa.array(range(len(there)), pa.int64()))
    told = whole(rows.outputs.column("status")).cast(pa.string()).fill_null(Status.INVALID_EXAMPLE.value)
    words = whole(rows.outputs.column("error")).fill_null(_NO_OUTPUT)
    if rows.present is not None:
        told = pc.if_else(rows.present, Status.NOT_CHOSEN.value, told)
        words = pc.if_else(rows.present, _NOT_CHOSEN, words)
    else:
        told, words = (pa.repeat(text, count) for text in (Status.NOT_CHOSEN.value, _NOT_CHOSEN))
    error = pa.nulls(count, pa.string()) if there.error is None else there.error.take(place)
    return Scores(
        score=there.score.take(place),
        label=None if there.label is None else there.label.take(place),
        status=_coded(pc.if_else(where, there.status.cast(pa.string()).take(place), told)),
        error=pc.if_else(where, error, words),
    )


def _coded(words: pa.Array) -> pa.DictionaryArray:
    """Statuses as codes over all of them, as every evaluator gives them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array([one.value for one in Status])
    return pa.DictionaryArray.from_arrays(pc.index_in(words, known).cast(pa.int8()), known)


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
