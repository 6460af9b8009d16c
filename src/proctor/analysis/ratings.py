"""Ratings from pairwise comparisons: Bradley and Terry's model, with intervals that know of shared prompts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from proctor.analysis.arrays import Places, Vector, column, labelled, listed, np, npt, same_length
from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.intervals import Interval, Z, normal

__all__ = ["Rating", "Ratings", "bradley_terry"]

PLAYERS: int = 1_000
"""Rated at once: their covariance is a million numbers, and no leaderboard is longer."""
TOLERANCE: float = 1e-10
"""Of the strengths between two rounds of the fit: far below any standard error."""
ROUNDS: int = 10_000
"""Of the fit: a thinly connected field needs hundreds; one that needs more than this does not settle."""

_Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Rating:
    """One player. P(i beats j) = 1 / (1 + exp(rating_j - rating_i)); all ratings together are 0 on average."""

    player: str
    rating: float
    error: float
    interval: Interval
    best_rank: int
    """1 + those surely above it, by the interval of their difference; ``worst_rank`` likewise."""
    worst_rank: int
    comparisons: int


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """Players from the strongest down, and how well the model fits them."""

    ratings: tuple[Rating, ...]
    covariance: tuple[tuple[float, ...], ...]
    """Of the ratings, in their order: the error of a difference follows from it."""
    deviance: float
    """Against each pair having a rate of its own (G^2); under the model chi-square with ``freedom`` degrees."""
    freedom: int


def bradley_terry(
    first: npt.ArrayLike, second: npt.ArrayLike, outcomes: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None
) -> Ratings:
    """Bradley and Terry's ratings (Biometrika 1952), fitted by evalica, with standard errors.

    ``first`` and ``second`` name the players of each comparison; ``outcomes``: 1 where the first won, 0 where the
    second did, 0.5 for a tie, which counts as half a win of each. With ``clusters`` (the prompt of each comparison)
    errors are the sandwich over clusters, without them those of the inverse information. Raises ``ScoresInvalid``, and
    ``StatisticUndefined`` unless each player is linked to every other by wins both ways: without that the likelihood
    has no maximum (Ford 1957).
    """
    won = column(outcomes, "outcomes")
    if not np.isin(won, (0.0, 0.5, 1.0)).all():
        raise ScoresInvalid("An outcome is 1, 0.5 or 0.", where="outcomes", remedy="Say whether the first won.")
    names, left, right = _players(first, second, len(won))
    wins = _wins(left, right, won, len(names))
    _refuse_unlinked(wins)
    strengths = _fitted(wins)
    bread = _inverse(_information(wins + wins.T, strengths))
    if clusters is None:
        covariance = bread
    else:
        covariance = bread @ _meat(left, right, won, strengths, labelled(clusters, len(won))[1]) @ bread
    return _ranked(names, strengths, covariance, wins)


def _players(first: npt.ArrayLike, second: npt.ArrayLike, length: int) -> tuple[list[str], Places, Places]:
    ours, theirs = listed(first, "first"), listed(second, "second")
    same_length(len(ours), length, "first")
    same_length(len(theirs), length, "second")
    names, places = labelled([*ours, *theirs], 2 * length, "players")
    if len(names) > PLAYERS:
        raise ScoresInvalid(f"{len(names):,} players are more than {PLAYERS:,}.", where="players")
    if (places[:length] == places[length:]).any():
        raise ScoresInvalid("A player is compared with itself.", where="second", remedy="Leave such pairs out.")
    return [str(name) for name in names], places[:length], places[length:]


def _wins(left: Places, right: Places, won: Vector, players: int) -> _Matrix:
    """Wins of the row over the column, a tie being half of one."""
    cells = np.concatenate([left * players + right, right * players + left])
    counted = np.bincount(cells, weights=np.concatenate([won, 1 - won]), minlength=players**2)
    return counted.reshape(players, players).astype(np.float64)


def _refuse_unlinked(wins: _Matrix) -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    groups, _ = connected_components(csr_array(wins > 0), directed=True, connection="strong")
    if groups > 1:
        raise StatisticUndefined(
            "Some players never lost to, or never met, the rest: how far they are apart can't be told.",
            where="outcomes",
            remedy="Compare each with others until every one has won and lost, or leave out those that have not.",
        )


def _fitted(wins: _Matrix) -> Vector:
    """Log strengths that are 0 on average. evalica takes comparisons: each pair's wins are one, with their weight."""
    from evalica import Winner
    from evalica import bradley_terry as fit

    left, right = np.nonzero(wins)
    seen = fit(
        left.tolist(),
        right.tolist(),
        [Winner.X] * len(left),
        weights=wins[left, right],
        tolerance=TOLERANCE,
        limit=ROUNDS,
    )
    if seen.iterations >= ROUNDS:
        raise StatisticUndefined("The ratings do not settle: too few wins against the run of play.", where="outcomes")
    logs = np.empty(len(wins))
    logs[np.asarray(seen.scores.index, dtype=np.int64)] = np.log(np.asarray(seen.scores, dtype=np.float64))
    centred: Vector = logs - logs.mean()
    return centred


