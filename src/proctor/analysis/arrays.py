"""Columns of numbers as they come in, checked once. The door to numpy: without the extra it says which is missing."""

from __future__ import annotations

from importlib.util import find_spec

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined, StatsExtraMissing

try:
    import numpy as np
    import numpy.typing as npt
except ImportError as error:
    raise StatsExtraMissing() from error
if not all(map(find_spec, ("scipy", "statsmodels", "evalica"))):
    raise StatsExtraMissing()

__all__ = [
    "Mask",
    "Places",
    "Vector",
    "column",
    "column_with_gaps",
    "labelled",
    "mask",
    "matrix",
    "np",
    "npt",
    "same_length",
    "weighted",
]

Vector = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
"""For each item the number of its group, from 0."""
Mask = npt.NDArray[np.bool_]

MOST: int = 10_000_000
"""Items of one statistic: a handful of columns of so many numbers takes half a gigabyte, and nobody scores more."""
LARGEST: float = 1e100
"""Of a score, in size: the sum of the squares of all of them is then still a number."""


def column(values: npt.ArrayLike, where: str = "scores") -> Vector:
    """One finite number for each item. ``where`` names the column in errors.

    Raises ``ScoresInvalid`` for what is no such column, ``StatisticUndefined`` for an empty one.
    """
    vector = _numbers(values, where, dimensions=1)
    _refuse(np.isnan(vector), "This is no number.", where)
    return vector


def column_with_gaps(values: npt.ArrayLike, where: str) -> Vector:
    """The same, NaN where an item has no number."""
    return _numbers(values, where, dimensions=1)


def matrix(values: npt.ArrayLike, where: str) -> npt.NDArray[np.float64]:
    """Rows of numbers of one length, items by raters. NaN stands for a rating that is missing.

    Raises ``ScoresInvalid`` and ``StatisticUndefined`` as ``column`` does.
    """
    return _numbers(values, where, dimensions=2)


def _numbers(values: npt.ArrayLike, where: str, *, dimensions: int) -> npt.NDArray[np.float64]:
    array = _array(values, where)
    if not array.size:
        raise StatisticUndefined("There are no scores.", where=where)
    if array.dtype.kind not in "biuf" or array.ndim != dimensions:
        shape = "a column of numbers" if dimensions == 1 else "rows of numbers of one length"
        raise ScoresInvalid(f"This is not {shape}.", where=where)
    if array.size > MOST:
        raise ScoresInvalid(f"{array.size:,} numbers are more than {MOST:,}.", where=where, remedy="Draw a sample.")
    numbers = array.astype(np.float64)
    _refuse(np.abs(numbers) > LARGEST, f"A number is finite, and not beyond {LARGEST:g}.", where)
    return numbers


def _refuse(wrong: Mask, why: str, where: str) -> None:
    if wrong.any():
        place = "".join(f"[{one}]" for one in np.argwhere(wrong)[0])
        raise ScoresInvalid(why, where=where + place)


def _array(values: npt.ArrayLike, where: str) -> npt.NDArray[np.generic]:
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ScoresInvalid("These are not numbers, or rows are not of one length.", where=where) from error


def weighted(values: npt.ArrayLike, length: int, where: str = "weights") -> Vector:
    """One number above 0 for each item. Raises ``ScoresInvalid``."""
    vector = column(values, where)
    same_length(len(vector), length, where)
    _refuse(vector <= 0, "A weight is above 0.", where)
    return vector


def labelled(labels: npt.ArrayLike, length: int, where: str = "clusters") -> tuple[npt.NDArray[np.generic], Places]:
    """The different labels in order, and for each item the place of its own among them.

    Labels are text or whole numbers, one for each item. Raises ``ScoresInvalid``, ``StatisticUndefined`` without any.
    """
    array = _array(labels, where)
    if not array.size:
        raise StatisticUndefined("There are no labels.", where=where)
    if array.dtype.kind not in "biuUS" or array.ndim != 1:
        raise ScoresInvalid("A label is text or a whole number.", where=where, remedy="Give one label for each item.")
    same_length(len(array), length, where)
    names, places = np.unique(array, return_inverse=True)
    return names, places.astype(np.int64)


def mask(values: npt.ArrayLike, length: int, where: str) -> Mask:
    """For each item whether it belongs. Raises ``ScoresInvalid``."""
    array = _array(values, where)
    if array.dtype.kind != "b" or array.ndim != 1:
        raise ScoresInvalid("Each item belongs or does not: true or false.", where=where)
    same_length(len(array), length, where)
    return array.astype(np.bool_)


def same_length(found: int, expected: int, where: str) -> None:
    """Raises ``ScoresInvalid`` unless a column has one entry for each item."""
    if found != expected:
        raise ScoresInvalid(f"It has {found:,} entries for {expected:,} items.", where=where)
