"""What a tenant may use. Over a quota its work is served after everybody else's; over the budget nothing is spent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from proctor.identity import models
from proctor.identity.audit_log import Action, Actor, note, replaced
from proctor.identity.models import tenant_quota, tenant_user
from proctor.identity.users import User

__all__ = [
    "Quota",
    "UserBudget",
    "note_stored",
    "quota_of",
    "set_budget",
    "set_quota",
    "set_user_budget",
    "stored_bytes",
    "user_budget",
    "user_budgets",
]


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


@dataclass(frozen=True, kw_only=True)
class UserBudget:
    """What a user may spend in a month (UTC); ``None``: as much as the tenant may."""

    id: UUID
    """The user's."""
    name: str
    month_nano: int | None


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


def user_budget(connection: Connection, tenant: UUID, user: UUID) -> int | None:
    """What a user may spend in a month, in nano-dollars; ``None``: no budget is theirs."""
    table = models.user_budget.c
    return connection.execute(
        select(table.month_nano).where(table.tenant_id == tenant, table.user_id == user)
    ).scalar_one_or_none()


def user_budgets(
    connection: Connection, tenant: UUID, *, after: UUID | None = None, limit: int = 100
) -> list[UserBudget]:
    """Users who have a budget, a page in the order in which they were made."""
    table, user = models.user_budget.c, tenant_user.c
    query = select(user.id, user.name, table.month_nano).where(
        table.tenant_id == tenant, user.tenant_id == tenant, user.id == table.user_id
    )
    if after is not None:
        query = query.where(user.id > after)
    return [UserBudget(**row._mapping) for row in connection.execute(query.order_by(user.id).limit(limit))]


def set_user_budget(connection: Connection, tenant: UUID, actor: Actor, user: User, nano: int | None) -> UserBudget:
    """Replace a user's budget; ``None`` takes it away."""
    table = models.user_budget
    before = user_budget(connection, tenant, user.id)
    if nano is None:
        connection.execute(delete(table).where(table.c.tenant_id == tenant, table.c.user_id == user.id))
    else:
        connection.execute(
            insert(table)
            .values(tenant_id=tenant, user_id=user.id, month_nano=nano)
            .on_conflict_do_update(index_elements=["tenant_id", "user_id"], set_={"month_nano": nano})
        )
    told = replaced({"user_month_nano": before}, {"user_month_nano": nano})
    note(connection, tenant, actor, Action.QUOTA_SET, str(user.id), **told)
    return UserBudget(id=user.id, name=user.name, month_nano=nano)


def _set(connection: Connection, tenant: UUID, actor: Actor, values: dict[str, Any]) -> Quota:
    before = quota_of(connection, tenant)
    connection.execute(
        insert(tenant_quota)
        .values(tenant_id=tenant, **values)
        .on_conflict_do_update(index_elements=["tenant_id"], set_=values)
    )
    note(connection, tenant, actor, Action.QUOTA_SET, str(tenant), **replaced(asdict(before), values))
    return quota_of(connection, tenant)
