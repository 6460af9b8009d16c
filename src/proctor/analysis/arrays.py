"""Columns of numbers and of labels as they come in, checked once. The door to numpy: without the extra it says so."""

from __future__ import annotations

from types import NoneType

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.extras import need_stats_extra

need_stats_extra()

import numpy as np  # noqa: E402  what is not there is told before
import numpy.typing as npt  # noqa: E402

__all__ = [
    "Label",
    "Mask",
    "Places",
    "Vector",
    "column",
    "column_with_gaps",
    "labelled",
    "listed",
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
Label = str | int

MOST: int = 10_000_000
"""Numbers of one statistic: a handful of columns as long takes half a gigabyte, and nobody scores more at once."""
LARGEST: float = 1e100
"""Of a score, in size: the sum of the squares of all of them is then still a number."""

_NUMBERS: tuple[type, ...] = (int, float, np.number, np.bool_)


def column(values: npt.ArrayLike, where: str = "scores") -> Vector:
    """One finite number for each item. ``where`` names the column in errors.

    Raises ``ScoresInvalid`` for what is no such column, ``StatisticUndefined`` for an empty one.
    """
    vector = _numbers(values, where, dimensions=1, kinds=_NUMBERS)
    _refuse(np.isnan(vector), "This is no number.", where)
    return vector


def column_with_gaps(values: npt.ArrayLike, where: str) -> Vector:
    """The same, NaN or ``None`` where an item has no number; NaN in the answer."""
    return _numbers(values, where, dimensions=1, kinds=(*_NUMBERS, NoneType))


def matrix(values: npt.ArrayLike, where: str) -> npt.NDArray[np.float64]:
    """Rows of numbers of one length, items by raters; NaN or ``None`` where one is missing, NaN in the answer.

    Raises ``ScoresInvalid`` and ``StatisticUndefined`` as ``column`` does.
    """
    return _numbers(values, where, dimensions=2, kinds=(*_NUMBERS, NoneType))


def _numbers(values: npt.ArrayLike, where: str, *, dimensions: int, kinds: tuple[type, ...]) -> npt.NDArray[np.float64]:
    shape = "a column of numbers" if dimensions == 1 else "rows of numbers of one length"
    array = _array(values, where, kinds)
    if not array.size:
        raise StatisticUndefined("There are no scores.", where=where)
    if array.ndim != dimensions or array.dtype.kind not in "biufO":
        raise ScoresInvalid(f"This is not {shape}.", where=where)
    if array.size > MOST:
        raise ScoresInvalid(f"{array.size:,} numbers are more than {MOST:,}.", where=where, remedy="Draw a sample.")
    try:
        numbers = array.astype(np.float64)
    except OverflowError as error:
        raise ScoresInvalid(f"A number is beyond {LARGEST:g}.", where=where) from error
    _refuse(np.abs(numbers) > LARGEST, f"A number is finite, and not beyond {LARGEST:g}.", where)
    return numbers


def _array(values: npt.ArrayLike, where: str, kinds: tuple[type, ...]) -> npt.NDArray[np.generic]:
    """Lists become arrays of what they hold and are looked through: numpy itself would read ``"1"`` as a number."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    try:
        array = np.asarray(values, dtype=object)
    except ValueError as error:
        raise ScoresInvalid("Rows are not of one length.", where=where) from error
    if not all(issubclass(kind, kinds) for kind in set(map(type, array.ravel().tolist()))):
        raise ScoresInvalid("Something of another kind is among these, or rows are not of one length.", where=where)
    return array


def _refuse(wrong: Mask, why: str, where: str) -> None:
    if wrong.any():
        place = "".join(f"[{one}]" for one in np.argwhere(wrong)[0])
        raise ScoresInvalid(why, where=where + place)


def weighted(values: npt.ArrayLike, length: int, where: str = "weights") -> Vector:
    """One number above 0 (from 1e-100 on) for each item. Raises ``ScoresInvalid``."""
    vector = column(values, where)
    same_length(len(vector), length, where)
    _refuse(vector < 1 / LARGEST, "A weight is above 0.", where)
    return vector


def listed(labels: npt.ArrayLike, where: str) -> list[Label]:
    """Labels one after the other: all text, or all whole numbers. Raises ``ScoresInvalid``."""
    array = _array(labels, where, (str, int, np.integer))
    found: list[Label] = array.tolist() if array.ndim == 1 else []
    kinds = set(map(type, found))
    texts = sum(issubclass(kind, str) for kind in kinds)
    if array.ndim != 1 or array.dtype.kind not in "biuUO" or texts not in (0, len(kinds)):
        raise ScoresInvalid("Labels are a column of text, or of whole numbers.", where=where)
    return found


def labelled(labels: npt.ArrayLike, length: int, where: str = "clusters") -> tuple[list[Label], Places]:
    """The different labels in order, and for each item the place of its own among them.

    Raises ``ScoresInvalid`` unless there is a label for each item, and ``StatisticUndefined`` where there are none.
    """
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "biu" and labels.ndim == 1 and labels.size:
        same_length(len(labels), length, where)
        numbers, found = np.unique(labels, return_inverse=True)
        return numbers.tolist(), found.astype(np.int64)
    each = listed(labels, where)
    if not each:
        raise StatisticUndefined("There are no labels.", where=where)
    same_length(len(each), length, where)
    names = sorted(set(each))  # all text or all numbers, as `listed` says
    number = {name: place for place, name in enumerate(names)}
    return names, np.fromiter(map(number.__getitem__, each), dtype=np.int64, count=len(each))


def mask(values: npt.ArrayLike, length: int, where: str) -> Mask:
    """For each item whether it belongs. Raises ``ScoresInvalid``."""
    array = _array(values, where, (bool, np.bool_))
    if array.dtype.kind not in "bO" or array.ndim != 1:
        raise ScoresInvalid("Each item belongs or does not: true or false.", where=where)
    same_length(len(array), length, where)
    return array.astype(np.bool_)


def same_length(found: int, expected: int, where: str) -> None:
    """Raises ``ScoresInvalid`` unless a column has one entry for each item."""
    if found != expected:
        raise ScoresInvalid(f"It has {found:,} entries for {expected:,} items.", where=where)
