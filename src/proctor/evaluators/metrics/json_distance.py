"""``json-distance``: how much of a JSON value is another.

The distance of two values is the least number of leaves that have to be taken from the one and put into the other to
make them equal, over the leaves that both have: 0 for equal values, 1 for values that share nothing. A leaf is a
number, string, boolean or null, or an empty object or array. Properties of two objects are compared by their names;
items of two arrays are aligned so that it costs least, in their order. So it is an edit distance of ordered trees with
named branches, where nothing but leaves is worth anything, and changing a leaf is taking one and putting one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from pydantic import Field

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.statuses import Status
from proctor.evaluators.values import NotJson, read_json, without_fence
from proctor.kernel.canonical import Json

__all__ = ["MOST_COMPARISONS", "JsonDistance", "JsonDistanceConfiguration", "TooLarge", "distance"]

MOST_COMPARISONS: int = 250_000
"""Pairs of items and of properties for one output: two arrays of 500 numbers, in about a second."""


class JsonDistanceConfiguration(Configuration):
    """1 less the distance of the two values. An output that is no JSON is a parse error."""

    fences: bool = Field(default=True, description="A Markdown code fence around the output is taken off.")


class TooLarge(Exception):
    """Two values have too many parts to be compared."""


class JsonDistance:
    """Implements ``Evaluator``."""

    def __init__(self, configuration: JsonDistanceConfiguration) -> None:
        self._fences = configuration.fences

    def score(self, samples: Samples) -> Scores:
        """A row for each sample. An expected text that is no JSON is that string."""
        from proctor.evaluators.assembling import Row, RowFault, by_rows

        def judge(row: Row) -> float:
            try:
                expected = _expected(row.needed(), is_json=row.expected_is_json)
            except NotJson as error:
                raise RowFault(Status.INVALID_EXAMPLE, f"the expected output can't be read: {error}") from error
            fenced = self._fences and not row.output_is_json
            try:
                return 1 - distance(expected, read_json(without_fence(row.output) if fenced else row.output))
            except NotJson as error:
                raise RowFault(Status.PARSE_ERROR, f"the output is no JSON: {error}") from error
            except TooLarge as error:
                raise RowFault(Status.PARSE_ERROR, "the values have too many parts to be compared") from error

        return by_rows(samples, judge)


def _expected(text: str, *, is_json: bool) -> Json:
    try:
        return read_json(text)
    except NotJson:
        if is_json:
            raise
        return text


def distance(one: Json, other: Json) -> float:
    """From 0 to 1, the same both ways; 0 exactly for equal values, where 1.0 is 1. Raises ``TooLarge``."""
    return _Alignment().cost(one, other) / (_leaves(one) + _leaves(other))


class _Alignment:
    """The comparison of two values; counts what it compares."""

    def __init__(self) -> None:
        self._left = MOST_COMPARISONS

    def cost(self, one: Json, other: Json) -> int:
        """Leaves to take and to put."""
        if isinstance(one, Mapping) and isinstance(other, Mapping) and one and other:
            return self._of_objects(one, other)
        if isinstance(one, list) and isinstance(other, list) and one and other:
            return self._of_arrays(one, other)
        return 0 if _same(one, other) else _leaves(one) + _leaves(other)

    def _of_objects(self, one: Mapping[str, Json], other: Mapping[str, Json]) -> int:
        self._spend(len(one))
        shared = sum(self.cost(one[name], other[name]) for name in one.keys() & other.keys())
        alone = [one[name] for name in one.keys() - other.keys()]
        alone += [other[name] for name in other.keys() - one.keys()]
        return shared + sum(map(_leaves, alone))

    def _of_arrays(self, one: Sequence[Json], other: Sequence[Json]) -> int:
        """Row by row through the table of all prefixes, as Wagner and Fischer (1974) have it for strings."""
        self._spend(len(one) * len(other))
        gone, come = [_leaves(item) for item in one], [_leaves(item) for item in other]
        above = [0]
        for size in come:
            above.append(above[-1] + size)
        for item, size in zip(one, gone, strict=True):
            row = [above[0] + size]
            for place, more in enumerate(come):
                step = partial(self.cost, item, other[place])
                row.append(_least(above[place], step, above[place + 1] + size, row[place] + more))
            above = row
        return above[-1]

    def _spend(self, comparisons: int) -> None:
        self._left -= comparisons
        if self._left < 0:
            raise TooLarge


def _least(diagonal: int, step: partial[int], taken: int, put: int) -> int:
    """Comparing two items is the dear way, and not looked at where it can't win."""
    best = min(taken, put)
    return best if diagonal >= best else min(best, diagonal + step())


def _same(one: Json, other: Json) -> bool:
    """Python takes True for 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _leaves(value: Json) -> int:
    if isinstance(value, Mapping) and value:
        return sum(map(_leaves, value.values()))
    if isinstance(value, list) and value:
        return sum(map(_leaves, value))
    return 1
