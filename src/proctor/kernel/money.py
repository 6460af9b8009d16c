"""Money is integer nano-dollars: a cheap token costs less than a micro-dollar."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

__all__ = ["NANO", "exact_usd", "format_usd", "parse_usd", "total"]

NANO: int = 1_000_000_000
"""Nano-dollars in a dollar."""

_AMOUNT = re.compile(r"\s*\$?\s*(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?:USD)?\s*", re.IGNORECASE)


def parse_usd(text: str) -> int:
    """Nano-dollars of ``"25 USD"``, ``"$0.10"`` or ``"3"``. Raises ValueError for anything else."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an amount of US dollars such as '25 USD'")
    try:
        nano = Decimal(match["number"]) * NANO
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is too large an amount") from error
    if nano != int(nano):
        raise ValueError(f"{text!r} is finer than a nano-dollar")
    return int(nano)


def format_usd(nano: int | None) -> str:
    """Dollars for a reader: ``3.10 USD``, ``<0.01 USD``; unknown is an em dash, never 0."""
    if nano is None:
        return "—"
    if 0 < nano < NANO // 100:
        return "<0.01 USD"
    return f"{Decimal(nano) / NANO:,.2f} USD"


def exact_usd(nano: int | None) -> str:
    """All that there is of an amount, for what somebody set or is refused for: ``0.0025 USD``, ``250.00 USD``."""
    if nano is None:
        return "—"
    whole, rest = divmod(nano, NANO)
    return f"{whole:,}.{f'{rest:09d}'.rstrip('0'):0<2} USD"


def total(amounts: Iterable[int | None]) -> int | None:
    """Their sum; of any that is not known it is not known either."""
    found = 0
    for amount in amounts:
        if amount is None:
            return None
        found += amount
    return found
