"""The relay's side of the outbox: read what may be published, in order, mark it, and prune what is old.

An event's position is (transaction id, sequence). A sequence alone would not do: numbers are taken before commit, so
a slow transaction's events appear below ones that were already published, and would be skipped. Delivery is at least
once: a relay that dies between publishing and marking publishes again, and consumers know an event by its id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query

__all__ = ["Event", "Position", "mark_published", "prune", "read_publishable"]

_run = partial(run_query, "proctor.notifications")

KEEP_SEC: float = 7 * 86_400.0
"""Published events are kept for a week, to answer what was sent when somebody asks after a weekend."""
_PAGE: int = 10_000
"""Events pruned per statement: about a second's work, far below the statement timeout."""


class Position(NamedTuple):
    """Where an event stands among all events; positions are only ever added above what was published."""

    txid: int
    seq: int


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened, once; ``id`` is the same however often it is delivered."""

    tenant_id: UUID
    position: Position
    id: UUID
    name: str
    subject: UUID
    trace_id: str
    payload: Mapping[str, Any]
    created_at: datetime


def read_publishable(connection: Connection, limit: int) -> list[Event]:
    """The first unpublished events, of all tenants for the scheduler, below every transaction that still runs."""
    events = []
    for row in _run(connection, "read_publishable", limit=limit):
        fields = dict(row._mapping)
        events.append(Event(position=Position(fields.pop("txid"), fields.pop("seq")), **fields))
    return events


def mark_published(connection: Connection, events: Sequence[Event]) -> int:
    """Note that these were delivered; returns how many were not before."""
    tenants, seqs = [event.tenant_id for event in events], [event.position.seq for event in events]
    return _run(connection, "mark_published", tenants=tenants, seqs=seqs).rowcount


def prune(connection: Connection, *, age_sec: float = KEEP_SEC) -> int:
    """Remove a page of events published longer ago than that; returns how many, 0 when none is left."""
    return _run(connection, "prune", age=age_sec, limit=_PAGE).rowcount
