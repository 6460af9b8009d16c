"""Removing rows for good, in the caller's transaction: of what was deleted by name, or of a tenant that is erased."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query

__all__ = ["drop", "erase", "queued"]

_run = partial(run_query, "proctor.queue")


def drop(connection: Connection, tenant_id: UUID, kind: str, ids: Sequence[UUID]) -> int:
    """Remove rows in whatever state, dead letters too; those that somebody runs stay, and how many they are."""
    _run(connection, "drop_rows", tenant=tenant_id, kind=kind, ids=list(ids))
    return int(_run(connection, "claimed_of", tenant=tenant_id, kind=kind, ids=list(ids)).scalar_one())


def queued(connection: Connection, tenant_id: UUID, kind: str, ids: Sequence[UUID]) -> set[UUID]:
    """Which of these rows there are, in whatever state: of the others the work is done, or nobody wants it."""
    return set(_run(connection, "queued", tenant=tenant_id, kind=kind, ids=list(ids)).scalars())


def erase(connection: Connection, tenant_id: UUID, kind: str) -> None:
    """Remove all rows of a tenant, whoever runs them: what comes of those counts for nothing."""
    _run(connection, "erase", tenant=tenant_id, kind=kind)
