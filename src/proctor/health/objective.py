"""The installation's service-level objective: the share of ended attempts that it may not fail itself.

The burn rate is how many times faster than allowed the error budget is used up: at 1 it is gone exactly when the
objective's period is. Burn rates and pairs of windows: Google, "The Site Reliability Workbook", chapter 5, "Alerting on
SLOs" (https://sre.google/workbook/alerting-on-slos/), for a period of 30 days. A pair burns too fast when both of its
windows do: the long one says that it matters, the short one that it still goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.health.service import Range, span_of

__all__ = ["FASTEST", "WINDOWS", "Burn", "BurnAlert", "ObjectiveReport", "alert_of", "burn", "burn_rate", "report"]

_run = partial(run_query, "proctor.health")

LEAST_ATTEMPTS: int = 20
"""Fewer in the long window say nothing: one failure of ten would be ten times an objective of 99 %."""
LEAST_LOST: int = 3
"""One or two lost attempts are chance, or one machine's end; three are something going on."""


class _Pair(NamedTuple):
    """Two windows, and the burn rate that is too fast in both."""

    long: str
    short: str
    threshold: float


_PAIRS: Sequence[_Pair] = (_Pair("1h", "10m", 14.4), _Pair("6h", "30m", 6.0), _Pair("3d", "6h", 1.0))
"""2 %, 5 % and 10 % of the budget of 30 days. The workbook's first short window is 5 minutes; ten are what a sample a
minute bears."""
FASTEST: float = _PAIRS[0].threshold
WINDOWS: Mapping[str, timedelta] = {
    "10m": timedelta(minutes=10),
    "30m": timedelta(minutes=30),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "3d": timedelta(days=3),
}
"""Those of the pairs, by name; samples are kept for longer than the longest."""


@dataclass(frozen=True, kw_only=True)
class Burn:
    """How fast the error budget was used up between two moments."""

    since: datetime
    until: datetime
    sampled_sec: float
    """Of that time, how many seconds samples have counted; the rest nobody looked at."""
    attempts: int
    """That ended."""
    lost: int
    """Of these, those that the infrastructure failed, or that nobody could explain."""
    rate: float | None
    """Times the allowed share that is lost; ``None``: no attempt ended."""


@dataclass(frozen=True, kw_only=True)
class BurnAlert:
    """A pair of windows in which the budget burns too fast."""

    window: str
    """The long window: ``1h``, ``6h`` or ``3d``."""
    short_window: str
    """The short window, in which it burns as fast: ``10m``, ``30m`` or ``6h``."""
    threshold: float
    """The burn rate from which on it is too fast."""
    burn: Burn
    """Of the long window."""
    short_burn: Burn


@dataclass(frozen=True, kw_only=True)
class ObjectiveReport:
    """How the installation does by its objective."""

    objective: float
    """The share of ended attempts that it may not fail itself, such as 0.99."""
    burn: Burn
    """Over the range that was asked for."""
    alert: BurnAlert | None
    """The fastest of the burns that somebody should look at; ``None``: none is."""


def burn_rate(attempts: int, lost: int, objective: float) -> float | None:
    """The lost share by the allowed share, ``(lost / attempts) / (1 - objective)``; ``None``: no attempt ended."""
    return lost / attempts / (1 - objective) if attempts else None


def burn(connection: Connection, objective: float, span: timedelta, now: datetime) -> Burn:
    """Over so long a time, up to the minute of ``now``. It is the scheduler's."""
    until = now.replace(second=0, microsecond=0)
    since = until - span
    row = _run(connection, "burnt", since=since, until=until).one()
    return Burn(
        since=since,
        until=until,
        sampled_sec=row.sampled_sec,
        attempts=row.attempts,
        lost=row.lost,
        rate=burn_rate(row.attempts, row.lost, objective),
    )


def report(connection: Connection, objective: float, back: Range, now: datetime) -> ObjectiveReport:
    """Over a range, with what somebody should look at, whatever the range. It is the scheduler's."""
    burns = {name: burn(connection, objective, span, now) for name, span in WINDOWS.items()}
    return ObjectiveReport(
        objective=objective, burn=burn(connection, objective, span_of(back), now), alert=alert_of(burns)
    )


def alert_of(burns: Mapping[str, Burn]) -> BurnAlert | None:
    """The fastest pair of windows that both burn too fast. ``burns``: of every one of ``WINDOWS``."""
    for pair in _PAIRS:
        long, short = burns[pair.long], burns[pair.short]
        is_known = long.attempts >= LEAST_ATTEMPTS and long.lost >= LEAST_LOST
        if is_known and all(one.rate is not None and one.rate >= pair.threshold - _ROUNDING for one in (long, short)):
            return BurnAlert(
                window=pair.long, short_window=pair.short, threshold=pair.threshold, burn=long, short_burn=short
            )
    return None


_ROUNDING: float = 1e-9
"""Of a division: a rate of exactly the threshold is at it."""
