"""How many examples a comparison takes, before there is a job. Needs no library."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.power import Design, items_needed, minimum_detectable_effect
from proctor.analysis.power import power as power_of

__all__ = ["BETWEEN", "Plan", "planned"]

BETWEEN: float = 1 / 9
"""The variance between examples of the true difference where nobody knows it: the one that Miller 2024 (arXiv
2411.00640, section 5) works his example with."""
SMALLEST: float = 1e-9
"""Of a difference, in size: the examples it needs are then still a number that can be counted."""
MOST_ITEMS: int = 10**12
"""Examples of a plan: more than there will be."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a comparison of that design shows. ``power``: the probability that was asked for.

    ``difference``, ``items``: what was given. ``needed``: examples that the difference needs. ``detectable``: the
    smallest true difference that so many examples show; ``found``: with which probability they show the one that was
    given. ``None`` without what it takes.
    """

    design: Design
    power: float
    difference: float | None
    items: int | None
    needed: int | None
    detectable: float | None
    found: float | None


def planned(design: Design, *, difference: float | None, items: int | None, power: float = 0.8) -> Plan:
    """By the difference that is to be seen, the number of examples there are, or both.

    Raises ``StatisticUndefined`` without either or for a difference of 0, ``ScoresInvalid`` beyond what can be counted.
    """
    if difference is None and items is None:
        raise StatisticUndefined(
            "Neither a difference nor a number of examples is given.",
            where="difference",
            remedy="Give the difference to be seen, the number of examples there are, or both.",
        )
    if difference and not SMALLEST <= abs(difference) <= 1 / SMALLEST:
        raise ScoresInvalid("It is beyond what can be computed with.", where="difference", remedy="Give, say, 0.03.")
    if items is not None and items > MOST_ITEMS:
        raise ScoresInvalid(f"There are at most {MOST_ITEMS:,} examples.", where="items", remedy="Give fewer.")
    return Plan(
        design=design,
        power=power,
        difference=difference,
        items=items,
        needed=None if difference is None else items_needed(difference, design, power=power),
        detectable=None if items is None else minimum_detectable_effect(items, design, power=power),
        found=None if difference is None or items is None else power_of(difference, items, design),
    )