def _chances(strengths: Vector) -> _Matrix:
    """Of the row to beat the column."""
    from scipy.special import expit

    chances: _Matrix = expit(strengths[:, None] - strengths[None, :])
    return chances


def _information(games: _Matrix, strengths: Vector) -> _Matrix:
    chances = _chances(strengths)
    each = games * chances * (1 - chances)
    return np.diag(each.sum(axis=1)) - each


def _inverse(information: _Matrix) -> _Matrix:
    """Of ratings that are 0 on average: the information knows nothing of a common shift, which is put in and taken out.

    A pseudo-inverse would have to tell that shift from what is merely little known, and fails where a side nearly
    always wins.
    """
    shift = np.full_like(information, 1 / len(information))
    size = float(np.trace(information)) / len(information)
    return np.asarray(np.linalg.inv(information + size * shift) - shift / size, dtype=np.float64)


def _meat(left: Places, right: Places, won: Vector, strengths: Vector, clusters: Places) -> _Matrix:
    """Sum over clusters of the outer product of its score with itself."""
    from scipy.sparse import coo_array
    from scipy.special import expit

    surprise = won - expit(strengths[left] - strengths[right])
    rows, columns = np.concatenate([clusters, clusters]), np.concatenate([left, right])
    shape = (int(clusters.max()) + 1, len(strengths))
    scores = coo_array((np.concatenate([surprise, -surprise]), (rows, columns)), shape=shape).tocsr()
    return np.asarray((scores.T @ scores).toarray(), dtype=np.float64)


def _ranked(names: list[str], strengths: Vector, covariance: _Matrix, wins: _Matrix) -> Ratings:
    games = wins + wins.T
    order = np.argsort(-strengths, kind="stable")
    own = np.diag(covariance)
    apart = Z * np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * covariance, 0))
    ahead = strengths[:, None] - strengths[None, :] > apart
    np.fill_diagonal(ahead, False)
    return Ratings(
        ratings=tuple(
            Rating(
                player=names[place],
                rating=float(strengths[place]),
                error=math.sqrt(own[place]),
                interval=normal(float(strengths[place]), math.sqrt(own[place])),
                best_rank=1 + int(ahead[:, place].sum()),
                worst_rank=len(names) - int(ahead[place].sum()),
                comparisons=round(games[place].sum()),
            )
            for place in order
        ),
        covariance=tuple(map(tuple, covariance[np.ix_(order, order)].tolist())),
        deviance=_deviance(wins, games * _chances(strengths)),
        freedom=int(np.count_nonzero(np.triu(games))) - len(names) + 1,
    )


def _deviance(wins: _Matrix, expected: _Matrix) -> float:
    seen = wins > 0
    return float(2 * np.sum(wins[seen] * np.log(wins[seen] / expected[seen])))
