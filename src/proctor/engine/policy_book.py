"""Outcome policies of a tenant's own: files kept as written, and read again by every process that needs them."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from proctor.engine.errors import PolicyInvalid
from proctor.engine.models import outcome_policy
from proctor.engine.outcomes import OutcomePolicy, is_shipped, load_policy, remember_policy

__all__ = ["keep", "reasons_against", "recall", "source_of"]


def keep(connection: Connection, tenant: UUID, source: str, *, where: str) -> OutcomePolicy:
    """Store a policy file; the same file twice is one policy. Raises ``PolicyInvalid`` naming the place."""
    policy = remember_policy(source, where=where)
    values = {"tenant_id": tenant, "version": policy.version, "source": source}
    connection.execute(insert(outcome_policy).values(values).on_conflict_do_nothing())
    return policy


def recall(connection: Connection, tenant: UUID, version: str) -> OutcomePolicy:
    """A policy by its version, shipped or the tenant's own. Raises ``PolicyInvalid`` for an unknown one."""
    try:
        return load_policy(version)
    except PolicyInvalid:
        source = source_of(connection, tenant, version)
        if source is None:
            raise
        return remember_policy(source, where=version)


def source_of(connection: Connection, tenant: UUID, version: str) -> str | None:
    """The file of a policy of the tenant's own, as written."""
    query = select(outcome_policy.c.source)
    mine = query.where(outcome_policy.c.tenant_id == tenant, outcome_policy.c.version == version)
    source: str | None = connection.execute(mine).scalar_one_or_none()
    return source


def reasons_against(version: str) -> list[str]:
    """What a policy makes not comparable: two run sets are judged alike by what ships with Proctor, and else not."""
    return [] if is_shipped(version) else [f"judged by policy {version}, not one that ships with Proctor"]
