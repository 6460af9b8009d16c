"""The outbox: a relay publishes what was committed, in an order that never changes; readers follow that order.

A sequence at the insert would not do: numbers are taken before commit, so a slow transaction's events would appear
below ones that were already read, and be skipped. So an event gets its position when it is published, by one relay at
a time, below the oldest transaction that still runs. Publishing is one statement: a relay that dies has published an
event or it has not. Delivery is at least once from there on, and consumers know an event by its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, CursorResult

from proctor.database.queries import run_query

__all__ = [
    "CHANNEL",
    "Event",
    "Newest",
    "lag",
    "lead",
    "newest",
    "newest_of",
    "position_of",
    "prune",
    "publish",
    "published",
    "published_of",
]

_run = partial(run_query, "proctor.notifications")

CHANNEL: str = "proctor_events"
"""What a relay notifies when it published: it says that there is something to read, and nothing else."""
KEEP_SEC: float = 7 * 86_400.0
"""Published events are kept for a week, to answer what was sent when somebody asks after a weekend."""
_PAGE: int = 10_000
"""Events pruned per statement: about a second's work, far below the statement timeout."""
_LOCK: int = 0x72656C6179
"""The advisory lock's number: "relay"."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened, once; ``id`` is the same however often it is delivered."""

    tenant_id: UUID
    position: int
    id: UUID
    name: str
    subject: UUID
    trace_id: str
    payload: Mapping[str, Any]
    created_at: datetime


class Newest(NamedTuple):
    """A tenant's event that was published last."""

    position: int
    id: UUID
    created_at: datetime


# --- the relay's side -------------------------------------------------------------------------------------------------


def lead(connection: Connection) -> bool:
    """Whether this connection's relay is the one that publishes, from now on until the connection ends."""
    return bool(_run(connection, "lead", lock=_LOCK).scalar_one())


def publish(connection: Connection, limit: int) -> int:
    """Publish the first events that may be and wake readers; returns how many. Only one relay may: see ``lead``."""
    return int(_run(connection, "publish", limit=limit, channel=CHANNEL).scalar_one())


def lag(connection: Connection) -> float:
    """Seconds since the first event that is not published yet, of all tenants for the scheduler; 0: all are."""
    return float(_run(connection, "lag").scalar_one())


def prune(connection: Connection, *, age_sec: float = KEEP_SEC) -> int:
    """Remove a page of events published longer ago than that; returns how many, 0 when none is left."""
    return _run(connection, "prune", age=age_sec, limit=_PAGE).rowcount


# --- readers ----------------------------------------------------------------------------------------------------------


def published(connection: Connection, after: int, limit: int) -> list[Event]:
    """Published events above a position, of all tenants for the scheduler."""
    return _events(_run(connection, "published", after=after, limit=limit))


def published_of(connection: Connection, tenant: UUID, after: int, limit: int) -> list[Event]:
    """A tenant's published events above a position."""
    return _events(_run(connection, "published_of", tenant=tenant, after=after, limit=limit))


def newest(connection: Connection) -> int:
    """The position of the event published last, of all tenants for the scheduler; 0 without any."""
    return int(_run(connection, "newest").scalar_one_or_none() or 0)


def newest_of(connection: Connection, tenant: UUID) -> Newest | None:
    """A tenant's event published last."""
    row = _run(connection, "newest_of", tenant=tenant).one_or_none()
    return None if row is None else Newest(position=row.position, id=row.id, created_at=row.created_at)


def position_of(connection: Connection, tenant: UUID, identity: UUID) -> int | None:
    """Where a tenant's event stands; ``None`` where it is not kept, was never published or is somebody else's."""
    position: int | None = _run(connection, "position_of", tenant=tenant, id=identity).scalar_one_or_none()
    return position


def _events(rows: CursorResult[Any]) -> list[Event]:
    return [Event(**row._mapping) for row in rows]
