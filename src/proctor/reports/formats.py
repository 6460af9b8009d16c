"""How numbers are written for a reader. Unknown is an em dash, never 0; no rate stands without its n."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from proctor.engine.outcomes import CURRENT_POLICY
from proctor.kernel.money import NANO, format_usd
from proctor.kernel.words import counted

__all__ = [
    "age",
    "ago",
    "cost",
    "cost_difference",
    "cost_sum",
    "duration",
    "interval",
    "one_line",
    "p_value",
    "percent",
    "points",
    "policy_words",
    "reward",
    "spend",
    "tokens",
]

UNKNOWN: str = "—"


def percent(value: float | None) -> str:
    """``62.8%``."""
    return UNKNOWN if value is None else f"{value * 100:.1f}%"


def interval(low: float | None, high: float | None) -> str:
    """``55.4–69.7``, in percent."""
    return UNKNOWN if low is None or high is None else f"{low * 100:.1f}–{high * 100:.1f}"


def reward(mean: float | None) -> str:
    """``0.62``; what two decimals would hide or a table can't hold has four digits: ``0.00124``, ``1.25e+12``."""
    if mean is None:
        return UNKNOWN
    return f"{mean:.2f}" if mean == 0 or 0.01 <= abs(mean) < PLAIN else f"{mean:.4g}"


PLAIN: float = 100_000.0
"""Below it a mean reward is written out; rewards are mostly shares of 1, and a column is no wider than they need."""


def cost(nano: int | None, coverage: float | None) -> str:
    """``$1.21``; a partial sum reads ``≥ $1.21``, a fraction of a cent ``<$0.01``."""
    if nano is None:
        return UNKNOWN
    text = "<$0.01" if 0 < nano < NANO // 100 else f"${nano / NANO:,.2f}"
    return text if coverage is None or coverage >= 1 else f"≥ {text}"


def cost_sum(nano: int, *, known: int, of: int) -> str:
    """Of ``of`` things, ``known`` of which tell their cost: ``0.02 USD``; not all ``≥ 0.02 USD``, none ``—``."""
    if of and not known:
        return UNKNOWN
    text = format_usd(nano)
    return text if known == of else f"≥ {text}"


def spend(costs: Iterable[int | None], *, priced: int, attempts: int) -> str:
    """What attempts cost together: 0 where there are none, unknown where no cost is known, else at least what is."""
    if attempts == 0:
        return format_usd(0)
    if priced == 0:
        return f"unknown ({attempts:,} attempts say nothing of it)"
    total = format_usd(sum(one for one in costs if one is not None))
    return total if priced == attempts else f"at least {total} ({priced:,} of {attempts:,} attempts say)"


def cost_difference(nano: int | None) -> str:
    """``+$0.40``, ``−$1.21``."""
    if not nano:
        return cost(nano, None)
    return ("+" if nano > 0 else "−") + cost(abs(nano), None)


def points(difference: float | None) -> str:
    """A difference of two rates in percentage points: ``+12.5``, ``−3.0``."""
    return UNKNOWN if difference is None else f"{difference * 100:+.1f}".replace("-", "−")


def p_value(p: float | None) -> str:
    """``0.012``, ``3.1e-05``."""
    return UNKNOWN if p is None else f"{p:.3g}"


def one_line(text: str, *, at_most: int = 200) -> str:
    """Somebody else's words on one line: no control characters, no marks that turn the reading direction, not endless.

    Categories Cc, Cf, Cs, Co and Cn of Unicode, and the two separators of lines and paragraphs.
    """
    seen = (" " if unicodedata.category(one)[0] == "C" or one in "\u2028\u2029" else one for one in text)
    joined = " ".join("".join(seen).split())
    return joined if len(joined) <= at_most else f"{joined[: at_most - 1]}…"


def tokens(count: int | None) -> str:
    """``9.61 M``."""
    if count is None:
        return UNKNOWN
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return str(count)


def duration(seconds: float | None) -> str:
    """``340 ms``, ``4.2 s``, ``12m 13s``, ``1h 07m``."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0.001:
        return "<1 ms"
    if seconds < 0.9995:  # what would be read as 1000 ms is 1.0 s
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    return f"{minutes // 60}h {minutes % 60:02d}m"


def policy_words(version: str) -> str:
    """``judged by policy team@0123456789ab``; empty for the one that new run sets are judged by, which goes unsaid."""
    return "" if version == CURRENT_POLICY else f"judged by policy {version}"


def age(then: datetime, now: datetime | None = None) -> str:
    """``12 days``, ``3 hours``, ``under a minute``: how old something is."""
    passed = (now or datetime.now(UTC)) - then
    for size, unit in ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute")):
        count = int(passed / size)
        if count >= 1:
            return counted(count, unit)
    return "under a minute"


def ago(then: datetime, now: datetime | None = None) -> str:
    """``12 days ago``, ``just now``."""
    old = age(then, now)
    return "just now" if old == "under a minute" else f"{old} ago"
