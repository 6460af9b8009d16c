"""Samples of the installation's health: kept once a minute, read as equal steps. Every function is the scheduler's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from proctor.database.queries import run_query

__all__ = [
    "HealthHistory",
    "HealthSample",
    "HealthSeries",
    "Range",
    "Uncounted",
    "history",
    "keep",
    "span_of",
    "uncounted",
]

_run = partial(run_query, "proctor.health")

KEPT_DAYS: int = 8
"""A week and a day: the week that is shown is whole, whenever it is looked at."""


LONGEST_COUNTED_SEC: float = 3600.0
"""How far back one sample counts at the most: how attempts ended is kept for an hour."""


class Range(StrEnum):
    """How far back health is told."""

    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"


class _Scale(NamedTuple):
    """How long a range is, and its steps."""

    span: timedelta
    step: timedelta


_SCALES: Mapping[Range, _Scale] = {
    Range.HOUR: _Scale(timedelta(hours=1), timedelta(minutes=1)),
    Range.DAY: _Scale(timedelta(days=1), timedelta(minutes=5)),
    Range.WEEK: _Scale(timedelta(days=7), timedelta(minutes=30)),
}
"""At most a few hundred steps: as many as a chart has room for."""


class Uncounted(NamedTuple):
    """The minutes that no sample has counted yet: from ``since`` on and before ``until``, the minute of now."""

    since: datetime
    until: datetime


@dataclass(frozen=True, kw_only=True)
class HealthSample:
    """The installation at a moment."""

    at: datetime
    """The minute it is kept as."""
    oldest_critical: float
    """Seconds since the first ready row of that band is ready; 0: none is."""
    oldest_high: float
    oldest_normal: float
    oldest_low: float
    pending: int
    waiting: int
    claimed: int
    paused: int
    dead: int
    sandboxes: int
    infrastructure: float | None
    """Its share of the attempts that ended lately; ``None``: none did."""
    provider: float | None
    relay_lag: float
    """Seconds since the first event that is not published."""
    ended: int
    """Attempts that ended lately."""
    since: datetime
    """The minute from which it counts on its own: no two samples count the same."""
    ended_since: int
    """Attempts that ended since then, before ``at``."""
    lost_since: int
    """Of these, those that the installation failed (``proctor.health.objective``)."""


@dataclass(frozen=True, kw_only=True)
class HealthSeries:
    """What was sampled, a value for each step: the worst of ages and of given-up rows, the mean of what else there is.
    Null: nothing was sampled then, or it was not known."""

    oldest_critical: Sequence[float | None]
    """Seconds since the first ready row of that band is ready; 0: none is."""
    oldest_high: Sequence[float | None]
    oldest_normal: Sequence[float | None]
    oldest_low: Sequence[float | None]
    pending: Sequence[float | None]
    waiting: Sequence[float | None]
    claimed: Sequence[float | None]
    paused: Sequence[float | None]
    dead: Sequence[float | None]
    sandboxes: Sequence[float | None]
    infrastructure: Sequence[float | None]
    """Its share of the attempts that ended in the ten minutes before."""
    provider: Sequence[float | None]
    relay_lag: Sequence[float | None]
    """Seconds since the first event that was not published."""
    ended: Sequence[float | None]
    """Attempts that ended in the ten minutes before, of which the shares are: the most of a step."""


@dataclass(frozen=True, kw_only=True)
class HealthHistory:
    """How the installation was, in equal steps: the first begins at ``since``, the last ends at ``until``."""

    since: datetime
    until: datetime
    step_sec: int
    series: HealthSeries


def uncounted(connection: Connection) -> Uncounted:
    """What the next sample has to count: all since the last one, an hour at the most."""
    row = _run(connection, "uncounted", longest=LONGEST_COUNTED_SEC).one()
    return Uncounted(row.since, row.until)


def keep(connection: Connection, sample: HealthSample) -> None:
    """Keep this minute's sample, unless another server did, and forget what is over a week old."""
    _run(connection, "keep", **asdict(sample))
    _run(connection, "forget", days=KEPT_DAYS)


def span_of(back: Range) -> timedelta:
    """How long a range is."""
    return _SCALES[back].span


def history(connection: Connection, back: Range, now: datetime) -> HealthHistory:
    """As far back as that, up to the step of ``now``."""
    span, step = _SCALES[back]
    until = _begun(now, step) + step
    since = until - span
    rows = _run(connection, "history", since=since, until=until, step=step).all()
    series = {one.name: [getattr(row, one.name) for row in rows] for one in fields(HealthSeries)}
    return HealthHistory(since=since, until=until, step_sec=int(step.total_seconds()), series=HealthSeries(**series))


def _begun(moment: datetime, step: timedelta) -> datetime:
    """When the step of a moment began; steps begin with the day."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return day + (moment - day) // step * step
