"""Whether a paired difference could be chance: sign test, McNemar's test, a sign-flip permutation test.

Over counts and exact fractions, with nothing but Python; the foreign tier has statsmodels and scipy compute them again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined

__all__ = ["DRAWS", "SEED", "PairedTest", "mcnemar", "mcnemar_chi_square", "paired_test", "sign_flip", "sign_test"]

EXACT_BELOW: int = 25
"""Discordant pairs below which McNemar's chi-square is too rough, and the exact binomial is taken."""
EXACT_FLIPS: int = 13
"""Up to so many tasks that differ, every assignment of signs is looked at: 8,192, fewer than the draws would be."""
DRAWS: int = 10_000
"""Random assignments of signs where there are too many to look at: a p of 0.05 is then right within 0.005."""
SEED: int = 20260701
"""Of the draws: the same data gives the same p on every machine. It is printed with the p."""
_GROUP: int = 8
"""Signs drawn at once: their 256 sums are looked up instead of added."""


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """A two-sided test of no difference: its name, its p, and how many tasks (or items) stand on each side."""

    name: str
    p: float
    better: int
    """Tasks on which the first side is better."""
    worse: int
    statistic: float | None = None
    seed: int | None = None
    """Set where signs were drawn at random."""


def paired_test(means: Sequence[tuple[Fraction, Fraction]], *, single: bool) -> PairedTest:
    """The test that fits: McNemar where every task has one trial a side (``single``), else the permutation test."""
    differences = [a - b for a, b in means]
    if single:
        return mcnemar(sum(d > 0 for d in differences), sum(d < 0 for d in differences))
    return sign_flip(differences)


def sign_test(plus: int, minus: int) -> float:
    """Two-sided exact p of a sign test, equal to McNemar's exact test on discordant pairs; 1.0 where none differ.

    Raises ``ScoresInvalid`` for counts below 0.
    """
    if plus < 0 or minus < 0:
        raise ScoresInvalid("A count is below 0.", remedy="Give how many pairs stand on each side.")
    n = plus + minus
    term = tail = 1
    for k in range(min(plus, minus)):
        term = term * (n - k) // (k + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << n))


def mcnemar(better: int, worse: int) -> PairedTest:
    """McNemar's test on the discordant pairs: exact below 25 of them, else chi-square with no continuity correction.

    McNemar 1947; chi2 = (b - c)^2 / (b + c) on one degree of freedom.
    """
    if better + worse < EXACT_BELOW:
        return PairedTest(name="McNemar, exact", p=sign_test(better, worse), better=better, worse=worse)
    statistic, p = mcnemar_chi_square(better, worse)
    return PairedTest(name="McNemar, chi-square", p=p, better=better, worse=worse, statistic=statistic)


def mcnemar_chi_square(better: int, worse: int) -> tuple[float, float]:
    """The statistic and its p, the upper tail of chi-square on one degree of freedom: erfc(sqrt(chi2 / 2)).

    Raises ``StatisticUndefined`` where no pair is discordant.
    """
    if better + worse == 0:
        raise StatisticUndefined("No pair is discordant.", remedy="Use `mcnemar`, whose p is then 1.")
    statistic = (better - worse) ** 2 / (better + worse)
    return statistic, math.erfc(math.sqrt(statistic / 2))


def sign_flip(differences: Sequence[Fraction]) -> PairedTest:
    """Permutation test of paired differences: under no difference each task's sign is as likely either way.

    p is the share of sign assignments whose sum is at least as far from 0 as the observed one (Fisher 1935); drawn at
    random, (hits + 1) / (draws + 1), which is never 0 (Phipson and Smyth 2010). Sums are integers: ties are exact.
    """
    scale = math.lcm(*(d.denominator for d in differences))
    signed = [int(d * scale) for d in differences if d]
    observed = abs(sum(signed))
    better, worse = sum(one > 0 for one in signed), sum(one < 0 for one in signed)
    sizes = [abs(one) for one in signed]
    if len(sizes) <= EXACT_FLIPS:
        sums = _every_sum(sizes)
        p = sum(abs(total) >= observed for total in sums) / len(sums)
        return PairedTest(name="sign-flip permutation, exact", p=p, better=better, worse=worse)
    hits = sum(abs(total) >= observed for total in _drawn_sums(sizes))
    name = f"sign-flip permutation, {DRAWS:,} draws"
    return PairedTest(name=name, p=(hits + 1) / (DRAWS + 1), better=better, worse=worse, seed=SEED)


def _every_sum(sizes: Sequence[int]) -> list[int]:
    """The sum under each assignment of signs."""
    sums = [0]
    for size in sizes:
        sums = [total + size for total in sums] + [total - size for total in sums]
    return sums


def _drawn_sums(sizes: Sequence[int]) -> list[int]:
    draw = Random(SEED)  # noqa: S311  statistics, not secrets; the seed is what makes it repeatable
    tables = [_every_sum(sizes[start : start + _GROUP]) for start in range(0, len(sizes), _GROUP)]
    bits = [(table, len(table).bit_length() - 1) for table in tables]
    return [sum(table[draw.getrandbits(count)] for table, count in bits) for _ in range(DRAWS)]
