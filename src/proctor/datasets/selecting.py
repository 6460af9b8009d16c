"""Rows by their positions, in one pass over all: positions come in order, and none is held longer than its table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["only", "without"]


def only(tables: Iterator[pa.Table], positions: Iterator[int]) -> Iterator[pa.Table]:
    """The rows at those positions, which come in ascending order."""
    return _chosen(tables, positions, named=True)


def without(tables: Iterator[pa.Table], positions: Iterator[int]) -> Iterator[pa.Table]:
    """The rows at all other positions."""
    return _chosen(tables, positions, named=False)


def _chosen(tables: Iterator[pa.Table], positions: Iterator[int], *, named: bool) -> Iterator[pa.Table]:
    import pyarrow as pa

    start, ahead = 0, next(positions, None)
    for table in tables:
        mask = [not named] * table.num_rows
        while ahead is not None and ahead < start + table.num_rows:
            mask[ahead - start] = named
            ahead = next(positions, None)
        start += table.num_rows
        if all(mask):
            yield table
        elif any(mask):
            yield table.filter(pa.array(mask))
