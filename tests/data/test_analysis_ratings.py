"""Bradley-Terry ratings: published fits, their errors, and fields that can't be rated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.ratings import Ratings, bradley_terry

WIKIPEDIA = [("A", "B", 2), ("A", "B", 0), ("A", "D", 1), ("D", "A", 4), ("B", "A", 3), ("B", "C", 5), ("C", "B", 3)]
WIKIPEDIA += [("C", "D", 1), ("D", "C", 3)]
"""Winner, loser, how often: 22 games, from the article on the model."""

BASEBALL = {
    "Milwaukee": (0, 7, 9, 7, 7, 9, 11),
    "Detroit": (6, 0, 7, 5, 11, 9, 9),
    "Toronto": (4, 6, 0, 7, 7, 8, 12),
    "New York": (6, 8, 6, 0, 6, 7, 10),
    "Boston": (6, 2, 6, 7, 0, 7, 12),
    "Cleveland": (4, 4, 5, 6, 6, 0, 6),
    "Baltimore": (2, 4, 1, 3, 1, 7, 0),
}
"""Wins of the row over the column: the American League's eastern division of 1987, from Agresti."""


def games(wins: list[tuple[str, str, int]]) -> tuple[list[str], list[str], list[int]]:
    played = [(winner, loser) for winner, loser, count in wins for _ in range(count)]
    return [winner for winner, _ in played], [loser for _, loser in played], [1] * len(played)


def baseball() -> Ratings:
    teams = list(BASEBALL)
    return bradley_terry(*games([(a, teams[b], n) for a, row in BASEBALL.items() for b, n in enumerate(row)]))


def test_wikipedias_four_players() -> None:
    seen = {one.player: math.exp(one.rating) for one in bradley_terry(*games(WIKIPEDIA)).ratings}
    assert seen == pytest.approx({"A": 0.640, "B": 1.043, "C": 0.660, "D": 2.270}, abs=5e-4)


def test_agrestis_baseball_teams() -> None:
    seen = baseball()
    base = next(one for one in seen.ratings if one.player == "Baltimore")
    above = {one.player[:3]: one.rating - base.rating for one in seen.ratings}
    known = {"Mil": 1.581, "Det": 1.436, "Tor": 1.294, "New": 1.248, "Bos": 1.108, "Cle": 0.684, "Bal": 0.0}
    assert above == pytest.approx(known, abs=5e-4)
    assert [one.player for one in seen.ratings] == list(BASEBALL)
    assert seen.deviance == pytest.approx(15.74, abs=0.005)
    assert seen.freedom == 15


def test_the_errors_are_agrestis_too() -> None:
    """Of each team's distance to Baltimore: 0.33 to 0.34."""
    seen = baseball()
    covariance = np.array(seen.covariance)
    last = len(seen.ratings) - 1
    errors = [math.sqrt(covariance[i, i] + covariance[last, last] - 2 * covariance[i, last]) for i in range(last)]
    assert errors == pytest.approx([0.335] * last, abs=0.0125)
    assert [one.error for one in seen.ratings] == pytest.approx(np.sqrt(np.diag(covariance)))


def test_ranks_are_only_as_narrow_as_the_data() -> None:
    seen = {one.player: (one.best_rank, one.worst_rank) for one in baseball().ratings}
    assert seen["Milwaukee"] == (1, 5)
    assert seen["Baltimore"] == (7, 7)


def test_a_side_that_nearly_always_wins_has_a_known_error() -> None:
    """Of two players alone the variance of their distance is 1 / (n p q); a third beyond them does not change that."""
    wins = 10_000
    first, second = ["a"] * (wins + 1) + ["b"] * 3, ["b"] * (wins + 1) + ["c"] * 3
    seen = bradley_terry(first, second, [1] * wins + [0] + [1, 1, 0])
    covariance = np.array(seen.covariance)
    assert seen.ratings[0].rating - seen.ratings[1].rating == pytest.approx(math.log(wins), abs=1e-6)
    apart = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert apart == pytest.approx((wins + 1) / wins)
    assert covariance.sum(axis=1) == pytest.approx(0.0, abs=1e-9)
    assert [one.error for one in seen.ratings] == pytest.approx(np.sqrt(np.diag(covariance)))


def test_two_players_share_the_error_of_their_distance() -> None:
    seen = bradley_terry(["a"] * 10, ["b"] * 10, [1] * 7 + [0] * 3)
    assert [one.error for one in seen.ratings] == pytest.approx([math.sqrt(1 / (10 * 0.7 * 0.3)) / 2] * 2)


def test_a_tie_is_half_a_win_of_each() -> None:
    halves = bradley_terry(["a", "a", "a", "b"], ["b", "b", "b", "a"], [0.5, 0.5, 1, 1])
    assert [one.rating for one in halves.ratings] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert sum(one.comparisons for one in halves.ratings) == 8


def test_the_sandwich_error_is_the_spread_over_resampled_prompts() -> None:
    """Each prompt is judged five times and they agree: errors that don't know of it are too small by far."""
    draw = np.random.default_rng(5)
    prompts = np.repeat(np.arange(300), 5)
    won = np.repeat((draw.random(300) < 0.65).astype(float), 5)
    names = np.full(1500, "a"), np.full(1500, "b")
    clustered, naive = bradley_terry(*names, won, clusters=prompts), bradley_terry(*names, won)
    shares = np.array([draw.choice(won[::5], 300).mean() for _ in range(4_000)])
    spread = (np.log(shares / (1 - shares)) / 2).std()
    assert clustered.ratings[0].error == pytest.approx(spread, rel=0.05)
    assert clustered.ratings[0].error == pytest.approx(naive.ratings[0].error * math.sqrt(5), rel=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "outcomes"),
    [
        (["a", "b"], ["b", "c"], [1, 1]),
        (["a", "c"], ["b", "d"], [0.5, 0.5]),
        (["a"], ["b"], [1]),
    ],
)
def test_players_that_are_not_linked_both_ways_are_refused(
    first: list[str], second: list[str], outcomes: list[float]
) -> None:
    with pytest.raises(StatisticUndefined):
        bradley_terry(first, second, outcomes)


@pytest.mark.parametrize(
    ("first", "second", "outcomes", "where"),
    [
        (["a"], ["a"], [1], "second"),
        (["a"], ["b"], [2], "outcomes"),
        (["a", "b"], ["b"], [1, 0], "second"),
        (["a"], ["b"], [1, 0], "first"),
        ([1.5, 2.5], [2.5, 1.5], [1, 1], "first"),
        (["a", "b"], ["b", 1], [1, 1], "second"),
        ([1, 2], ["a", "b"], [1, 1], "players"),
    ],
)
def test_what_is_no_comparison_is_refused_by_name(first: list, second: list, outcomes: list, where: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ScoresInvalid) as refused:
        bradley_terry(first, second, outcomes)
    assert refused.value.where == where
