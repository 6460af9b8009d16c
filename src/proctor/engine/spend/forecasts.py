"""To what a month will come: drawn from the days that were, without a belief in how spending is distributed.

Two thousand times, as many days are drawn, with repetition, as there were whole days with spending in the last four
weeks; from these the days that are left of the month are drawn, and added to what it has cost. The first draw says how
little so few days tell of what a day costs, the second how different days are. Today is one of the days that are left:
what it has cost already counts towards it. The band holds the middle 80 % of these months, and the expected one is
their median. Spending that is about to change, in a new run set say, is in no day that was, and in no forecast.
"""

from __future__ import annotations

import calendar
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.spend.sums import SpendSum, Times, spend_sum

__all__ = ["Forecast", "Month", "forecast", "month_of"]

_run = partial(run_query, "proctor.engine.spend")

LOOKED_AT: int = 28
"""Days: whole weeks, so that weekends weigh as often as they come."""
NEEDED: int = 7
"""Days, from the first with any spend on: one of each weekday."""
DRAWS: int = 2_000
"""The band's ends move by a percent or so between seeds, and it takes a twentieth of a second."""
LEVEL: float = 0.8


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a month will have cost at its end: as likely more as less than ``expected``, with 80 % within the band."""

    low_nano: int
    expected_nano: int
    high_nano: int


@dataclass(frozen=True, kw_only=True)
class Month:
    """The month (UTC) as the budgets count it."""

    begins: datetime
    ends: datetime
    counted_nano: int
    """Costs, and what was reserved for calls whose cost nobody knows."""
    whole: SpendSum
    """What is known of it."""
    days_seen: int
    """Whole days that the forecast rests on, of the last four weeks."""
    days_needed: int
    forecast: Forecast | None
    """Null: there are fewer days than it needs."""


def month_of(connection: Connection, tenant: UUID, now: datetime) -> Month:
    """The month of a moment, as far as it went, and what it will come to."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    begins = today.replace(day=1)
    ends = begins + timedelta(days=calendar.monthrange(today.year, today.month)[1])
    since = min(begins, today - timedelta(days=LOOKED_AT))
    rows = _run(connection, "counted_days", tenant=tenant, since=since, until=ends)
    spent = {row.day: int(row.nano) for row in rows}
    seen = _seen(spent, today)
    before = sum(nano for day, nano in spent.items() if begins <= day < today)
    known = len(seen) >= NEEDED
    return Month(
        begins=begins,
        ends=ends,
        counted_nano=before + spent.get(today, 0),
        whole=spend_sum(connection, tenant, Times(begins, ends)),
        days_seen=len(seen),
        days_needed=NEEDED,
        forecast=forecast(seen, before, spent.get(today, 0), (ends - today).days) if known else None,
    )


def forecast(seen: Sequence[int], before: int, today: int, left: int) -> Forecast:
    """From what whole days cost: the month's cost before today, today's so far, and the days left with today."""
    source = random.Random(0)  # noqa: S311  the same days give the same forecast
    months = sorted(before + _drawn(source, seen, today, left) for _ in range(DRAWS))
    aside = round(DRAWS * (1 - LEVEL) / 2)
    return Forecast(low_nano=months[aside], expected_nano=months[DRAWS // 2], high_nano=months[-1 - aside])


def _drawn(source: random.Random, seen: Sequence[int], today: int, left: int) -> int:
    first, *later = source.choices(source.choices(seen, k=len(seen)), k=left)
    return max(first, today) + sum(later)


def _seen(spent: Mapping[datetime, int], today: datetime) -> Sequence[int]:
    """What each whole day cost, from the first with any spend on; a day without is 0."""
    days = [spent.get(today - timedelta(days=back), 0) for back in range(LOOKED_AT, 0, -1)]
    first = next((place for place, nano in enumerate(days) if nano), LOOKED_AT)
    return days[first:]
