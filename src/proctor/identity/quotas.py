"""What a tenant may use. Over a quota its work is served after everybody else's; over the budget nothing is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from proctor.identity.audit_log import Action, Actor, note
from proctor.identity.models import tenant_quota
from proctor.kernel.canonical import Json

__all__ = ["Quota", "note_stored", "quota_of", "set_budget", "set_quota", "stored_bytes"]


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A tenant's limits; ``None``: none. Money is in nano-dollars, months and days are UTC's."""

    evaluations_per_day: int | None = None
    cost_month_nano: int | None = None
    storage_bytes: int | None = None
    sandboxes: int | None = None
    """Attempts that run at once."""
    budget_month_nano: int | None = None
    """Hard, and the tenant's own: what it spends in a month at the most."""


def quota_of(connection: Connection, tenant: UUID) -> Quota:
    """A tenant's quota; one without a row has none."""
    row = connection.execute(select(tenant_quota).where(tenant_quota.c.tenant_id == tenant)).one_or_none()
    if row is None:
        return Quota()
    return Quota(**{name: getattr(row, name) for name in Quota.__dataclass_fields__})


def stored_bytes(connection: Connection, tenant: UUID) -> int | None:
    """What its objects took when they were last measured; ``None``: not yet."""
    found = select(tenant_quota.c.stored_bytes).where(tenant_quota.c.tenant_id == tenant)
    return connection.execute(found).scalar_one_or_none()


def note_stored(connection: Connection, tenant: UUID, size: int) -> None:
    """Keep what its objects take now."""
    values = {"stored_bytes": size, "measured_at": func.now()}
    connection.execute(
        insert(tenant_quota)
        .values(tenant_id=tenant, **values)
        .on_conflict_do_update(index_elements=["tenant_id"], set_=values)
    )


def set_quota(connection: Connection, tenant: UUID, actor: Actor, quota: Quota) -> Quota:
    """Replace all but the budget, as an administrator of the installation."""
    names = [name for name in Quota.__dataclass_fields__ if name != "budget_month_nano"]
    return _set(connection, tenant, actor, {name: getattr(quota, name) for name in names})


def set_budget(connection: Connection, tenant: UUID, actor: Actor, nano: int | None) -> Quota:
    """Replace the tenant's own budget."""
    return _set(connection, tenant, actor, {"budget_month_nano": nano})


def _set(connection: Connection, tenant: UUID, actor: Actor, values: dict[str, Any]) -> Quota:
    connection.execute(
        insert(tenant_quota)
        .values(tenant_id=tenant, **values)
        .on_conflict_do_update(index_elements=["tenant_id"], set_=values)
    )
    told: dict[str, Json] = dict(values)
    note(connection, tenant, actor, Action.QUOTA_SET, str(tenant), **told)
    return quota_of(connection, tenant)
