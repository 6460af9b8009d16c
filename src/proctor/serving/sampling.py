"""How the installation is, put together for a sample: what is queued, how attempts ended, how far the relay is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.engine.blaming import owners_between, owners_lately
from proctor.engine.outcomes import Owner
from proctor.engine.recording import KIND
from proctor.health.service import HealthSample, Uncounted, keep, uncounted
from proctor.notifications import outbox
from proctor.queue import service as queue
from proctor.queue.service import Band, Depth

__all__ = ["OURS", "keep_sample"]

OURS: tuple[Owner, ...] = (Owner.INFRASTRUCTURE, Owner.NOBODY)
"""Whose failures the installation's objective counts. What nobody can explain is ours until somebody does."""


def keep_sample(database: Database, everyone: Sequence[UUID]) -> None:
    """Keep how the installation is at this minute. ``everyone``: its tenants."""
    minutes = database.as_scheduler(uncounted)
    lately: Counter[str] = Counter()
    fresh: Counter[str] = Counter()
    for tenant in everyone:
        ends, more = database.as_tenant(tenant, partial(_ends, tenant=tenant, minutes=minutes))
        lately.update(ends)
        fresh.update(more)
    database.as_scheduler(lambda c: keep(c, _sample(c, lately, fresh, minutes)))


def _ends(connection: Connection, tenant: UUID, minutes: Uncounted) -> tuple[Counter[str], Counter[str]]:
    """How attempts ended lately, and in the minutes that nobody counted, by owner."""
    lately, fresh = owners_lately(connection, tenant), owners_between(connection, tenant, *minutes)
    return _owners(lately), _owners(fresh)


def _owners(ended: Counter[tuple[str, str]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (_, owner), attempts in ended.items():
        found[owner] += attempts
    return found


def _sample(connection: Connection, ended: Counter[str], fresh: Counter[str], minutes: Uncounted) -> HealthSample:
    depths = queue.depths(connection)
    return HealthSample(
        at=minutes.until,
        oldest_critical=_oldest(depths, Band.CRITICAL),
        oldest_high=_oldest(depths, Band.HIGH),
        oldest_normal=_oldest(depths, Band.NORMAL),
        oldest_low=_oldest(depths, Band.LOW),
        pending=_rows(depths, "pending"),
        waiting=_rows(depths, "waiting"),
        claimed=_rows(depths, "claimed"),
        paused=_rows(depths, "paused"),
        dead=_rows(depths, "dead"),
        sandboxes=sum(one.rows for one in depths if (one.kind, one.state) == (KIND, "claimed")),
        infrastructure=_share(ended, Owner.INFRASTRUCTURE),
        provider=_share(ended, Owner.PROVIDER),
        relay_lag=outbox.lag(connection),
        ended=ended.total(),
        since=minutes.since,
        ended_since=fresh.total(),
        lost_since=sum(fresh[owner.value] for owner in OURS),
    )


def _oldest(depths: Sequence[Depth], band: Band) -> float:
    return max((one.oldest_sec for one in depths if (one.band, one.state) == (band, "pending")), default=0.0)


def _rows(depths: Sequence[Depth], state: str) -> int:
    return sum(one.rows for one in depths if one.state == state)


def _share(ended: Counter[str], owner: Owner) -> float | None:
    return ended[owner.value] / ended.total() if ended else None
