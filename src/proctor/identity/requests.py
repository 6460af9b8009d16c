"""Answers kept for requests that may be sent again with their ``Idempotency-Key``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, delete, func, select

from proctor.identity.models import idempotent_request

__all__ = ["ANSWERS_AGE", "count_old", "remove_old"]

ANSWERS_AGE = timedelta(days=7)
"""How long a request may be repeated with its Idempotency-Key."""


def count_old(connection: Connection, tenant: UUID, age: timedelta) -> int:
    """How many are older."""
    return connection.execute(select(func.count()).where(_old(tenant, age))).scalar_one()


def remove_old(connection: Connection, tenant: UUID, age: timedelta) -> int:
    """Remove those that are older; how many there were."""
    return connection.execute(delete(idempotent_request).where(_old(tenant, age))).rowcount


def _old(tenant: UUID, age: timedelta) -> Any:
    table = idempotent_request.c
    return (table.tenant_id == tenant) & (table.began_at < func.now() - age)
