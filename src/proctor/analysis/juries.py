"""Several judges of the same items: one verdict of theirs, and how far each can be relied on.

Votes are items by jurors; NaN where a juror gave none. A verdict that is not known is NaN, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proctor.analysis.arrays import Places, Vector, matrix, np, npt
from proctor.analysis.errors import ScoresInvalid, StatisticUndefined

__all__ = ["Juror", "Jury", "dawid_skene", "juror_shifts", "majority", "pooled", "quorum"]

CATEGORIES: int = 50
"""Different votes: beyond that a juror's table of confusions has more cells than anybody labels items."""
ROUNDS: int = 200
"""Of the fit; dozens are usual."""
SETTLED: float = 1e-6
"""The largest change of a probability in a round after which the fit is done."""
PSEUDO: float = 0.01
"""Votes added to each cell of a table of confusions, so that one not seen is unlikely, and not impossible."""

_Matrix = npt.NDArray[np.float64]


def quorum(jurors: int) -> int:
    """The votes a verdict takes: two thirds of the jurors, rounded up."""
    return -(-2 * jurors // 3)


def majority(votes: npt.ArrayLike) -> Vector:
    """For each item the vote of most jurors; NaN without a quorum, or where two votes are equally frequent.

    Raises ``ScoresInvalid`` for more than 50 different votes, and ``StatisticUndefined`` where there are none.
    """
    table = matrix(votes, "votes")
    values, counted = _counted(table)
    ordered = np.sort(counted, axis=1)
    clear = (ordered[:, -1] > ordered[:, -2]) if counted.shape[1] > 1 else np.ones(len(table), dtype=bool)
    known = clear & (counted.sum(axis=1) >= quorum(table.shape[1]))
    return np.where(known, values[np.argmax(counted, axis=1)], np.nan)


def pooled(votes: npt.ArrayLike) -> Vector:
    """For each item the mean vote (of marks from 1 to 5, say); NaN without a quorum.

    Raises ``ScoresInvalid``, and ``StatisticUndefined`` where there are no votes.
    """
    table = matrix(votes, "votes")
    given = (~np.isnan(table)).sum(axis=1)
    known = given >= quorum(table.shape[1])
    nobody = np.full(len(table), np.nan)
    np.divide(np.nansum(table, axis=1), given, out=nobody, where=known)
    return nobody


def juror_shifts(
    votes: npt.ArrayLike, verdict: Callable[[npt.ArrayLike], Vector] = majority
) -> tuple[float | None, ...]:
    """For each juror, how far the mean verdict moves when it is left out, over items that have one either way.

    ``verdict``: ``majority``, ``pooled`` or another rule. ``None`` where no item has a verdict either way. Raises
    ``StatisticUndefined`` for fewer than two jurors.
    """
    table = matrix(votes, "votes")
    if table.shape[1] < 2:
        raise StatisticUndefined("A jury has two jurors or more.", where="votes")
    whole = verdict(table)
    shifts: list[float | None] = []
    for juror in range(table.shape[1]):
        others = np.delete(table, juror, axis=1)
        moved = whole * np.nan if np.isnan(others).all() else verdict(others) - whole
        known = moved[~np.isnan(moved)]
        shifts.append(float(known.mean()) if len(known) else None)
    return tuple(shifts)


@dataclass(frozen=True, kw_only=True)
class Juror:
    """How a juror votes. ``confusions[i][j]``: the chance that it says ``values[j]`` where ``values[i]`` is true."""

    confusions: tuple[tuple[float, ...], ...]
    accuracy: float | None
    """Of its votes, weighted by how frequent each kind of item is; ``None`` for one that never voted."""
    adversarial: bool
    """Worse than chance: its votes, taken at their word, mislead. 1 / values is chance."""


@dataclass(frozen=True, kw_only=True)
class Jury:
    """Verdicts with the reliability of each juror taken into account. Arrays have one row for each item."""

    values: tuple[float, ...]
    verdicts: Vector
    """The likeliest of ``values``; NaN where nobody voted."""
    confidence: Vector
    """Its probability."""
    frequencies: tuple[float, ...]
    """Of each value among the items, as estimated."""
    jurors: tuple[Juror, ...]


def dawid_skene(votes: npt.ArrayLike) -> Jury:
    """The jurors' tables of confusions and the items' true values, fitted together (Dawid and Skene 1979), by EM.

    It begins at the shares of votes, so it takes for granted that most jurors are better than chance. Three jurors are
    the least from whom it can be told who is wrong. Raises ``StatisticUndefined`` for fewer, and where all votes are
    the same; ``ScoresInvalid`` for more than 50 different votes.
    """
    table = matrix(votes, "votes")
    if table.shape[1] < 3:
        raise StatisticUndefined("Who of two is wrong can't be told.", where="votes", remedy="Ask three jurors.")
    values, counted = _counted(table)
    if len(values) < 2:
        raise StatisticUndefined("All votes are the same.", where="votes")
    votes_seen, which, times = np.unique(_said(table, values), axis=0, return_inverse=True, return_counts=True)
    beliefs, confusions, frequencies = _fitted(votes_seen, times.astype(np.float64), len(values))
    voted, of_item = counted.sum(axis=1) > 0, beliefs[which]
    return Jury(
        values=tuple(values.tolist()),
        verdicts=np.where(voted, values[np.argmax(of_item, axis=1)], np.nan),
        confidence=np.where(voted, of_item.max(axis=1), np.nan),
        frequencies=tuple(frequencies.tolist()),
        jurors=tuple(
            _juror(one, frequencies, voted=bool(column.any()))
            for one, column in zip(confusions, ~np.isnan(table).T, strict=True)
        ),
    )


def _fitted(votes: Places, times: Vector, values: int) -> tuple[_Matrix, list[_Matrix], Vector]:
    """EM over the different rows of votes, each of which was seen so many ``times``."""
    given = np.stack([(votes == value).sum(axis=1) for value in range(values)], axis=1)
    silent = given.sum(axis=1) == 0
    beliefs = np.where(silent[:, None], 1 / values, given / np.maximum(given.sum(axis=1), 1)[:, None])
    counting = np.where(silent, 0.0, times)
    for _ in range(ROUNDS):
        confusions, frequencies = _confusions(beliefs * counting[:, None], votes, values)
        renewed = _beliefs(votes, confusions, frequencies)
        moved = float(np.abs(renewed - beliefs).max())
        beliefs = renewed
        if moved < SETTLED:
            break
    return beliefs, confusions, frequencies


def _counted(table: _Matrix) -> tuple[Vector, _Matrix]:
    """The different votes, and for each item how many jurors gave each."""
    values = np.unique(table[~np.isnan(table)])
    if not len(values):
        raise StatisticUndefined("There are no votes.", where="votes")
    if len(values) > CATEGORIES:
        told = f"{len(values):,} different votes are more than {CATEGORIES}."
        raise ScoresInvalid(told, where="votes", remedy="Use `pooled` for marks on a fine scale.")
    counted = np.stack([(table == value).sum(axis=1) for value in values], axis=1)
    return values, counted.astype(np.float64)


def _said(table: _Matrix, values: Vector) -> Places:
    """The place of each vote among the values; one beyond the last where there is none."""
    return np.where(np.isnan(table), len(values), np.searchsorted(values, table)).astype(np.int64)


def _confusions(weighed: _Matrix, votes: Places, values: int) -> tuple[list[_Matrix], Vector]:
    """Each juror's table, and how frequent each value is. ``weighed``: beliefs, each as often as its row was seen."""
    tables = []
    for given in votes.T:
        seen = np.stack([np.bincount(given, weights=one, minlength=values + 1)[:values] for one in weighed.T])
        tables.append((seen + PSEUDO) / (seen + PSEUDO).sum(axis=1, keepdims=True))
    frequencies: Vector = weighed.sum(axis=0) / weighed.sum()
    return tables, frequencies


def _beliefs(votes: Places, confusions: list[_Matrix], frequencies: Vector) -> _Matrix:
    logs = np.tile(np.log(np.maximum(frequencies, np.finfo(np.float64).tiny)), (len(votes), 1))
    silent = np.zeros((len(frequencies), 1))
    for given, table in zip(votes.T, confusions, strict=True):
        logs += np.hstack([np.log(table), silent]).T[given]
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)


def _juror(confusions: _Matrix, frequencies: Vector, *, voted: bool) -> Juror:
    right = np.diag(confusions)
    return Juror(
        confusions=tuple(map(tuple, confusions.tolist())),
        accuracy=float(right @ frequencies) if voted else None,
        adversarial=bool(voted and right.mean() < 1 / len(right)),
    )
