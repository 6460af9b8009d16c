"""Erasing a tenant's datasets, outputs, jobs and results: no row and no object of them is left.

Datasets are facts, which the roles that programs work with can only add to. So this takes the owner role, as migrations
do. Nobody may work for the tenant meanwhile: what is imported after the rows went stays.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import URL

from proctor.datasets import registry
from proctor.jobs import deleting
from proctor.objects.store import ObjectStore
from proctor.results import service as results
from proctor.streaming import service as streaming

__all__ = ["erase_evaluations"]

_PREFIXES: tuple[str, ...] = ("results", "samples", "streams", "datasets")
"""Of the tenant's objects: what the rows that are erased name, and what nobody named yet."""
_TENANT = text("SELECT set_config('proctor.tenant', :tenant, true)")


def erase_evaluations(owner: URL, objects: ObjectStore, tenant: UUID) -> int:
    """Erase all of it; how many objects went. Rows go first, all or none; safe to be killed then, and to repeat.

    Raises ``JobHeld`` where a legal hold keeps a job, and removes nothing.
    """
    engine = create_engine(owner)
    try:
        with engine.begin() as connection:
            connection.execute(_TENANT, {"tenant": str(tenant)})
            _erase_rows(connection, tenant)
    finally:
        engine.dispose()
    return sum(_erase_objects(objects, f"{tenant}/{prefix}/") for prefix in _PREFIXES)


def _erase_rows(connection: Connection, tenant: UUID) -> None:
    deleting.erase(connection, tenant)
    streaming.erase(connection, tenant)
    results.erase(connection, tenant)
    registry.erase(connection, tenant)


def _erase_objects(objects: ObjectStore, prefix: str) -> int:
    gone = 0
    for key in objects.list(prefix):
        objects.delete(key)
        gone += 1
    return gone
