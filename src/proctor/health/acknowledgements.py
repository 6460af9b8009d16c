"""Alerts that somebody of a tenant has seen: for so long they need nobody else, and then they do again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from proctor.health.errors import AcknowledgementUnknown
from proctor.health.models import acknowledgement
from proctor.identity.audit_log import Action, Actor, note
from proctor.identity.users import names_of

__all__ = ["Acknowledged", "Acknowledgement", "acknowledge", "current", "take_back"]


@dataclass(frozen=True, kw_only=True)
class Acknowledgement:
    """That an alert was seen. ``acknowledged_by`` is a user's name."""

    alert: str
    acknowledged_by: str
    note: str
    created_at: datetime
    until: datetime


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    """What is said of an alert, and for how long."""

    alert: str
    note: str
    hours: int


def acknowledge(connection: Connection, tenant: UUID, actor: Actor, said: Acknowledged) -> Acknowledgement:
    """From now on the alert needs nobody, in place of what was said of it before. Those whose time is over go."""
    _forget_what_is_over(connection, tenant)
    values = {
        "user_id": actor.user,
        "note": said.note,
        "created_at": func.now(),
        "until": func.now() + timedelta(hours=said.hours),
    }
    connection.execute(
        insert(acknowledgement)
        .values(tenant_id=tenant, alert=said.alert, **values)
        .on_conflict_do_update(index_elements=["tenant_id", "alert"], set_=values)
    )
    note(connection, tenant, actor, Action.ALERT_ACKNOWLEDGED, said.alert, hours=said.hours, note=said.note)
    return _find(connection, tenant, said.alert)


def take_back(connection: Connection, tenant: UUID, actor: Actor, alert: str) -> Acknowledgement:
    """The alert needs somebody again; what was said of it. Raises ``AcknowledgementUnknown``."""
    found = _find(connection, tenant, alert)
    table = acknowledgement.c
    connection.execute(delete(acknowledgement).where(table.tenant_id == tenant, table.alert == alert))
    note(connection, tenant, actor, Action.ALERT_TAKEN_BACK, alert)
    return found


def current(
    connection: Connection, tenant: UUID, *, after: str | None = None, limit: int = 100
) -> Sequence[Acknowledgement]:
    """A page of those whose time is not over, in the order of their alerts."""
    if after is None:
        return _told(connection, tenant, limit=limit)
    return _told(connection, tenant, acknowledgement.c.alert > after, limit=limit)


def _find(connection: Connection, tenant: UUID, alert: str) -> Acknowledgement:
    found = _told(connection, tenant, acknowledgement.c.alert == alert)
    if not found:
        raise AcknowledgementUnknown()
    return found[0]


def _told(
    connection: Connection, tenant: UUID, *narrowed: ColumnElement[bool], limit: int = 1
) -> Sequence[Acknowledgement]:
    table = acknowledgement.c
    query = select(acknowledgement).where(table.tenant_id == tenant, table.until > func.now(), *narrowed)
    rows = connection.execute(query.order_by(table.alert).limit(limit)).all()
    names = names_of(connection, tenant, [str(row.user_id) for row in rows])
    return [_acknowledgement(row, names[str(row.user_id)]) for row in rows]


def _acknowledgement(row: Any, name: str) -> Acknowledgement:
    return Acknowledgement(
        alert=row.alert, acknowledged_by=name, note=row.note, created_at=row.created_at, until=row.until
    )


def _forget_what_is_over(connection: Connection, tenant: UUID) -> None:
    table = acknowledgement.c
    connection.execute(delete(acknowledgement).where(table.tenant_id == tenant, table.until <= func.now()))
