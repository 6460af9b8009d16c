"""Tenants by name. No default tenant is ever assumed: whoever calls names one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from proctor.database.engine import Database
from proctor.identity.models import tenant
from proctor.kernel.errors import UsageError
from proctor.kernel.ids import derived_id

__all__ = ["TenantNameInvalid", "TenantRow", "TenantUnknown", "ensure_tenant", "find_tenant", "tenant_id", "tenants"]

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class TenantNameInvalid(UsageError):
    """A tenant's name is lower-case letters, digits and hyphens, 63 at most."""

    code = "tenant-name"
    remedy = "Correct it where it is given: in PROCTOR_TENANT, after --tenant, or in the request."


class TenantUnknown(UsageError):
    """There is no such tenant."""

    code = "tenant-unknown"
    remedy = "`proctor tenant create` makes one."


def ensure_tenant(database: Database, name: str) -> UUID:
    """The id of the tenant of that name, made known if it is not. Raises ``TenantNameInvalid``."""
    identity = tenant_id(name)
    statement = insert(tenant).values(tenant_id=identity, name=name).on_conflict_do_nothing()
    database.as_tenant(identity, lambda connection: connection.execute(statement))
    return identity


def tenant_id(name: str) -> UUID:
    """The id of the tenant of that name, whether there is one or not. Raises ``TenantNameInvalid``."""
    if _NAME.fullmatch(name) is None:
        raise TenantNameInvalid(f"It is {name!r}.", where="tenant")
    return derived_id("tenant", name)


@dataclass(frozen=True, kw_only=True)
class TenantRow:
    """A tenant as the installation knows it."""

    id: UUID
    name: str


def tenants(connection: Connection) -> list[TenantRow]:
    """Every tenant, in a scheduler's transaction: the planner looks after all of them."""
    rows = connection.execute(select(tenant.c.tenant_id, tenant.c.name).order_by(tenant.c.created_at))
    return [TenantRow(id=row.tenant_id, name=row.name) for row in rows]


def find_tenant(database: Database, name: str) -> UUID:
    """The id of a tenant that there is. Raises ``TenantUnknown``."""
    identity = tenant_id(name)
    found = select(tenant.c.tenant_id).where(tenant.c.tenant_id == identity)
    if database.as_tenant(identity, lambda connection: connection.execute(found).one_or_none()) is None:
        raise TenantUnknown()
    return identity
