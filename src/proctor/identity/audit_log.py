"""The audit log: who did what that matters to security. It is only ever added to, in the transaction of the deed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import Connection, insert, select
from sqlalchemy.dialects.postgresql import distinct_on

from proctor.identity.models import security_event, tenant_user
from proctor.kernel.canonical import Json

__all__ = [
    "Action",
    "Actor",
    "AuditEntry",
    "EntriesWanted",
    "entries",
    "note",
    "replaced",
    "started_by",
    "starter_of",
    "starters",
]


class Action(StrEnum):
    """What is written down."""

    SETUP_DONE = "setup.done"
    TENANT_CREATED = "tenant.created"
    USER_CREATED = "user.created"
    USER_CHANGED = "user.changed"
    KEY_CREATED = "key.created"
    KEY_ROTATED = "key.rotated"
    KEY_REVOKED = "key.revoked"
    ACCESS_REFUSED = "access.refused"
    QUOTA_SET = "quota.set"
    EXPORTED = "data.exported"
    IMPORTED = "data.imported"
    DATASET_MADE = "dataset.made"
    DATASET_SPLIT = "dataset.split"
    RUN_SET_STARTED = "run-set.started"
    RUN_SET_CONTROLLED = "run-set.controlled"
    JOB_SUBMITTED = "job.submitted"
    JOB_CONTROLLED = "job.controlled"
    JOB_DELETED = "job.deleted"
    JOB_HELD = "job.held"
    JOB_RELEASED = "job.released"
    RETENTION_SET = "retention.set"
    STREAM_OPENED = "stream.opened"
    STREAM_CLOSED = "stream.closed"
    SAMPLES_KEPT = "samples.kept"
    SAMPLES_DELETED = "samples.deleted"
    PROMPT_ADDED = "prompt.added"
    EVALUATOR_REGISTERED = "evaluator.registered"
    EVALUATOR_RULE_SET = "evaluator-rule.set"
    SECRET_SET = "secret.set"  # noqa: S105  what was done with one
    SECRET_REMOVED = "secret.removed"  # noqa: S105
    SECRET_REFUSED = "secret.refused"  # noqa: S105
    SECRETS_REWRAPPED = "secrets.rewrapped"
    ALERT_ACKNOWLEDGED = "alert.acknowledged"
    ALERT_TAKEN_BACK = "alert.taken-back"


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Who did it, and with which request."""

    user: UUID | None = None
    key: UUID | None = None
    request_id: str = ""


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """One entry, as it is kept."""

    seq: int
    at: datetime
    action: str
    actor: UUID | None
    key_id: UUID | None
    target: str
    detail: Mapping[str, Json]
    request_id: str


def note(connection: Connection, tenant: UUID, actor: Actor, action: Action, target: str, **detail: Json) -> None:
    """Write one down. ``detail`` never holds a secret."""
    values = {"tenant_id": tenant, "action": action.value, "target": target, "detail": detail}
    who = {"actor": actor.user, "key_id": actor.key, "request_id": actor.request_id}
    connection.execute(insert(security_event).values(**values, **who))


def replaced(before: Mapping[str, Json], after: Mapping[str, Json]) -> dict[str, Json]:
    """The detail of a change: what holds now, and ``before`` what held instead of it where that was something else."""
    return {**after, "before": {name: before.get(name) for name in after if before.get(name) != after[name]}}


@dataclass(frozen=True, kw_only=True)
class EntriesWanted:
    """Which entries: of an action, of who did it, from ``since`` on and before ``until``. What is ``None`` fits all."""

    action: Action | None = None
    actor: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    newest_first: bool = False


def entries(
    connection: Connection, tenant: UUID, wanted: EntriesWanted, *, after: int = 0, limit: int = 100
) -> list[AuditEntry]:
    """A page, oldest first, of those numbered above ``after``; or newest first, of those below it (0: of all)."""
    table = security_event
    query = select(table).where(table.c.tenant_id == tenant).limit(limit)
    if wanted.newest_first:
        query = query.order_by(table.c.seq.desc())
        query = query.where(table.c.seq < after) if after else query
    else:
        query = query.where(table.c.seq > after).order_by(table.c.seq)
    if wanted.action is not None:
        query = query.where(table.c.action == wanted.action.value)
    if wanted.actor is not None:
        query = query.where(table.c.actor == wanted.actor)
    if wanted.since is not None:
        query = query.where(table.c.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(table.c.at < wanted.until)
    fields = AuditEntry.__dataclass_fields__
    return [AuditEntry(**{name: getattr(row, name) for name in fields}) for row in connection.execute(query)]


def started_by(connection: Connection, tenant: UUID, user: UUID) -> frozenset[str]:
    """The ids of the run sets that a user started through a server."""
    table = security_event.c
    query = select(table.target).where(table.tenant_id == tenant, table.actor == user)
    return frozenset(connection.execute(query.where(table.action == Action.RUN_SET_STARTED.value)).scalars())


def starter_of(connection: Connection, tenant: UUID, run_set: UUID) -> UUID | None:
    """The user who first started a run set through a server; ``None``: nobody did, or one who has no account."""
    table = security_event.c
    query = select(table.actor).where(table.tenant_id == tenant, table.target == str(run_set))
    query = query.where(table.action == Action.RUN_SET_STARTED.value).order_by(table.seq).limit(1)
    return connection.execute(query).scalar_one_or_none()


def starters(connection: Connection, tenant: UUID) -> Mapping[str, str]:
    """Who first started each run set, by name, as far as it was started through a server."""
    table = security_event.c
    rows = connection.execute(
        select(table.target, tenant_user.c.name)
        .ext(distinct_on(table.target))
        .join(tenant_user, (tenant_user.c.tenant_id == table.tenant_id) & (tenant_user.c.id == table.actor))
        .where(table.tenant_id == tenant, table.action == Action.RUN_SET_STARTED.value)
        .order_by(table.target, table.seq)
    )
    return {row.target: row.name for row in rows}
