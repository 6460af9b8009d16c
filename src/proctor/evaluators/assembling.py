"""Putting scores together: numbers for all rows, less the rows for which something stood in the way.

Everything here is vectorised, since exact match judges millions of rows a second through it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.statuses import Status

__all__ = [
    "NO_EXPECTATION",
    "Obstacle",
    "Row",
    "RowFault",
    "assembled",
    "by_pairs",
    "by_rows",
    "no_expectation",
    "status_column",
]

NO_EXPECTATION: str = "the example has no expected output"
_NAMES = pa.array([status.value for status in Status], pa.string())
_CODES = {status: code for code, status in enumerate(Status)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Obstacle:
    """What stood in the way of a score for some rows."""

    rows: pa.Array
    """bool, without nulls: for which"""
    status: Status
    error: pa.Array | str
    """One sentence for all of them, or a string for each row of the batch."""


class RowFault(Exception):
    """One row gets no score."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def status_column(codes: pa.Array) -> pa.Array:
    """Codes of statuses, int8, as the column that ``Scores`` have."""
    return pa.DictionaryArray.from_arrays(codes, _NAMES)


def assembled(score: pa.Array, *obstacles: Obstacle) -> Scores:
    """Scores as float64, of which rows with an obstacle have none; the first obstacle of a row is the one told."""
    codes, error = pa.repeat(pa.scalar(0, pa.int8()), len(score)), None
    for obstacle in reversed([one for one in obstacles if one.rows.true_count]):
        codes = pc.if_else(obstacle.rows, pa.scalar(_CODES[obstacle.status], pa.int8()), codes)
        score = pc.if_else(obstacle.rows, pa.scalar(None, pa.float64()), score)
        told = pa.scalar(obstacle.error) if isinstance(obstacle.error, str) else obstacle.error
        error = pc.if_else(obstacle.rows, told, pa.scalar(None, pa.string()) if error is None else error)
    return Scores(score=score, label=None, status=status_column(codes), error=error)


def no_expectation(samples: Samples) -> Obstacle:
    """The obstacle of examples that don't say what is expected."""
    return Obstacle(rows=samples.expected.is_null(), status=Status.INVALID_EXAMPLE, error=NO_EXPECTATION)


class Row(NamedTuple):
    """What a metric that goes row by row sees of a sample."""

    expected: str | None
    expected_is_json: bool
    output: str
    output_is_json: bool

    def needed(self) -> str:
        """What is expected. Raises ``RowFault`` where nothing is."""
        if self.expected is None:
            raise RowFault(Status.INVALID_EXAMPLE, NO_EXPECTATION)
        return self.expected


def by_pairs(samples: Samples, judge: Callable[[str, str], float]) -> Scores:
    """Each output by ``judge(expected, output)``, which may raise ``RowFault``."""
    return by_rows(samples, lambda row: judge(row.needed(), row.output))


def by_rows(samples: Samples, judge: Callable[[Row], float]) -> Scores:
    """Each output by ``judge``, which may raise ``RowFault``; for metrics that can't be vectorised."""
    columns = (samples.expected, samples.expected_is_json, samples.output, samples.output_is_json)
    scores: list[float | None] = []
    codes = bytearray(len(samples))
    errors: dict[int, str] = {}
    for number, row in enumerate(zip(*(column.to_pylist() for column in columns), strict=True)):
        try:
            scores.append(judge(Row(*row)))
        except RowFault as fault:
            scores.append(None)
            codes[number], errors[number] = _CODES[fault.status], fault.message
    told = [errors.get(number) for number in range(len(samples))] if errors else None
    return Scores(
        score=pa.array(scores, pa.float64()),
        label=None,
        status=status_column(pa.array(codes, pa.int8())),
        error=None if told is None else pa.array(told, pa.string()),
    )
