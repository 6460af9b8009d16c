"""Many tests at once: p values adjusted so that each may be compared with alpha as it stands. Nothing but Python."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.analysis.errors import ScoresInvalid

__all__ = ["benjamini_hochberg", "holm"]


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, in the order given (Holm 1979): each compares with alpha as it stands.

    The chance of any false finding among all is at most alpha. Raises ``ScoresInvalid`` for what is no p value.
    """
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for step, place in enumerate(_ascending(ps)):
        highest = max(highest, min(1.0, ps[place] * (len(ps) - step)))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """Step-up adjusted p values, in the order given (Benjamini and Hochberg 1995).

    Of those at most alpha, a share of alpha is expected to be false: for a long list to look through, not for a claim.
    Raises ``ScoresInvalid`` for what is no p value.
    """
    adjusted = [0.0] * len(ps)
    lowest = 1.0
    for rank, place in sorted(enumerate(_ascending(ps), start=1), reverse=True):
        lowest = min(lowest, ps[place] * len(ps) / rank)
        adjusted[place] = lowest
    return adjusted


def _ascending(ps: Sequence[float]) -> list[int]:
    for place, p in enumerate(ps):
        if not 0 <= p <= 1:
            raise ScoresInvalid(f"{p} is no p value.", where=f"ps[{place}]", remedy="Give numbers from 0 to 1.")
    return sorted(range(len(ps)), key=lambda place: ps[place])
